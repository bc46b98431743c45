// Dots and weighted sums over integer rows (S2) in AVX2. Integer sums are exact, so their order is
// free: products of 16-bit integers are added in pairs, across elements for dots and across two
// tokens for weighted sums.
#include <algorithm>
#include <array>
#include <cstring>

#include "attend_avx2.h"
#include "simd.h"

#if OCTAVO_HAS_AVX2_TARGET

#include "attend_int.h"
#include "avx2_lanes.h"

namespace octavo::ref_cpu {
namespace {

// Elements 16 piece .. of a row as 16-bit integers; `count` (8 or 16) of them, the rest 0.
template <DType kDType>
OCTAVO_AVX2_LANES __m256i load_integers(const std::uint8_t* row, std::int64_t piece, bool whole) {
  if constexpr (kDType == DType::Int8) {
    const auto* codes = reinterpret_cast<const __m128i*>(row + piece * 16);
    return _mm256_cvtepi8_epi16(whole ? _mm_loadu_si128(codes) : _mm_loadl_epi64(codes));
  } else {
    auto nibbles =
        static_cast<std::int64_t>(0x8888888888888888u);  // Zeros, being stored as code + 8.
    std::memcpy(&nibbles, row + piece * 8, whole ? 8 : 4);
    const __m256i bytes = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128(nibbles));
    const __m256i low = _mm256_and_si256(bytes, _mm256_set1_epi32(15));
    const __m256i high = _mm256_slli_epi32(_mm256_srli_epi32(bytes, 4), 16);
    return _mm256_sub_epi16(_mm256_or_si256(low, high), _mm256_set1_epi16(8));
  }
}

std::int64_t padded(std::int64_t head_dim) {
  return (head_dim + 15) / 16 * 16;
}

// Lane i of the result is the sum of the lanes of x[i].
OCTAVO_AVX2_LANES __m256i add_lanes(const __m256i (&x)[8]) {
  const __m256i a = _mm256_hadd_epi32(_mm256_hadd_epi32(x[0], x[1]), _mm256_hadd_epi32(x[2], x[3]));
  const __m256i b = _mm256_hadd_epi32(_mm256_hadd_epi32(x[4], x[5]), _mm256_hadd_epi32(x[6], x[7]));
  return _mm256_add_epi32(_mm256_permute2x128_si256(a, b, 0x20),
                          _mm256_permute2x128_si256(a, b, 0x31));
}

template <DType kDType>
OCTAVO_AVX2 void integer_dots(const ChunkTask& task, ChunkScratch& scratch) {
  const std::int64_t head_dim = task.arg->keys.head_dim;
  const std::int64_t stride = padded(head_dim);
  auto* const keys = reinterpret_cast<std::int16_t*>(scratch.decoded);  // [8, stride]
  for (int t = task.range.begin / 8 * 8; t < task.range.end; t += 8) {
    prefetch_ahead<32>(task, t);
    for (int i = 0; i < 8; ++i) {
      const int at = std::clamp(t + i, task.range.begin, task.range.end - 1);
      const std::uint8_t* const row = task.key_rows[static_cast<std::size_t>(at)];
      for (std::int64_t piece = 0; piece < stride / 16; ++piece) {
        const __m256i x = load_integers<kDType>(row, piece, piece * 16 + 16 <= head_dim);
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(keys + i * stride + piece * 16), x);
      }
    }
    for (int row = 0; row < task.num_rows; ++row) {
      const std::int16_t* const query = scratch.int_queries + row * stride;
      __m256i sums[8];
      for (__m256i& sum : sums) {
        sum = _mm256_setzero_si256();
      }
      for (std::int64_t d = 0; d < stride; d += 16) {
        const __m256i q = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(query + d));
        for (int i = 0; i < 8; ++i) {
          const auto* key = reinterpret_cast<const __m256i*>(keys + i * stride + d);
          sums[i] = _mm256_add_epi32(sums[i], _mm256_madd_epi16(q, _mm256_loadu_si256(key)));
        }
      }
      _mm256_store_ps(scratch.scores + row * kChunk + t, _mm256_cvtepi32_ps(add_lanes(sums)));
    }
  }
}

