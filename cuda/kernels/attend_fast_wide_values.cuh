// Fast attention of wide tiles: a warp's weighted sums of the values of a chunk, folded into those
// of the chunks before it.
#pragma once

#include "attend_fast_wide_scores.cuh"

namespace octavo::cuda {
inline namespace OCTAVO_CUDA_TARGET {

/// Parts of a chunk that are summed for themselves, as the four warps of attend_fast.cuh do: part w
/// has every fourth sixteen of positions, from the w-th on.
constexpr int kWideParts = kItemWarps;

/// Sums of a slice of 64 elements: x[n][0] and [1] of the lane's first row, [2] and [3] of its
/// second, of the columns 2 tig and 2 tig + 1 of product n.
struct WideSums {
  float x[8][4];

  __device__ __forceinline__ void clear() {
    OCTAVO_UNROLL
    for (int n = 0; n < 8; ++n) {
      OCTAVO_UNROLL
      for (int i = 0; i < 4; ++i) {
        x[n][i] = 0.0f;
      }
    }
  }

  __device__ __forceinline__ void add(const WideSums& other) {
    OCTAVO_UNROLL
    for (int n = 0; n < 8; ++n) {
      OCTAVO_UNROLL
      for (int i = 0; i < 4; ++i) {
        x[n][i] = __fadd_rn(x[n][i], other.x[n][i]);
      }
    }
  }
};

/// Which element of a slice is column `column` of product n. Bytes come in pairs of elements, one
/// for each of two products.
template <DType kDType>
__device__ __forceinline__ int element_of_column(int n, int column) {
  return FastFormat<kDType>::kBytes ? n / 2 * 16 + 2 * column + n % 2 : 8 * n + column;
}

/// Two products' right operands, n and n + 1 (n even), of sixteen positions from place `first` on.
template <DType kDType, int kHeadDim>
__device__ __forceinline__ void load_wide_values(const WideShared<kDType, kHeadDim>& shared,
                                                 int first,
                                                 int slice,
                                                 int n,
                                                 std::uint32_t (&b)[4]) {
  constexpr int kElementBytes = FastFormat<kDType>::kElementBytes;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const std::uint8_t* const row =
      &shared.values[first + lane % 16][(slice * kSliceElements + 8 * n) * kElementBytes];
  if constexpr (FastFormat<kDType>::kBytes) {
    std::uint32_t x[2];
    load_transposed(row, x);
    OCTAVO_UNROLL
    for (int half = 0; half < 2; ++half) {
      const std::uint32_t codes = __byte_perm(x[half], 0, 0x3120);  // Two of each element.
      b[half] = widened_pair<kDType>(codes & 0xFFFFu);
      b[2 + half] = widened_pair<kDType>(codes >> 16);
    }
  } else {
    load_transposed(row + lane / 16 * 16, b);
  }
}

/// The sums of one part of the positions.
template <DType kDType, int kHeadDim, int kProducts>
__device__ __forceinline__ void sum_wide_part(const WideShared<kDType, kHeadDim>& shared,
                                              const WideWeights& weights,
                                              const WideView& view,
                                              int slice,
                                              int part,
                                              WideSums& sums) {
  sums.clear();
  OCTAVO_UNROLL
  for (int step = 0; step < kFastValueSteps; ++step) {
    const int at = step * kWideParts + part;
    if (!view.reaches(kFastStepPositions * at, kFastStepPositions)) {
      continue;  // The same for the whole warp.
    }
    OCTAVO_UNROLL
    for (int n = 0; n < kProducts; n += 2) {
      std::uint32_t b[4];
      load_wide_values<kDType, kHeadDim>(shared, kFastStepPositions * at, slice, n, b);
      multiply_add<FastFormat<kDType>::kHalf>(sums.x[n], weights.a[at], b[0], b[1]);
      multiply_add<FastFormat<kDType>::kHalf>(sums.x[n + 1], weights.a[at], b[2], b[3]);
    }
  }
}

/// The weighted sums of the chunks so far.
template <DType kDType, int kHeadDim>
struct WideOut {
  static constexpr int kSlices = (kHeadDim + kSliceElements - 1) / kSliceElements;
  Registers<WideSums, kSlices> slices;

  __device__ __forceinline__ void clear() {
    OCTAVO_UNROLL
    for (int slice = 0; slice < kSlices; ++slice) {
      slices[slice].clear();
    }
  }

  /// One more chunk; `folds`: of each row, what WideRows::fold gave.
  __device__ __forceinline__ void add_chunk(const WideShared<kDType, kHeadDim>& shared,
                                            const WideWeights& weights,
                                            const WideView& view,
                                            const float2 (&folds)[2]) {
    constexpr int kLast = (kHeadDim - (kSlices - 1) * kSliceElements) / 8;
    OCTAVO_UNROLL
    for (int slice = 0; slice + 1 < kSlices; ++slice) {
      add_slice<8>(shared, weights, view, folds, slice);
    }
    add_slice<kLast>(shared, weights, view, folds, kSlices - 1);
  }

 private:
  template <int kProducts>
  __device__ __forceinline__ void add_slice(const WideShared<kDType, kHeadDim>& shared,
                                            const WideWeights& weights,
                                            const WideView& view,
                                            const float2 (&folds)[2],
                                            int slice) {
    WideSums total;
    sum_wide_part<kDType, kHeadDim, kProducts>(shared, weights, view, slice, 0, total);
    OCTAVO_UNROLL
    for (int part = 1; part < kWideParts; ++part) {
      WideSums sums;
      sum_wide_part<kDType, kHeadDim, kProducts>(shared, weights, view, slice, part, sums);
      total.add(sums);
    }
    OCTAVO_UNROLL
    for (int r = 0; r < 2; ++r) {
      if (view.rows[r].empty()) {
        continue;
      }
      OCTAVO_UNROLL
      for (int n = 0; n < kProducts; ++n) {
        OCTAVO_UNROLL
        for (int i = 2 * r; i < 2 * r + 2; ++i) {
          float& o = slices[slice].x[n][i];
          const float x = FastFormat<kDType>::kHalf
                              ? __fmul_rn(total.x[n][i], weights.out_factor[r])
                              : total.x[n][i];
          o = __fmaf_rn(x, folds[r].x, __fmul_rn(o, folds[r].y));
        }
      }
    }
  }
};

}  // namespace OCTAVO_CUDA_TARGET
}  // namespace octavo::cuda
