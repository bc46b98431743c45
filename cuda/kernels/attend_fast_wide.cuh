// Fast attention of wide tiles: the kernel, a tile and KV head a block, for steps of many queries a
// sequence (NUMERICS.md, section 9). Results are those of attend_fast.cuh, to the bit, as what else
// is in a step decides which of the two a row meets.
//
// Grid: a block of 256 threads for each tile of 128 rows and KV head, the last tiles first, as they
// see the most. A block goes from chunk to chunk; each of its warps does sixteen rows and keeps
// their scores and sums in registers. A chunk is read once, into shared memory: its keys while the
// chunk before is weighed, its values while its keys are multiplied. Shared memory bounds the
// kernel, of which every sixteen rows read 2 * 256 * head_dim elements a chunk; tensor cores take
// three quarters of that time. A block takes a multiprocessor to itself.
#pragma once

#include "attend_fast_wide_values.cuh"

namespace octavo::cuda {
inline namespace OCTAVO_CUDA_TARGET {

/// The queries of the tile, eight threads each, and what each row sees.
template <DType kDType, int kHeadDim>
__device__ __forceinline__ void load_wide_rows(const AttendPlan& plan,
                                               const AttendItem& item,
                                               WideShared<kDType, kHeadDim>& shared) {
  OCTAVO_NO_UNROLL
  for (int row = static_cast<int>(threadIdx.x) / 8; row < kWideRows; row += kWideThreads / 8) {
    const auto operand = [&shared, row](int d) -> std::uint16_t& {
      return query_operand(shared, row, d);
    };
    load_query<kDType, kHeadDim>(plan, item, row, operand, shared.score_factor[row]);
  }
  if (const int row = static_cast<int>(threadIdx.x); row < kWideRows) {
    shared.seen[row] =
        row < item.tile.num_rows ? seen_by(plan, item.tile, row) : PositionRange{0, 0};
  }
}

template <DType kDType, int kHeadDim>
__device__ __forceinline__ void copy_wide_keys(PositionRange seen,
                                               WideShared<kDType, kHeadDim>& shared) {
  using Shape = WideShape<kDType, kHeadDim>;
  copy_wide_rows<Shape::kKeyUnits, Shape::kRowUnits>(shared.key_rows, seen, shared.keys);
}

template <DType kDType, int kHeadDim>
__device__ __forceinline__ void copy_wide_values(PositionRange seen,
                                                 WideShared<kDType, kHeadDim>& shared) {
  using Shape = WideShape<kDType, kHeadDim>;
  copy_wide_rows<Shape::kRowUnits, Shape::kRowUnits>(shared.value_rows, seen, shared.values);
}

/// All chunks of the item's tile, of which `at` is the first. Of copies, two groups are on their
/// way at a time: the keys of a chunk with all scales of it, then its values.
template <DType kDType, int kHeadDim>
__device__ __forceinline__ void attend_to_chunks(const AttendPlan& plan,
                                                 AttendItem at,
                                                 WideShared<kDType, kHeadDim>& shared,
                                                 WideRows& rows,
                                                 WideOut<kDType, kHeadDim>& out) {
  const std::int32_t end = at.first_chunk + at.chunks;
  PositionRange seen = seen_by_tile(plan, at);
  locate_wide_rows(plan, at, seen, shared);
  __syncthreads();
  copy_wide_keys(seen, shared);
  async_copy_commit();
  copy_wide_values(seen, shared);
  async_copy_commit();
  OCTAVO_NO_UNROLL
  while (at.chunk < end) {
    const std::int32_t chunk = at.chunk;
    const WideView view = view_of_chunk(shared, at.tile.num_rows, chunk);
    at.chunk += 1;
    async_copy_wait<1>();
    __syncthreads();  // Keys and scales are there; everyone has done with the addresses.
    if (at.chunk < end) {
      seen = seen_by_tile(plan, at);
      locate_wide_rows(plan, at, seen, shared);
    }
    WideScores scores;
    multiply_keys_wide(shared, view, scores);
    __syncthreads();  // Everyone has done with the keys; the next addresses are there.
    if (at.chunk < end) {
      copy_wide_keys(seen, shared);
    }
    async_copy_commit();
    WideWeights weights;
    finish_wide_scores(shared, chunk, view, scores);
    weigh_wide_rows(shared, chunk, scores, weights);
    async_copy_wait<1>();
    __syncthreads();  // Values are there.
    float2 folds[2] = {};
    OCTAVO_UNROLL
    for (int r = 0; r < 2; ++r) {
      if (!view.rows[r].empty()) {
        folds[r] = rows.fold(r, weights.m[r], weights.l[r]);
      }
    }
    out.add_chunk(shared, weights, view, folds);
    __syncthreads();  // Everyone has done with the values.
    if (at.chunk < end) {
      copy_wide_values(seen, shared);
    }
    async_copy_commit();
  }
}

/// Results, through shared memory: elements of a row lie in several lanes, and the code of a
/// division is long.
template <DType kDType, int kHeadDim>
__device__ __forceinline__ void store_wide_results(const AttendPlan& plan,
                                                   const AttendItem& item,
                                                   unsigned char* memory,
                                                   const WideRows& rows,
                                                   const WideOut<kDType, kHeadDim>& out) {
  constexpr std::size_t kStride = kHeadDim + 8;
  using Shared = WideShared<kDType, kHeadDim>;
  static_assert(4 * kWideRows * kStride <= sizeof(Shared::keys) + sizeof(Shared::values));
  float(*const sums)[kStride] = reinterpret_cast<float(*)[kStride]>(memory);
  const int lane = static_cast<int>(threadIdx.x) % 32;
  OCTAVO_UNROLL
  for (int slice = 0; slice < out.kSlices; ++slice) {
    OCTAVO_UNROLL
    for (int n = 0; n < 8 && 8 * n + slice * kSliceElements < kHeadDim; ++n) {
      OCTAVO_UNROLL
      for (int i = 0; i < 4; ++i) {
        const int element = element_of_column<kDType>(n, lane % 4 * 2 + i % 2);
        sums[row_of_lane(i / 2)][slice * kSliceElements + element] = out.slices[slice].x[n][i];
      }
    }
  }
  __syncwarp();  // A warp stores its own rows.
  const int first = first_row_of_warp();
  OCTAVO_NO_UNROLL
  for (int i = 0; i < kWarpRows && first + i < item.tile.num_rows; ++i) {
    const float m = __shfl_sync(kWholeWarp, i < 8 ? rows.m[0] : rows.m[1], i % 8 * 4);
    const float l = __shfl_sync(kWholeWarp, i < 8 ? rows.l[0] : rows.l[1], i % 8 * 4);
    const CombineRow row = find_combine_row(plan, item, first + i);
    OCTAVO_NO_UNROLL
    for (int d = 4 * lane; d < kHeadDim; d += kQuadElements) {
      const float* const from = &sums[first + i][d];
      store_result(plan, row, d, l, make_float4(from[0], from[1], from[2], from[3]));
    }
    if (lane == 0) {
      store_row_sums(plan.arg, row.index, m, l);
    }
  }
}

template <DType kDType, int kHeadDim>
__global__ void __launch_bounds__(kWideThreads, 1) attend_fast_wide_kernel(const AttendPlan plan) {
  OCTAVO_DYNAMIC_SHARED(memory);
  auto& shared = *reinterpret_cast<WideShared<kDType, kHeadDim>*>(memory);
  const AttendItem item = find_item(plan, gridDim.x - 1 - blockIdx.x);
  if (item.tile.num_rows <= 0) {
    return;
  }
  load_wide_rows(plan, item, shared);
  __syncthreads();
  WideRows rows;
  rows.begin(plan, item);
  WideOut<kDType, kHeadDim> out;
  out.clear();
  if (item.chunks > 0) {
    attend_to_chunks(plan, item, shared, rows, out);
  }
  store_wide_results(plan, item, memory, rows, out);
}

}  // namespace OCTAVO_CUDA_TARGET
}  // namespace octavo::cuda
