// A chunk in AVX2: queries, dots, softmax, weighted sums. Bits as attend_chunk_spec.
#include "attend_avx2.h"

#include "simd.h"

#if OCTAVO_HAS_AVX2_TARGET

#include <algorithm>
#include <array>

#include "avx2_lanes.h"
#include "exact_math.h"
#include "rows.h"

namespace octavo::ref_cpu {
namespace {

// [begin, end) widened to whole warps of 32 positions.
ChunkRange whole_warps(ChunkRange range) {
  return {range.begin / 32 * 32, (range.end + 31) / 32 * 32};
}

// Dots become logits in powers of two; positions that the row does not see become -inf.
OCTAVO_AVX2 void finish_scores(const ChunkTask& task, ChunkRange range, float factor, float* s) {
  const AttendArg& arg = *task.arg;
  const bool scaled = arg.keys.scales != nullptr;
  const __m256 factors = _mm256_set1_ps(factor);
  const ChunkRange warps = whole_warps(range);
  for (int t = warps.begin; t < warps.end; t += 8) {
    __m256 x = _mm256_load_ps(s + t);
    if (scaled) {
      x = _mm256_mul_ps(x, _mm256_load_ps(task.key_scales.data() + t));
    }
    _mm256_store_ps(s + t, _mm256_mul_ps(x, factors));
  }
  if (arg.cap_factor > 0.0f) {
    for (int t = warps.begin; t < warps.end; ++t) {
      s[t] = tanh_spec(s[t]) * arg.cap_factor;
    }
  }
  const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  for (int t = warps.begin; t < warps.end; t += 8) {
    const __m256i position = _mm256_add_epi32(lanes, _mm256_set1_epi32(t));
    const __m256i seen =
        _mm256_and_si256(_mm256_cmpgt_epi32(position, _mm256_set1_epi32(range.begin - 1)),
                         _mm256_cmpgt_epi32(_mm256_set1_epi32(range.end), position));
    const __m256 x = _mm256_add_ps(_mm256_load_ps(s + t), _mm256_setzero_ps());
    _mm256_store_ps(s + t,
                    _mm256_blendv_ps(_mm256_set1_ps(kMinusInfinity), x, _mm256_castsi256_ps(seen)));
  }
}

OCTAVO_AVX2 float largest(const float* s, ChunkRange warps) {
  __m256 m = _mm256_set1_ps(kMinusInfinity);
  for (int t = warps.begin; t < warps.end; t += 8) {
    m = _mm256_max_ps(_mm256_load_ps(s + t), m);  // The second operand where one is a NaN.
  }
  alignas(32) std::array<float, 8> lanes;
  _mm256_store_ps(lanes.data(), m);
  return *std::max_element(lanes.begin(), lanes.end());
}

// Weights in place of logits, 0 for what is not seen; returns l.
OCTAVO_AVX2 float exponentials(float* s, ChunkRange range, float m) {
  const ChunkRange warps = whole_warps(range);
  alignas(32) std::array<float, 32> sums = {};
  for (int t = warps.begin; t < warps.end; t += 32) {
    for (int j = 0; j < 32; ++j) {
      s[t + j] = exp2_spec(s[t + j] - m);
    }
    if (t < range.begin || t + 32 > range.end) {  // Only where m is not finite do they differ.
      std::fill(s + t, s + std::max(t, range.begin), 0.0f);
      std::fill(s + std::min(t + 32, range.end), s + t + 32, 0.0f);
    }
    for (int j = 0; j < 32; ++j) {
      sums[static_cast<std::size_t>(j)] += s[t + j];
    }
  }
  for (std::size_t n = 16; n > 0; n /= 2) {
    for (std::size_t j = 0; j < n; ++j) {
      sums[j] = sums[2 * j] + sums[2 * j + 1];
    }
  }
  return sums[0];
}

OCTAVO_AVX2 void softmax_row(const ChunkTask& task, int row, float factor, float* s) {
  const ChunkRange range = task.row_range[static_cast<std::size_t>(row)];
  float* const max_sum = task.max_sum + 2 * row;
  if (range.empty()) {
    max_sum[0] = kMinusInfinity;
    max_sum[1] = 0.0f;
    return;
  }
  finish_scores(task, range, factor, s);
  max_sum[0] = largest(s, whole_warps(range));
  max_sum[1] = exponentials(s, range, max_sum[0]);
  if (task.arg->values.scales != nullptr) {
    for (int t = range.begin; t < range.end; ++t) {
      s[t] = s[t] * task.value_scales[static_cast<std::size_t>(t)];
    }
  }
}

// The query rows as floats, [num_rows, head_dim].
OCTAVO_AVX2 void load_queries(const ChunkTask& task, float* queries) {
  const AttendArg& arg = *task.arg;
  for (int row = 0; row < task.num_rows; ++row) {
    const auto at = static_cast<std::size_t>(row);
    decode_row_lanes(
        arg.query.dtype, arg.query.data,
        task.row_token[at] * arg.query.token_stride + task.row_head[at] * arg.query.head_stride,
        arg.keys.head_dim, queries + row * arg.keys.head_dim);
  }
}

}  // namespace

OCTAVO_AVX2 void attend_chunk_avx2(const ChunkTask& task, ChunkScratch& scratch) noexcept {
  const AttendArg& arg = *task.arg;
  load_queries(task, scratch.queries);
  std::array<float, kTileRows> factors;
  factors.fill(arg.score_factor);
  if (is_integer(arg.keys.codec)) {
    avx2_integer_dots(task, scratch, factors.data());
  } else {
    avx2_float_dots(task, scratch);
  }
  for (int row = 0; row < task.num_rows; ++row) {
    softmax_row(task, row, factors[static_cast<std::size_t>(row)], scratch.scores + row * kChunk);
  }
  if (is_integer(arg.values.codec)) {
    avx2_integer_sums(task, scratch);
  } else {
    avx2_float_sums(task, scratch);
  }
}

}  // namespace octavo::ref_cpu

#endif
