// Attention over integer rows: the exact sums of values, weighted in fixed point.
//
// The right operand wants four consecutive positions of one element in a register, and memory has
// four consecutive elements of one position: blocks of 4 x 4 bytes are transposed in registers. A
// warp does 32 positions a step, eight a lane, and 64 elements, eight a lane; each of its eight
// products takes one element of every lane.
#pragma once

#include "attend_int_shared.cuh"

namespace octavo::cuda {
inline namespace OCTAVO_CUDA_TARGET {

/// A lane's elements of eight positions, as they lie in memory.
template <bool kInt4>
struct ValueWords {
  std::uint32_t words[8][kInt4 ? 1 : 2];
};

/// Positions of one warp's step.
constexpr int kStepPositions = 32;
constexpr int kValueSteps = kChunkPositions / (kStepPositions * kItemWarps);

/// The first position of a warp's step; steps go round the warps.
__device__ __forceinline__ int first_of_step(int step, int warp) {
  return (step * kItemWarps + warp) * kStepPositions;
}

/// Loads elements 64 slice + 8 group .. + 7 of positions first + 8 tig .. + 7. The weights of what
/// no row sees are 0, so that any bytes do.
template <bool kInt4, int kHeadDim>
__device__ __forceinline__ void load_values(const IntShared<kHeadDim>& shared,
                                            int slice,
                                            int first,
                                            ValueWords<kInt4>& values) {
  const int group = static_cast<int>(threadIdx.x) % 32 / 4;
  const int tig = static_cast<int>(threadIdx.x) % 4;
  const int element = slice * kSliceElements + 8 * group;
  const bool on = kHeadDim % kSliceElements == 0 || element < kHeadDim;
  OCTAVO_UNROLL
  for (int i = 0; i < 8; ++i) {
    const int t = first + 8 * tig + i;
    if constexpr (kInt4) {
      values.words[i][0] =
          on ? __ldg(reinterpret_cast<const std::uint32_t*>(shared.value_rows[t] + element / 2))
             : 0u;
    } else {
      const uint2 loaded =
          on ? __ldg(reinterpret_cast<const uint2*>(shared.value_rows[t] + element))
             : make_uint2(0, 0);
      values.words[i][0] = loaded.x;
      values.words[i][1] = loaded.y;
    }
  }
}

/// Four bytes of four positions: columns[e] becomes byte e of each.
__device__ __forceinline__ void transpose_bytes(const std::uint32_t (&rows)[4],
                                                std::uint32_t (&columns)[4]) {
  const std::uint32_t even01 = __byte_perm(rows[0], rows[1], 0x5140);  // Bytes 0 0 1 1.
  const std::uint32_t even23 = __byte_perm(rows[2], rows[3], 0x5140);
  const std::uint32_t odd01 = __byte_perm(rows[0], rows[1], 0x7362);  // Bytes 2 2 3 3.
  const std::uint32_t odd23 = __byte_perm(rows[2], rows[3], 0x7362);
  columns[0] = __byte_perm(even01, even23, 0x5410);
  columns[1] = __byte_perm(even01, even23, 0x7632);
  columns[2] = __byte_perm(odd01, odd23, 0x5410);
  columns[3] = __byte_perm(odd01, odd23, 0x7632);
}

/// Four positions of a lane's eight elements, a register an element of them, in the order of
/// products. int4 codes, two a byte, are transposed as they lie and become int8, times 16, then.
template <bool kInt4>
__device__ __forceinline__ void transpose_values(const ValueWords<kInt4>& values,
                                                 int first,
                                                 std::uint32_t (&columns)[8]) {
  OCTAVO_UNROLL
  for (int word = 0; word < (kInt4 ? 1 : 2); ++word) {
    const std::uint32_t rows[4] = {values.words[first][word], values.words[first + 1][word],
                                   values.words[first + 2][word], values.words[first + 3][word]};
    std::uint32_t bytes[4];
    transpose_bytes(rows, bytes);
    OCTAVO_UNROLL
    for (int e = 0; e < 4; ++e) {
      if constexpr (kInt4) {
        columns[e] = low_nibbles(bytes[e]);
        columns[4 + e] = high_nibbles(bytes[e]);
      } else {
        columns[4 * word + e] = bytes[e];
      }
    }
  }
}

/// Which of a lane's eight elements product j sums.
template <bool kInt4>
__device__ __forceinline__ int element_of_product(int j) {
  return kInt4 ? 2 * (j % 4) + j / 4 : j;
}

/// The sums of 64 elements over a warp's positions, one product for each of a lane's eight.
template <bool kInt4>
struct SliceSums {
  std::int32_t c[8][4];

  __device__ __forceinline__ void clear() {
    OCTAVO_UNROLL
    for (int j = 0; j < 8; ++j) {
      OCTAVO_UNROLL
      for (int x = 0; x < 4; ++x) {
        c[j][x] = 0;
      }
    }
  }

  /// `a`: the limbs of the weights of the lane's eight positions.
  __device__ __forceinline__ void add(const std::uint32_t (&a)[4],
                                      const ValueWords<kInt4>& values) {
    std::uint32_t b[2][8];
    transpose_values(values, 0, b[0]);
    transpose_values(values, 4, b[1]);
    OCTAVO_UNROLL
    for (int j = 0; j < 8; ++j) {
      mma_u8_s8(c[j], a, b[0][j], b[1][j]);
    }
  }

  /// Adds to the block's sums. A limb's sum is at most 2^8 * 2^7 * 256 = 2^23; joined they are
  /// |sum w_i code_i| <= 2^15 * 2^7 * 256 = 2^30, and so is the sum over the warps, as the weights
  /// are those of one row's chunk. Atomic additions of integers may come in any order.
  template <int kHeadDim>
  __device__ __forceinline__ void add_to(IntShared<kHeadDim>& shared, int slice, int row, int tig) {
    OCTAVO_UNROLL
    for (int j = 0; j < 8; ++j) {
      std::int32_t* const to =
          &shared.sums[row][slice * kSliceElements + element_of_product<kInt4>(j) * 8 + 2 * tig];
      atomicAdd(to, c[j][0] * 256 + c[j][2]);
      atomicAdd(to + 1, c[j][1] * 256 + c[j][3]);
    }
  }
};

/// The values of one slice that a warp has in flight.
template <bool kInt4>
struct ValuesAhead {
  ValueWords<kInt4> steps[kValueSteps];

  template <int kHeadDim>
  __device__ __forceinline__ void load(const IntShared<kHeadDim>& shared) {
    const int warp = static_cast<int>(threadIdx.x) / 32;
    OCTAVO_UNROLL
    for (int step = 0; step < kValueSteps; ++step) {
      load_values<kInt4, kHeadDim>(shared, 0, first_of_step(step, warp), steps[step]);
    }
  }
};

/// Weighted sums of all rows. `ahead` holds the first slice; a step's registers take the next
/// slice as soon as its products are done.
template <bool kInt4, int kHeadDim>
__device__ __forceinline__ void weigh_values(PositionRange seen,
                                             int num_rows,
                                             ValuesAhead<kInt4>& ahead,
                                             IntShared<kHeadDim>& shared) {
  constexpr int kSlices = ValueShape<kHeadDim>::kSlices;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int group = static_cast<int>(threadIdx.x) % 32 / 4;
  const int tig = static_cast<int>(threadIdx.x) % 4;
  SliceSums<kInt4> sums;
  OCTAVO_NO_UNROLL
  for (int slice = 0; slice < kSlices; ++slice) {
    sums.clear();
    OCTAVO_UNROLL
    for (int step = 0; step < kValueSteps; ++step) {
      const int first = first_of_step(step, warp);
      if (first + kStepPositions <= seen.begin || first >= seen.end) {
        continue;  // The same for the whole warp.
      }
      const uint2 high = *reinterpret_cast<const uint2*>(&shared.limbs[group][first + 8 * tig]);
      const uint2 low =
          *reinterpret_cast<const uint2*>(&shared.limbs[group + kIntRows][first + 8 * tig]);
      const std::uint32_t a[4] = {high.x, low.x, high.y, low.y};
      sums.add(a, ahead.steps[step]);
      if (slice + 1 < kSlices) {
        load_values<kInt4, kHeadDim>(shared, slice + 1, first, ahead.steps[step]);
      }
    }
    if (group < num_rows) {
      sums.add_to(shared, slice, group, tig);
    }
  }
}

/// Four consecutive elements, from d on (a multiple of 4), of a row's result.
template <bool kInt4, int kHeadDim>
__device__ __forceinline__ float4 finished_values(const IntShared<kHeadDim>& shared,
                                                  int row,
                                                  int d) {
  constexpr int kShift = kInt4 ? 4 : 0;
  const int slice = d / kSliceElements * kSliceElements;
  const int n = d % kSliceElements / 8;
  float o[4];
  OCTAVO_UNROLL
  for (int i = 0; i < 4; ++i) {
    const std::int32_t sum = shared.sums[row][slice + (d % 8 + i) * 8 + n] >> kShift;
    o[i] = __fmul_rn(static_cast<float>(sum), shared.out_factor[row]);
  }
  return make_float4(o[0], o[1], o[2], o[3]);
}

}  // namespace OCTAVO_CUDA_TARGET
}  // namespace octavo::cuda