// Two tokens' elements side by side: pairs[2 d] of the first, pairs[2 d + 1] of the second, which
// may be missing (null): zeros.
template <DType kDType>
OCTAVO_AVX2_LANES void interleave(const std::uint8_t* first,
                                  const std::uint8_t* second,
                                  std::int64_t head_dim,
                                  std::int16_t* pairs) {
  for (std::int64_t piece = 0; piece * 16 < head_dim; ++piece) {
    const bool whole = piece * 16 + 16 <= head_dim;
    const __m256i a = load_integers<kDType>(first, piece, whole);
    const __m256i b =
        second == nullptr ? _mm256_setzero_si256() : load_integers<kDType>(second, piece, whole);
    const __m256i low = _mm256_unpacklo_epi16(a, b);   // Elements 0..3 and 8..11.
    const __m256i high = _mm256_unpackhi_epi16(a, b);  // Elements 4..7 and 12..15.
    auto* const out = reinterpret_cast<__m256i*>(pairs + piece * 32);
    _mm256_storeu_si256(out, _mm256_permute2x128_si256(low, high, 0x20));
    _mm256_storeu_si256(out + 1, _mm256_permute2x128_si256(low, high, 0x31));
  }
}

// sums[d] += w[2 p] * v[2 p][d] + w[2 p + 1] * v[2 p + 1][d] over `count` pairs of tokens, for
// 8 * kVectors elements; `weights` are 16-bit.
template <std::size_t kVectors>
OCTAVO_AVX2_LANES void add_pairs(const std::int16_t* pairs,
                                 std::int64_t stride,
                                 const std::int16_t* weights,
                                 int count,
                                 std::int32_t* sums) {
  __m256i sum[kVectors];
  for (std::size_t i = 0; i < kVectors; ++i) {
    sum[i] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(sums + 8 * i));
  }
  for (int p = 0; p < count; ++p) {
    std::int32_t both = 0;
    std::memcpy(&both, weights + 2 * p, sizeof both);
    const __m256i w = _mm256_set1_epi32(both);
    const auto* const value = reinterpret_cast<const __m256i*>(pairs + p * stride);
    for (std::size_t i = 0; i < kVectors; ++i) {
      sum[i] = _mm256_add_epi32(sum[i], _mm256_madd_epi16(w, _mm256_loadu_si256(value + i)));
    }
  }
  for (std::size_t i = 0; i < kVectors; ++i) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(sums + 8 * i), sum[i]);
  }
}

OCTAVO_AVX2 void add_pairs_row(const std::int16_t* pairs,
                               std::int64_t head_dim,
                               const std::int16_t* weights,
                               int count,
                               std::int32_t* sums) {
  const std::int64_t stride = 2 * padded(head_dim);
  std::int64_t d = 0;
  for (; d + 64 <= head_dim; d += 64) {
    add_pairs<8>(pairs + 2 * d, stride, weights, count, sums + d);
  }
  for (; d < head_dim; d += 8) {
    add_pairs<1>(pairs + 2 * d, stride, weights, count, sums + d);
  }
}

// A weight of 2^15 does not fit 16 bits: it counts as 2^15 - 1 above, the rest is added here.
void add_excess(const ChunkTask& task, int t, std::int32_t* sums, bool is_int8) {
  const std::uint8_t* const row = task.value_rows[static_cast<std::size_t>(t)];
  for (std::int64_t d = 0; d < task.arg->values.head_dim; ++d) {
    const int nibble = row[d / 2] >> (d % 2 * 4) & 15;
    sums[d] += is_int8 ? static_cast<std::int8_t>(row[d]) : nibble - 8;
  }
}

