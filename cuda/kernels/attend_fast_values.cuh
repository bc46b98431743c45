// Fast attention: sums of values, weighted by tensor cores.
//
// The right operand wants two consecutive positions of one element in a register, and memory has
// two consecutive elements of one position: blocks of 2 x 2 are transposed in registers. A warp
// does 16 positions a step, four a lane, and 64 elements, eight a lane; each of its eight products
// takes one element of every lane. The warps' sums meet in shared memory, in the order of warps.
#pragma once

#include "attend_fast_shared.cuh"

namespace octavo::cuda {
inline namespace OCTAVO_CUDA_TARGET {

/// A lane's eight elements of four positions, as they lie in memory.
template <DType kDType>
struct FastValues {
  std::uint32_t words[4][FastFormat<kDType>::kBytes ? 2 : 4];

  /// Elements 64 slice + 8 group .. + 7 of positions first + 4 tig .. + 3; zeros where no row sees,
  /// as 0 times anything else need not be 0.
  template <int kHeadDim>
  __device__ __forceinline__ void load(const FastShared& shared,
                                       PositionRange seen,
                                       int slice,
                                       int first) {
    const int group = static_cast<int>(threadIdx.x) % 32 / 4;
    const int tig = static_cast<int>(threadIdx.x) % 4;
    const int element = slice * kSliceElements + 8 * group;
    OCTAVO_UNROLL
    for (int i = 0; i < 4; ++i) {
      const int t = first + 4 * tig + i;
      const bool on = contains(seen, t) && element < kHeadDim;
      if constexpr (FastFormat<kDType>::kBytes) {
        const uint2 loaded =
            on ? __ldg(reinterpret_cast<const uint2*>(shared.value_rows[t] + element))
               : make_uint2(0, 0);
        words[i][0] = loaded.x;
        words[i][1] = loaded.y;
      } else {
        const uint4 loaded =
            on ? __ldg(reinterpret_cast<const uint4*>(shared.value_rows[t] + 2 * element))
               : make_uint4(0, 0, 0, 0);
        words[i][0] = loaded.x;
        words[i][1] = loaded.y;
        words[i][2] = loaded.z;
        words[i][3] = loaded.w;
      }
    }
  }
};

/// The first position of a warp's step; steps go round the warps.
__device__ __forceinline__ int first_of_fast_step(int step, int warp) {
  return (step * kItemWarps + warp) * kFastStepPositions;
}

/// The steps that a warp has in flight: 32 registers. Step s of a slice lies in s % kSteps.
template <DType kDType>
struct FastValuesAhead {
  static constexpr int kSteps = FastFormat<kDType>::kBytes ? 4 : 2;
  static_assert(kFastValueSteps % kSteps == 0);
  FastValues<kDType> steps[FastFormat<kDType>::kBytes ? 4 : 2];

  template <int kHeadDim>
  __device__ __forceinline__ void load(const FastShared& shared, PositionRange seen) {
    const int warp = static_cast<int>(threadIdx.x) / 32;
    OCTAVO_UNROLL
    for (int step = 0; step < kSteps; ++step) {
      steps[step].template load<kHeadDim>(shared, seen, 0, first_of_fast_step(step, warp));
    }
  }
};

/// The sums of 64 elements over a warp's positions, one product for each of a lane's eight.
struct FastSums {
  float c[8][4];

  __device__ __forceinline__ void clear() {
    OCTAVO_UNROLL
    for (int j = 0; j < 8; ++j) {
      OCTAVO_UNROLL
      for (int x = 0; x < 4; ++x) {
        c[j][x] = 0.0f;
      }
    }
  }

  /// `a`: the weights of the lane's four positions, of rows lane / 4 and lane / 4 + 8.
  template <DType kDType>
  __device__ __forceinline__ void add(const std::uint32_t (&a)[4],
                                      const FastValues<kDType>& values) {
    constexpr bool kHalf = FastFormat<kDType>::kHalf;
    OCTAVO_UNROLL
    for (int pair = 0; pair < 4; ++pair) {
      std::uint32_t v[4];
      OCTAVO_UNROLL
      for (int i = 0; i < 4; ++i) {
        v[i] = pair_of<kDType>(values.words[i], pair);
      }
      multiply_add<kHalf>(c[2 * pair], a, __byte_perm(v[0], v[1], 0x5410),
                          __byte_perm(v[2], v[3], 0x5410));
      multiply_add<kHalf>(c[2 * pair + 1], a, __byte_perm(v[0], v[1], 0x7632),
                          __byte_perm(v[2], v[3], 0x7632));
    }
  }

  __device__ __forceinline__ void store(FastShared& shared, int warp, int row, int tig) const {
    OCTAVO_UNROLL
    for (int j = 0; j < 8; ++j) {
      float(&parts)[kFastRows][kPartStride] = shared.sums.parts[warp];
      *reinterpret_cast<float2*>(&parts[row][8 * j + 2 * tig]) = make_float2(c[j][0], c[j][1]);
      *reinterpret_cast<float2*>(&parts[row + 8][8 * j + 2 * tig]) = make_float2(c[j][2], c[j][3]);
    }
  }
};

/// One slice of o: the warps' sums added, scaled, stored.
template <int kHeadDim>
__device__ __forceinline__ void store_slice(const AttendPlan& plan,
                                            int num_rows,
                                            int slice,
                                            const FastShared& shared) {
  constexpr int kQuads = kSliceElements / 4;
  for (int i = static_cast<int>(threadIdx.x); i < num_rows * kQuads; i += kItemThreads) {
    const int row = i / kQuads;
    const int d = i % kQuads * 4;
    if (slice * kSliceElements + d >= kHeadDim) {
      continue;
    }
    float o[4];
    OCTAVO_UNROLL
    for (int x = 0; x < 4; ++x) {
      const int at = (d % 8 + x) * 8 + d / 8;
      o[x] = shared.sums.parts[0][row][at];
      OCTAVO_UNROLL
      for (int warp = 1; warp < kItemWarps; ++warp) {
        o[x] = __fadd_rn(o[x], shared.sums.parts[warp][row][at]);
      }
      o[x] = __fmul_rn(o[x], shared.out_factor[row]);
    }
    store_out(plan, shared.slots[row], slice * kSliceElements + d,
              make_float4(o[0], o[1], o[2], o[3]));
  }
}

/// Weighted sums of all rows, into o. `ahead` holds the first steps; a step's registers take a
/// later step as soon as its products are done.
template <DType kDType, int kHeadDim>
__device__ __forceinline__ void weigh_values_fast(const AttendPlan& plan,
                                                  PositionRange seen,
                                                  int num_rows,
                                                  FastValuesAhead<kDType>& ahead,
                                                  FastShared& shared) {
  constexpr int kSlices = (kHeadDim + kSliceElements - 1) / kSliceElements;
  constexpr int kAhead = FastValuesAhead<kDType>::kSteps;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int group = static_cast<int>(threadIdx.x) % 32 / 4;
  const int tig = static_cast<int>(threadIdx.x) % 4;
  FastSums sums;
  OCTAVO_NO_UNROLL
  for (int slice = 0; slice < kSlices; ++slice) {
    sums.clear();
    OCTAVO_UNROLL
    for (int step = 0; step < kFastValueSteps; ++step) {
      const int first = first_of_fast_step(step, warp);
      FastValues<kDType>& values = ahead.steps[step % kAhead];
      if (first + kFastStepPositions > seen.begin && first < seen.end) {
        const uint2 upper = four_operands(&shared.operand[group][first + 4 * tig]);
        const uint2 lower = four_operands(&shared.operand[group + 8][first + 4 * tig]);
        const std::uint32_t a[4] = {upper.x, lower.x, upper.y, lower.y};
        sums.add(a, values);
      }
      const int next_slice = slice + (step + kAhead) / kFastValueSteps;
      if (next_slice < kSlices) {
        values.template load<kHeadDim>(shared, seen, next_slice,
                                       first_of_fast_step((step + kAhead) % kFastValueSteps, warp));
      }
    }
    sums.store(shared, warp, group, tig);
    __syncthreads();
    store_slice<kHeadDim>(plan, num_rows, slice, shared);
    __syncthreads();
  }
}

}  // namespace OCTAVO_CUDA_TARGET
}  // namespace octavo::cuda
