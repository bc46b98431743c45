// Dots and weighted sums over rows of floats (F32, F16, BF16, E4M3, E5M2) in AVX2.
//
// Dots: one token a lane. A unit's chain of multiply-adds runs down the lanes' eight elements, the
// tree over units is additions of whole vectors, so nothing is ever added across lanes.
// Weighted sums: one element a lane, stream by stream; a stream's rows are decoded once for all
// query rows.
#include <algorithm>
#include <array>
#include <bit>

#include "attend_avx2.h"
#include "simd.h"

#if OCTAVO_HAS_AVX2_TARGET

#include "avx2_lanes.h"

namespace octavo::ref_cpu {
namespace {

constexpr int kTreeDepth = 8;  // 128 units at most.

// Query rows that see some of the positions [t, t + 8): a hull, rows being in order of position.
struct RowSpan {
  int begin = 0;
  int end = 0;
};

RowSpan rows_that_see(const ChunkTask& task, int t) {
  RowSpan rows{0, task.num_rows};
  const auto sees = [&](int row) {
    const ChunkRange range = task.row_range[static_cast<std::size_t>(row)];
    return range.begin < t + 8 && range.end > t;
  };
  while (rows.begin < rows.end && !sees(rows.begin)) {
    ++rows.begin;
  }
  while (rows.begin < rows.end && !sees(rows.end - 1)) {
    --rows.end;
  }
  return rows;
}

template <DType kDType>
OCTAVO_AVX2 void float_dots(const ChunkTask& task, ChunkScratch& scratch) {
  const std::int64_t head_dim = task.arg->keys.head_dim;
  const auto units = static_cast<unsigned>(head_dim / 8);
  __m256 tree[kTileRows][kTreeDepth];
  for (int t = task.range.begin / 8 * 8; t < task.range.end; t += 8) {
    prefetch_ahead<32>(task, t);
    std::array<const std::uint8_t*, 8> keys;
    for (int i = 0; i < 8; ++i) {  // Lanes outside the hull repeat a row that is inside.
      const int at = std::clamp(t + i, task.range.begin, task.range.end - 1);
      keys[static_cast<std::size_t>(i)] = task.key_rows[static_cast<std::size_t>(at)];
    }
    const RowSpan rows = rows_that_see(task, t);
    for (unsigned unit = 0; unit < units; ++unit) {
      __m256 key[8];
      load_unit<kDType>(keys.data(), unit, key);
      const int depth = std::popcount(unit);
      const int carries = std::countr_one(unit);
      for (int row = rows.begin; row < rows.end; ++row) {
        const float* const query = scratch.queries + row * head_dim + unit * 8;
        __m256 sum = _mm256_mul_ps(_mm256_broadcast_ss(query), key[0]);
        for (int e = 1; e < 8; ++e) {
          sum = _mm256_fmadd_ps(_mm256_broadcast_ss(query + e), key[e], sum);
        }
        __m256* const stack = tree[row];
        for (int i = 1; i <= carries; ++i) {
          sum = _mm256_add_ps(stack[depth - i], sum);
        }
        stack[depth - carries] = sum;
      }
    }
    for (int row = rows.begin; row < rows.end; ++row) {
      int depth = std::popcount(units) - 1;
      __m256 sum = tree[row][depth];
      while (depth > 0) {
        --depth;
        sum = _mm256_add_ps(tree[row][depth], sum);
      }
      _mm256_store_ps(scratch.scores + row * kChunk + t, sum);
    }
  }
}

// The chains of one row over tokens [begin, end) of a stream, 8 * kVectors elements wide: values
// are `value_stride` apart, weights `weight_stride`.
template <std::size_t kVectors>
OCTAVO_AVX2_LANES void chain(const float* values,
                             std::int64_t value_stride,
                             const float* weights,
                             int weight_stride,
                             ChunkRange tokens,
                             float* sums) {
  __m256 sum[kVectors];
  for (std::size_t i = 0; i < kVectors; ++i) {
    sum[i] = _mm256_setzero_ps();
  }
  const float* value = values + tokens.begin * value_stride;
  const float* weight = weights + std::int64_t{tokens.begin} * weight_stride;
  for (int token = tokens.begin; token < tokens.end; ++token) {
    const __m256 w = _mm256_broadcast_ss(weight);
    for (std::size_t i = 0; i < kVectors; ++i) {
      sum[i] = _mm256_fmadd_ps(w, _mm256_loadu_ps(value + 8 * i), sum[i]);
    }
    value += value_stride;
    weight += weight_stride;
  }
  for (std::size_t i = 0; i < kVectors; ++i) {
    _mm256_storeu_ps(sums + 8 * i, sum[i]);
  }
}

OCTAVO_AVX2 void chain_row(const float* values,
                           std::int64_t head_dim,
                           const float* weights,
                           int weight_stride,
                           ChunkRange tokens,
                           float* sums) {
  std::int64_t d = 0;
  for (; d + 64 <= head_dim; d += 64) {
    chain<8>(values + d, head_dim, weights, weight_stride, tokens, sums + d);
  }
  if (d + 32 <= head_dim) {
    chain<4>(values + d, head_dim, weights, weight_stride, tokens, sums + d);
    d += 32;
  }
  for (; d < head_dim; d += 8) {
    chain<1>(values + d, head_dim, weights, weight_stride, tokens, sums + d);
  }
}

// The neighbours-first tree over the streams of one row, in place, into out.
OCTAVO_AVX2 void add_streams(float* sums, int streams, std::int64_t head_dim, float* out) {
  for (int n = streams; n > 1; n /= 2) {
    for (int r = 0; r < n / 2; ++r) {
      const float* const left = sums + 2 * r * head_dim;
      float* const sum = sums + r * head_dim;
      for (std::int64_t d = 0; d < head_dim; d += 8) {
        _mm256_storeu_ps(sum + d, _mm256_add_ps(_mm256_loadu_ps(left + d),
                                                _mm256_loadu_ps(left + head_dim + d)));
      }
    }
  }
  std::copy(sums, sums + head_dim, out);
}

template <DType kDType>
OCTAVO_AVX2 void float_sums(const ChunkTask& task, ChunkScratch& scratch) {
  const std::int64_t head_dim = task.arg->values.head_dim;
  const int streams = num_streams(head_dim);
  // The number of the stream's token that stands at or behind a position of the chunk.
  const auto token_at = [&](int position, int first) {
    return position <= first ? 0 : (position - first + streams - 1) / streams;
  };
  for (int stream = 0; stream < streams; ++stream) {
    const int begin = task.range.begin;
    const int first = begin + ((stream - begin) % streams + streams) % streams;
    float* value = scratch.decoded;
    for (int t = first; t < task.range.end; t += streams) {
      const std::uint8_t* const row = task.value_rows[static_cast<std::size_t>(t)];
      for (std::int64_t unit = 0; unit < head_dim / 8; ++unit) {
        _mm256_storeu_ps(value + 8 * unit, load_elements<kDType>(row, unit));
      }
      value += head_dim;
    }
    for (int row = 0; row < task.num_rows; ++row) {
      const ChunkRange range = task.row_range[static_cast<std::size_t>(row)];
      const ChunkRange tokens{token_at(range.begin, first),
                              range.empty() ? 0 : token_at(range.end, first)};
      chain_row(scratch.decoded, head_dim, scratch.scores + row * kChunk + first, streams, tokens,
                scratch.sums + row * 1024 + stream * head_dim);
    }
  }
  for (int row = 0; row < task.num_rows; ++row) {
    add_streams(scratch.sums + row * 1024, streams, head_dim, task.out + row * head_dim);
  }
}

}  // namespace

void avx2_float_dots(const ChunkTask& task, ChunkScratch& scratch) noexcept {
  switch (task.arg->keys.dtype) {
    case DType::F32:
      return float_dots<DType::F32>(task, scratch);
    case DType::F16:
      return float_dots<DType::F16>(task, scratch);
    case DType::E4M3:
      return float_dots<DType::E4M3>(task, scratch);
    case DType::E5M2:
      return float_dots<DType::E5M2>(task, scratch);
    default:
      return float_dots<DType::BF16>(task, scratch);
  }
}

void avx2_float_sums(const ChunkTask& task, ChunkScratch& scratch) noexcept {
  switch (task.arg->values.dtype) {
    case DType::F32:
      return float_sums<DType::F32>(task, scratch);
    case DType::F16:
      return float_sums<DType::F16>(task, scratch);
    case DType::E4M3:
      return float_sums<DType::E4M3>(task, scratch);
    case DType::E5M2:
      return float_sums<DType::E5M2>(task, scratch);
    default:
      return float_sums<DType::BF16>(task, scratch);
  }
}

}  // namespace octavo::ref_cpu

#endif
