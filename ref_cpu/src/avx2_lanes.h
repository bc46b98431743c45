// Pieces of the AVX2 kernels: how eight rows of a cache become vectors with one row a lane.
//
// Only for functions that are compiled for AVX2 (OCTAVO_AVX2) and run where simd_enabled().
#pragma once

#include "simd.h"

#if OCTAVO_HAS_AVX2_TARGET

#include <cstdint>

#include "attend_chunk.h"
#include "float_bits.h"
#include "octavo/dtype.h"
#include <immintrin.h>

#define OCTAVO_AVX2_LANES OCTAVO_AVX2 inline __attribute__((always_inline))

namespace octavo::ref_cpu {

/// The rows of eight tokens.
using RowPointers = const std::uint8_t* const*;

/// Words j = 0 .. 3 of 16 bytes of each row: words[j] has lane i = word j of row i.
OCTAVO_AVX2_LANES void load_words(RowPointers rows, std::int64_t offset, __m256i (&words)[4]) {
  __m256i x[4];
  for (int i = 0; i < 4; ++i) {
    const auto* low = reinterpret_cast<const __m128i*>(rows[i] + offset);
    const auto* high = reinterpret_cast<const __m128i*>(rows[i + 4] + offset);
    x[i] = _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128(low)),
                                   _mm_loadu_si128(high), 1);
  }
  const __m256i a = _mm256_unpacklo_epi32(x[0], x[1]);
  const __m256i b = _mm256_unpackhi_epi32(x[0], x[1]);
  const __m256i c = _mm256_unpacklo_epi32(x[2], x[3]);
  const __m256i d = _mm256_unpackhi_epi32(x[2], x[3]);
  words[0] = _mm256_unpacklo_epi64(a, c);
  words[1] = _mm256_unpackhi_epi64(a, c);
  words[2] = _mm256_unpacklo_epi64(b, d);
  words[3] = _mm256_unpackhi_epi64(b, d);
}

/// The same of 8 bytes of each row.
OCTAVO_AVX2_LANES void load_half_words(RowPointers rows, std::int64_t offset, __m256i (&words)[2]) {
  __m256i x[4];
  for (int i = 0; i < 4; ++i) {
    const auto* low = reinterpret_cast<const __m128i*>(rows[i] + offset);
    const auto* high = reinterpret_cast<const __m128i*>(rows[i + 4] + offset);
    x[i] = _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadl_epi64(low)),
                                   _mm_loadl_epi64(high), 1);
  }
  const __m256i a = _mm256_unpacklo_epi32(x[0], x[1]);
  const __m256i c = _mm256_unpacklo_epi32(x[2], x[3]);
  words[0] = _mm256_unpacklo_epi64(a, c);
  words[1] = _mm256_unpackhi_epi64(a, c);
}

/// float_bits.h's widen, eight at once: codes of a format with kMantissa explicit bits, bias kBias
/// and its sign at bit kSign; above them anything may stand. No infinity: kInf == kNan.
template <int kMantissa, int kBias, std::uint32_t kInf, std::uint32_t kNan, int kSign>
OCTAVO_AVX2_LANES __m256 widen8(__m256i codes) {
  const __m256i magnitude = _mm256_and_si256(codes, _mm256_set1_epi32((1 << kSign) - 1));
  const __m256i sign = _mm256_and_si256(_mm256_slli_epi32(codes, 31 - kSign),
                                        _mm256_set1_epi32(static_cast<int>(0x80000000u)));
  const __m256i normal = _mm256_add_epi32(_mm256_slli_epi32(magnitude, 23 - kMantissa),
                                          _mm256_set1_epi32((127 - kBias) << 23));
  const __m256 unit = _mm256_castsi256_ps(_mm256_set1_epi32((128 - kBias - kMantissa) << 23));
  const __m256i subnormal = _mm256_castps_si256(_mm256_mul_ps(_mm256_cvtepi32_ps(magnitude), unit));
  const __m256i is_normal = _mm256_cmpgt_epi32(magnitude, _mm256_set1_epi32((1 << kMantissa) - 1));
  __m256i number = _mm256_blendv_epi8(subnormal, normal, is_normal);
  if constexpr (kInf != kNan) {
    const __m256i is_inf =
        _mm256_cmpgt_epi32(magnitude, _mm256_set1_epi32(static_cast<int>(kInf) - 1));
    number = _mm256_blendv_epi8(number, _mm256_set1_epi32(0x7F800000), is_inf);
  }
  const __m256i is_nan =
      _mm256_cmpgt_epi32(magnitude, _mm256_set1_epi32(static_cast<int>(kNan) - 1));
  return _mm256_castsi256_ps(_mm256_blendv_epi8(
      _mm256_or_si256(number, sign), _mm256_set1_epi32(static_cast<int>(kNanBits)), is_nan));
}