// The 16-bit weights of a row over the hull (0 outside its own range), and its factor.
OCTAVO_AVX2 float load_weights(const ChunkTask& task,
                               int row,
                               ChunkScratch& scratch,
                               std::int16_t* weights,
                               std::int32_t* sums) {
  const ChunkRange range = task.row_range[static_cast<std::size_t>(row)];
  std::fill(weights, weights + kChunk + 1, std::int16_t{0});
  if (range.empty()) {
    return 0.0f;
  }
  std::int32_t* const integers = scratch.int_weights;
  const FixedPoint scale = to_fixed_point<kWeightBits>(scratch.scores + row * kChunk + range.begin,
                                                       range.end - range.begin, integers);
  const bool is_int8 = task.arg->values.codec == KVCodec::Int8;
  for (int t = range.begin; t < range.end; ++t) {
    const std::int32_t integer = integers[t - range.begin];
    weights[t] = static_cast<std::int16_t>(std::min(integer, 32767));
    if (integer > 32767) {
      add_excess(task, t, sums, is_int8);
    }
  }
  return scale.from_integer;
}

template <DType kDType>
OCTAVO_AVX2 void integer_sums(const ChunkTask& task, ChunkScratch& scratch) {
  constexpr int kTokens = 32;  // Decoded at a time.
  const std::int64_t head_dim = task.arg->values.head_dim;
  auto* const pairs = reinterpret_cast<std::int16_t*>(scratch.decoded);
  auto* const sums = reinterpret_cast<std::int32_t*>(scratch.sums);
  alignas(32) std::array<std::array<std::int16_t, kChunk + 16>, kTileRows> weights;
  std::array<float, kTileRows> factors;
  std::fill(sums, sums + task.num_rows * 1024, 0);
  for (int row = 0; row < task.num_rows; ++row) {
    const auto at = static_cast<std::size_t>(row);
    factors[at] = load_weights(task, row, scratch, weights[at].data(), sums + row * 1024);
  }
  for (int t = task.range.begin; t < task.range.end; t += kTokens) {
    const int end = std::min(t + kTokens, task.range.end);
    for (int i = t; i < end; i += 2) {
      const auto at = static_cast<std::size_t>(i);
      interleave<kDType>(task.value_rows[at], i + 1 < end ? task.value_rows[at + 1] : nullptr,
                         head_dim, pairs + (i - t) * padded(head_dim));
    }
    for (int row = 0; row < task.num_rows; ++row) {
      add_pairs_row(pairs, head_dim, weights[static_cast<std::size_t>(row)].data() + t,
                    (end - t + 1) / 2, sums + row * 1024);
    }
  }
  for (int row = 0; row < task.num_rows; ++row) {
    float* const out = task.out + row * head_dim;
    for (std::int64_t d = 0; d < head_dim; ++d) {
      out[d] = static_cast<float>(sums[row * 1024 + d]) * factors[static_cast<std::size_t>(row)];
    }
  }
}

}  // namespace

OCTAVO_AVX2 void avx2_integer_dots(const ChunkTask& task,
                                   ChunkScratch& scratch,
                                   float* factors) noexcept {
  const std::int64_t head_dim = task.arg->keys.head_dim;
  const std::int64_t stride = padded(head_dim);
  for (int row = 0; row < task.num_rows; ++row) {
    std::int16_t* const query = scratch.int_queries + row * stride;
    const FixedPoint scale =
        to_fixed_point<kQueryBits>(scratch.queries + row * head_dim, head_dim, query);
    std::fill(query + head_dim, query + stride, std::int16_t{0});
    factors[row] *= scale.from_integer;
  }
  if (task.arg->keys.codec == KVCodec::Int8) {
    integer_dots<DType::Int8>(task, scratch);
  } else {
    integer_dots<DType::Int4>(task, scratch);
  }
}

void avx2_integer_sums(const ChunkTask& task, ChunkScratch& scratch) noexcept {
  if (task.arg->values.codec == KVCodec::Int8) {
    integer_sums<DType::Int8>(task, scratch);
  } else {
    integer_sums<DType::Int4>(task, scratch);
  }
}

}  // namespace octavo::ref_cpu

#endif
