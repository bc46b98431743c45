// Attention for every shape and every pair of codecs: one item of a plan a block.
//
// Grid: num_items(plan) blocks of 256 threads, 46 KiB of shared memory. Keys: a token to each
// group of bit_ceil(head_dim / 8) lanes, at most a warp, a unit of eight elements a lane; values:
// four elements of a stream a thread. Every key and value is read once for up to eight rows, in
// vectors where rows are aligned. The choice of a format at run time costs instructions, and
// nothing is fetched ahead: bound by latency, several times slower than the kernels made for one
// shape.
#pragma once

#include <type_traits>

#include "attend_codes.cuh"
#include "attend_combine.cuh"
#include "attend_fixed_point.cuh"
#include "attend_scores.cuh"

namespace octavo::cuda {
inline namespace OCTAVO_CUDA_TARGET {

constexpr int kGeneralThreads = 256;
constexpr int kGeneralRows = 8;  ///< One a warp in the softmax.
constexpr int kGeneralHeadDimMax = static_cast<int>(kMaxHeadDim);
constexpr int kQueryFixedBits = 13;
constexpr int kWeightFixedBits = 15;

struct GeneralShared {
  /// Queries, [rows, keys.head_dim]; then the streams of the weighted sum, [rows, streams,
  /// values.head_dim]. Integers in their bits for integer rows.
  alignas(16) std::uint32_t numbers[kGeneralRows][kGeneralHeadDimMax];
  std::uint32_t scores[kGeneralRows][kChunkPositions];  ///< Dots, then weights; likewise.
  float key_scales[kChunkPositions];
  float value_scales[kChunkPositions];
  std::uint32_t blocks[kChunkPositions];
  std::uint32_t block_rows[kChunkPositions];
  std::int32_t begin[kGeneralRows];  ///< What rows see of the chunk; nothing beyond num_rows.
  std::int32_t end[kGeneralRows];
  float score_factor[kGeneralRows];
  float out_factor[kGeneralRows];
  FinishShared<kGeneralRows> finish;
};

__device__ __forceinline__ std::uint32_t to_fixed_bits(float x, FixedPoint scale) {
  return static_cast<std::uint32_t>(__float2int_rn(scaled(x, scale)));
}

/// Ranges of the rows, places of the positions between them, scales.
__device__ __forceinline__ void general_setup(const AttendPlan& plan,
                                              const AttendItem& item,
                                              GeneralShared& shared) {
  const AttendArg& arg = plan.arg;
  const int t = static_cast<int>(threadIdx.x);
  if (t < kGeneralRows) {
    const PositionRange range = t < item.tile.num_rows
                                    ? part_of_chunk(seen_by(plan, item.tile, t), item.chunk)
                                    : PositionRange{};
    shared.begin[t] = range.begin;
    shared.end[t] = range.end;
  }
  const PositionRange hull = seen_by_tile(plan, item);
  if (t >= hull.begin && t < hull.end) {
    const RowPlace place = place_of(plan, item.tile, item.chunk * kChunkPositions + t);
    shared.blocks[t] = place.block;
    shared.block_rows[t] = place.row;
    if (arg.keys.scales != nullptr) {
      shared.key_scales[t] = *row_scale(arg.keys, item.kv_head, place);
    }
    if (arg.values.scales != nullptr) {
      shared.value_scales[t] = *row_scale(arg.values, item.kv_head, place);
    }
  }
}

/// One warp a row: its query, as floats or in fixed point.
template <bool kIntegerKeys>
__device__ __forceinline__ void load_query(const AttendPlan& plan,
                                           const AttendItem& item,
                                           GeneralShared& shared) {
  const StepOperandArg& query = plan.arg.query;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int row = static_cast<int>(threadIdx.x) / 32;
  if (row >= item.tile.num_rows) {
    return;
  }
  const std::int64_t from = token_of(plan, item.tile, row) * query.token_stride +
                            head_of(plan, item.tile, item.kv_head, row) * query.head_stride;
  const int head_dim = static_cast<int>(plan.arg.keys.head_dim);
  std::uint32_t largest = 0;
  for (int d = lane; d < head_dim; d += 32) {
    const std::uint32_t bits = __float_as_uint(load_element(query.dtype, query.data, from + d));
    shared.numbers[row][d] = bits;
    largest = larger(largest, bits & 0x7FFFFFFFu);
  }
  float factor = plan.arg.score_factor;
  if constexpr (kIntegerKeys) {
    const FixedPoint scale = fixed_point<kQueryFixedBits>(largest_of_lanes<32>(largest));
    for (int d = lane; d < head_dim; d += 32) {
      shared.numbers[row][d] = to_fixed_bits(__uint_as_float(shared.numbers[row][d]), scale);
    }
    factor = __fmul_rn(factor, scale.from_integer);
  }
  if (lane == 0) {
    shared.score_factor[row] = factor;
  }
}

/// The product of a unit with the query's.
__device__ __forceinline__ float unit_dot(const std::uint32_t* query, const float (&key)[8]) {
  float sum = __fmul_rn(__uint_as_float(query[0]), key[0]);
  OCTAVO_UNROLL
  for (int e = 1; e < 8; ++e) {
    sum = __fmaf_rn(__uint_as_float(query[e]), key[e], sum);
  }
  return sum;
}
__device__ __forceinline__ std::int32_t unit_dot(const std::uint32_t* query,
                                                 const std::int32_t (&key)[8]) {
  std::int32_t sum = 0;
  OCTAVO_UNROLL
  for (int e = 0; e < 8; ++e) {
    sum += static_cast<std::int32_t>(query[e]) * key[e];
  }
  return sum;
}

__device__ __forceinline__ float plus(float a, float b) {
  return __fadd_rn(a, b);
}
__device__ __forceinline__ std::int32_t plus(std::int32_t a, std::int32_t b) {
  return a + b;
}
__device__ __forceinline__ std::uint32_t bits_of(float x) {
  return __float_as_uint(x);
}
__device__ __forceinline__ std::uint32_t bits_of(std::int32_t x) {
  return static_cast<std::uint32_t>(x);
}

/// Dots of all rows. A lane has kUnits successive units of a token, so that the first levels of the
/// tree are its own; a unit beyond the last is absent: its neighbour passes up unchanged.
template <typename Number, int kUnits>
__device__ __forceinline__ void general_dots(const AttendPlan& plan,
                                             const AttendItem& item,
                                             GeneralShared& shared) {
  const KVRowsArg& keys = plan.arg.keys;
  const RowFormat format = format_of(keys);
  const bool aligned = elements_are_aligned<8>(keys);
  const int units = static_cast<int>(keys.head_dim) / 8;
  int lanes = 1;  // A token's.
  while (lanes * kUnits < units) {
    lanes *= 2;
  }
  const int thread = static_cast<int>(threadIdx.x);
  const int first_unit = thread % lanes * kUnits;
  const PositionRange hull = seen_by_tile(plan, item);
  const int stride = kGeneralThreads / lanes;
  for (int base = hull.begin; base < hull.end; base += stride) {
    const int t = base + thread / lanes;
    const bool on = t < hull.end;
    Registers<Number[8], kUnits> key = {};
    OCTAVO_UNROLL
    for (int u = 0; u < kUnits; ++u) {
      if (on && first_unit + u < units) {
        const std::uint8_t* const row =
            row_data(keys, item.kv_head, {shared.blocks[t], shared.block_rows[t]});
        decode(format, load_elements<8>(format, row, 8 * (first_unit + u), aligned), key[u]);
      }
    }
    for (int row = 0; row < item.tile.num_rows; ++row) {
      Registers<Number, kUnits> dot = {};
      OCTAVO_UNROLL
      for (int u = 0; u < kUnits; ++u) {
        if (first_unit + u < units) {
          dot[u] = unit_dot(shared.numbers[row] + 8 * (first_unit + u), key[u]);
        }
      }
      OCTAVO_UNROLL
      for (int half = 1; half < kUnits; half *= 2) {
        OCTAVO_UNROLL
        for (int u = 0; u < kUnits; u += 2 * half) {
          dot[u] = first_unit + u + half < units ? plus(dot[u], dot[u + half]) : dot[u];
        }
      }
      for (int offset = 1; offset < lanes; offset *= 2) {
        const Number other = __shfl_xor_sync(kWholeWarp, dot[0], offset);
        // Only what reaches a token's first lane counts, so only right neighbours are asked for.
        dot[0] = first_unit + offset * kUnits < units ? plus(dot[0], other) : dot[0];
      }
      if (on && first_unit == 0) {
        shared.scores[row][t] = bits_of(dot[0]);
      }
    }
  }
}

template <typename Number>
__device__ __forceinline__ void general_dots(const AttendPlan& plan,
                                             const AttendItem& item,
                                             GeneralShared& shared) {
  const auto head_dim = plan.arg.keys.head_dim;
  if (head_dim <= 256) {
    general_dots<Number, 1>(plan, item, shared);
  } else if (head_dim <= 512) {
    general_dots<Number, 2>(plan, item, shared);
  } else {
    general_dots<Number, 4>(plan, item, shared);
  }
}

/// Dots become weights, one warp a row; (m, l) goes out.
template <bool kIntegerKeys, bool kIntegerValues>
__device__ __forceinline__ void general_softmax(const AttendPlan& plan,
                                                const AttendItem& item,
                                                GeneralShared& shared) {
  const AttendArg& arg = plan.arg;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int row = static_cast<int>(threadIdx.x) / 32;
  const int begin = shared.begin[row];
  const int end = shared.end[row];
  if (begin >= end) {
    return;
  }
  LaneScores p;
  OCTAVO_UNROLL
  for (int i = 0; i < kPositionsPerLane; ++i) {
    const int t = lane + 32 * i;
    p.x[i] = minus_infinity();
    if (t >= begin && t < end) {
      const std::uint32_t bits = shared.scores[row][t];
      float s = kIntegerKeys ? static_cast<float>(static_cast<std::int32_t>(bits))
                             : __uint_as_float(bits);
      if (arg.keys.scales != nullptr) {
        s = __fmul_rn(s, shared.key_scales[t]);
      }
      p.x[i] = finish_score(s, shared.score_factor[row], arg.cap_factor);
    }
  }
  const float m = max_of_row(p);
  OCTAVO_UNROLL
  for (int i = 0; i < kPositionsPerLane; ++i) {
    const int t = lane + 32 * i;
    p.x[i] = t >= begin && t < end ? exp2_spec(__fsub_rn(p.x[i], m)) : 0.0f;
  }
  const float l = sum_of_row(p);
  std::uint32_t largest = 0;
  OCTAVO_UNROLL
  for (int i = 0; i < kPositionsPerLane; ++i) {
    const int t = lane + 32 * i;
    if (arg.values.scales != nullptr && t >= begin && t < end) {
      p.x[i] = __fmul_rn(p.x[i], shared.value_scales[t]);
    }
    largest = larger(largest, __float_as_uint(magnitude(p.x[i])));
  }
  const FixedPoint scale =
      fixed_point<kWeightFixedBits>(kIntegerValues ? largest_of_lanes<32>(largest) : 0);
  OCTAVO_UNROLL
  for (int i = 0; i < kPositionsPerLane; ++i) {
    shared.scores[row][lane + 32 * i] =
        kIntegerValues ? to_fixed_bits(p.x[i], scale) : __float_as_uint(p.x[i]);
  }
  if (lane == 0) {
    shared.out_factor[row] = scale.from_integer;
    store_max_sum(plan, slot_of(plan, item, row), m, l);
  }
}

/// A weighted value added to a sum.
__device__ __forceinline__ float weigh(std::uint32_t weight, float value, float sum) {
  return __fmaf_rn(__uint_as_float(weight), value, sum);
}
__device__ __forceinline__ std::int32_t weigh(std::uint32_t weight,
                                              std::int32_t value,
                                              std::int32_t sum) {
  return sum + static_cast<std::int32_t>(weight) * value;
}

/// The streams of every row into shared memory: a thread has four elements of one.
template <typename Number>
__device__ __forceinline__ void general_streams(const AttendPlan& plan,
                                                const AttendItem& item,
                                                int streams,
                                                GeneralShared& shared) {
  const KVRowsArg& values = plan.arg.values;
  const RowFormat format = format_of(values);
  const bool aligned = elements_are_aligned<4>(values);
  const int quads = static_cast<int>(values.head_dim) / 4;
  const int stream = static_cast<int>(threadIdx.x) / quads;
  const int d = (static_cast<int>(threadIdx.x) - stream * quads) * 4;
  if (stream >= streams) {
    return;
  }
  Number sums[kGeneralRows][4] = {};
  const PositionRange hull = seen_by_tile(plan, item);
  // The stream's first position at or after the first that is seen.
  const int ahead = (stream - hull.begin) & (streams - 1);
  for (int t = hull.begin + ahead; t < hull.end; t += streams) {
    const std::uint8_t* const row_at =
        row_data(values, item.kv_head, {shared.blocks[t], shared.block_rows[t]});
    Number value[4];
    decode(format, load_elements<4>(format, row_at, d, aligned), value);
    OCTAVO_UNROLL
    for (int row = 0; row < kGeneralRows; ++row) {
      if (t >= shared.begin[row] && t < shared.end[row]) {
        OCTAVO_UNROLL
        for (int e = 0; e < 4; ++e) {
          sums[row][e] = weigh(shared.scores[row][t], value[e], sums[row][e]);
        }
      }
    }
  }
  OCTAVO_UNROLL
  for (int row = 0; row < kGeneralRows; ++row) {
    OCTAVO_UNROLL
    for (int e = 0; e < 4; ++e) {
      shared.numbers[row][stream * 4 * quads + d + e] = bits_of(sums[row][e]);
    }
  }
}

__device__ __forceinline__ void general_add(std::uint32_t& a, std::uint32_t b, float) {
  a = __float_as_uint(__fadd_rn(__uint_as_float(a), __uint_as_float(b)));
}
__device__ __forceinline__ void general_add(std::uint32_t& a, std::uint32_t b, std::int32_t) {
  a += b;
}

/// The tree over the streams, and o of every row out.
template <typename Number>
__device__ __forceinline__ void general_outs(const AttendPlan& plan,
                                             const AttendItem& item,
                                             int streams,
                                             GeneralShared& shared) {
  const int head_dim = static_cast<int>(plan.arg.values.head_dim);
  const int thread = static_cast<int>(threadIdx.x);
  for (int half = 1; half < streams; half *= 2) {
    const int sums = streams / (2 * half) * head_dim;
    for (int x = thread; x < kGeneralRows * sums; x += kGeneralThreads) {
      const int row = x / sums;
      const int pair = x % sums / head_dim;
      std::uint32_t* const left = shared.numbers[row] + pair * 2 * half * head_dim + x % head_dim;
      general_add(*left, left[half * head_dim], Number{});
    }
    __syncthreads();
  }
  for (int x = 4 * thread; x < item.tile.num_rows * head_dim; x += 4 * kGeneralThreads) {
    const int row = x / head_dim;
    const int d = x % head_dim;
    if (shared.begin[row] >= shared.end[row]) {
      continue;
    }
    float o[4];
    OCTAVO_UNROLL
    for (int e = 0; e < 4; ++e) {
      const std::uint32_t bits = shared.numbers[row][d + e];
      o[e] = std::is_same_v<Number, float>
                 ? __uint_as_float(bits)
                 : __fmul_rn(static_cast<float>(static_cast<std::int32_t>(bits)),
                             shared.out_factor[row]);
    }
    store_out(plan, slot_of(plan, item, row), d, make_float4(o[0], o[1], o[2], o[3]));
  }
}

/// The partial results of an item that has a chunk.
template <bool kIntegerKeys, bool kIntegerValues>
__device__ __forceinline__ void attend_to_any(const AttendPlan& plan,
                                              const AttendItem& item,
                                              GeneralShared& shared) {
  using Key = std::conditional_t<kIntegerKeys, std::int32_t, float>;
  using Value = std::conditional_t<kIntegerValues, std::int32_t, float>;
  general_setup(plan, item, shared);
  load_query<kIntegerKeys>(plan, item, shared);
  __syncthreads();
  general_dots<Key>(plan, item, shared);
  __syncthreads();
  general_softmax<kIntegerKeys, kIntegerValues>(plan, item, shared);
  __syncthreads();
  int streams = kGeneralHeadDimMax;
  for (std::int64_t size = 1; size < plan.arg.values.head_dim; size *= 2) {
    streams /= 2;
  }
  general_streams<Value>(plan, item, streams, shared);
  __syncthreads();
  general_outs<Value>(plan, item, streams, shared);
}

template <bool kIntegerKeys, bool kIntegerValues>
__global__ void __launch_bounds__(kGeneralThreads) attend_general(const AttendPlan plan) {
  OCTAVO_SHARED(GeneralShared, shared);
  const AttendItem item = find_item(plan);
  if (!begin_item(item, shared.finish)) {
    return;
  }
  if (item.chunks > 0) {
    attend_to_any<kIntegerKeys, kIntegerValues>(plan, item, shared);
  }
  finish_item<kGeneralThreads, 8>(plan, shared.finish);
}

}  // namespace OCTAVO_CUDA_TARGET
}  // namespace octavo::cuda