OCTAVO_AVX2_LANES __m256 f16_lanes(__m256i codes) {
  return widen8<10, 15, 0x7C00, 0x7C01, 15>(codes);
}
OCTAVO_AVX2_LANES __m256 e4m3_lanes(__m256i codes) {
  return widen8<3, 7, 0x7F, 0x7F, 7>(codes);
}
OCTAVO_AVX2_LANES __m256 e5m2_lanes(__m256i codes) {
  return widen8<2, 15, 0x7C, 0x7D, 7>(codes);
}

OCTAVO_AVX2_LANES void prefetch_row(const std::uint8_t* row, std::int64_t size_bytes) {
  for (std::int64_t offset = 0; offset < size_bytes; offset += 64) {
    _mm_prefetch(reinterpret_cast<const char*>(row + offset), _MM_HINT_T1);
  }
}

/// A single query row reads everything once, from memory: while the dots of [t, t + 8) are
/// computed, the keys kAhead positions on and the values of the same positions are asked for.
template <int kAhead>
OCTAVO_AVX2_LANES void prefetch_ahead(const ChunkTask& task, int t) {
  const KVRowsArg& keys = task.arg->keys;
  const KVRowsArg& values = task.arg->values;
  for (int i = t < task.range.begin ? task.range.begin : t; i < t + 8; ++i) {
    if (i < task.range.end) {
      prefetch_row(task.value_rows[static_cast<std::size_t>(i)], values.row_stride_bytes);
    }
    if (i + kAhead < task.range.end) {
      prefetch_row(task.key_rows[static_cast<std::size_t>(i + kAhead)], keys.row_stride_bytes);
    }
  }
}

/// Elements 8 unit .. 8 unit + 7 of eight rows: values[e] has lane i = element e of row i.
template <DType kDType>
OCTAVO_AVX2_LANES void load_unit(RowPointers rows, std::int64_t unit, __m256 (&values)[8]) {
  if constexpr (kDType == DType::F32) {
    __m256i words[4];
    load_words(rows, unit * 32, words);
    for (int j = 0; j < 4; ++j) {
      values[j] = _mm256_castsi256_ps(words[j]);
    }
    load_words(rows, unit * 32 + 16, words);
    for (int j = 0; j < 4; ++j) {
      values[4 + j] = _mm256_castsi256_ps(words[j]);
    }
  } else if constexpr (kDType == DType::BF16) {
    const __m256i high = _mm256_set1_epi32(static_cast<int>(0xFFFF0000u));
    __m256i words[4];
    load_words(rows, unit * 16, words);
    for (int j = 0; j < 4; ++j) {
      values[2 * j] = _mm256_castsi256_ps(_mm256_slli_epi32(words[j], 16));
      values[2 * j + 1] = _mm256_castsi256_ps(_mm256_and_si256(words[j], high));
    }
  } else if constexpr (kDType == DType::F16) {
    __m256i words[4];
    load_words(rows, unit * 16, words);
    for (int j = 0; j < 4; ++j) {
      values[2 * j] = f16_lanes(words[j]);
      values[2 * j + 1] = f16_lanes(_mm256_srli_epi32(words[j], 16));
    }
  } else {
    static_assert(kDType == DType::E4M3 || kDType == DType::E5M2);
    __m256i words[2];
    load_half_words(rows, unit * 8, words);
    for (int j = 0; j < 2; ++j) {
      for (int k = 0; k < 4; ++k) {
        const __m256i codes = _mm256_srli_epi32(words[j], 8 * k);
        values[4 * j + k] = kDType == DType::E4M3 ? e4m3_lanes(codes) : e5m2_lanes(codes);
      }
    }
  }
}

/// Elements 8 unit .. 8 unit + 7 of one row, element e in lane e.
template <DType kDType>
OCTAVO_AVX2_LANES __m256 load_elements(const std::uint8_t* row, std::int64_t unit) {
  if constexpr (kDType == DType::F32) {
    return _mm256_loadu_ps(reinterpret_cast<const float*>(row) + unit * 8);
  } else if constexpr (kDType == DType::BF16 || kDType == DType::F16) {
    const auto* codes = reinterpret_cast<const __m128i*>(row + unit * 16);
    const __m256i wide = _mm256_cvtepu16_epi32(_mm_loadu_si128(codes));
    return kDType == DType::BF16 ? _mm256_castsi256_ps(_mm256_slli_epi32(wide, 16))
                                 : f16_lanes(wide);
  } else {
    const auto* codes = reinterpret_cast<const __m128i*>(row + unit * 8);
    const __m256i wide = _mm256_cvtepu8_epi32(_mm_loadl_epi64(codes));
    return kDType == DType::E4M3 ? e4m3_lanes(wide) : e5m2_lanes(wide);
  }
}

}  // namespace octavo::ref_cpu

#endif
