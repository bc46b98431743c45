// Units of rows: eight elements of a step's key or value as floats, and as the elements or codes
// that a cache row keeps, by the rules of ref_cpu/NUMERICS.md sections 2 and 3.
//
// A unit belongs to one thread. Its elements lie in 32-bit words as they lie in memory.
#pragma once

#include "convert.cuh"
#include "octavo/dtype.h"
#include "platform.cuh"

namespace octavo::cuda {
inline namespace OCTAVO_CUDA_TARGET {

constexpr int kUnitElements = 8;  ///< Divides every head dimension.

template <DType kType>
constexpr bool kIsQuantized =
    kType == DType::E4M3 || kType == DType::E5M2 || kType == DType::Int8 || kType == DType::Int4;

/// 32-bit words of a unit.
template <DType kType>
constexpr std::uint32_t kUnitWords = kType == DType::F32                           ? 8
                                     : kType == DType::F16 || kType == DType::BF16 ? 4
                                     : kType == DType::Int4                        ? 1
                                                                                   : 2;

/// Bytes that are stored as one, however a row is aligned.
template <DType kType>
constexpr std::uint32_t kElementBytes = kType == DType::F32                           ? 4
                                        : kType == DType::F16 || kType == DType::BF16 ? 2
                                                                                      : 1;

/// The code of a row's largest magnitude.
template <DType kType>
constexpr float kLargestCode = kType == DType::E4M3   ? 448.0f
                               : kType == DType::E5M2 ? 57344.0f
                               : kType == DType::Int8 ? 127.0f
                                                      : 7.0f;

/// What a row is divided by. `blank`: its codes say nothing of its elements, which all count as
/// `element` then, and the divisor is 1.
struct RowDivisor {
  float divisor = 1.0f;
  float element = 0.0f;
  bool blank = false;
  float inverse = 0.0f;  ///< 1 / divisor, where quotient_of_row holds; else 0.
  float inverse_rest = 0.0f;
};

/// The scale of a row whose largest magnitude has the bits `largest`, as it is stored.
template <DType kType>
__device__ __forceinline__ float scale_of(std::uint32_t largest) {
  const float scale = __fdiv_rn(__uint_as_float(largest), kLargestCode<kType>);
  return largest >= 0x7F800000u ? nan_spec() : scale;
}

/// For the scale that scale_of gave: NaN makes a row of NaN (integer codes 0), 0 a row of +0.
__device__ __forceinline__ RowDivisor divisor_of(float scale) {
  constexpr float kMin = 0x1p-60f;
  constexpr float kMax = 0x1p+60f;
  if (scale >= kMin && scale <= kMax) {
    const float inverse = __fdiv_rn(1.0f, scale);
    const float rest = __fmul_rn(__fmaf_rn(negated(inverse), scale, 1.0f), inverse);
    return {scale, scale, false, inverse, rest};
  }
  const bool blank = !(scale > 0.0f);
  return {blank ? 1.0f : scale, scale, blank, 0.0f, 0.0f};
}

/// x / divisor to nearest, for an element of the row that the divisor was made from, without a
/// division: the inverse in two parts gives a neighbour of the quotient, and one step more gives
/// the quotient (Markstein's theorem: what is left of x is exact, the inverse is rounded to
/// nearest). What is left of an x below 2^-102 underflows; that x is so far below the divisor that
/// every code of it is 0. A zero may have any sign.
__device__ __forceinline__ float quotient_of_row(float x, const RowDivisor& by) {
  const float near = __fmaf_rn(x, by.inverse, __fmul_rn(x, by.inverse_rest));
  const float left = __fmaf_rn(negated(near), by.divisor, x);
  return __fmaf_rn(left, by.inverse, near);
}

/// The magnitude of `x` with the sign of `sign`.
__device__ __forceinline__ float with_sign_of(float x, float sign) {
  return __uint_as_float((__float_as_uint(x) & 0x7FFFFFFFu) |
                         (__float_as_uint(sign) & 0x80000000u));
}

/// The elements of a unit, exactly.
template <DType kType>
__device__ __forceinline__ void widen_unit(const std::uint32_t (&words)[kUnitWords<kType>],
                                           float (&x)[kUnitElements]) {
  for (int i = 0; i < kUnitElements; ++i) {
    if constexpr (kType == DType::F32) {
      x[i] = __uint_as_float(words[i]);
    } else if constexpr (kType == DType::F16) {
      x[i] = f16_to_f32(words[i / 2] >> (i % 2 * 16) & 0xFFFFu);
    } else {
      x[i] = bf16_to_f32(words[i / 2] >> (i % 2 * 16) & 0xFFFFu);
    }
  }
}

/// The largest magnitude as bits: magnitudes order like integers, what is not finite on top.
__device__ __forceinline__ std::uint32_t largest_bits(const float (&x)[kUnitElements]) {
  std::uint32_t largest = 0;
  for (int i = 0; i < kUnitElements; ++i) {
    largest = max(largest, __float_as_uint(x[i]) & 0x7FFFFFFFu);
  }
  return largest;
}

/// y within +-limit, 0 for a NaN.
__device__ __forceinline__ float limited(float y, float limit) {
  const float above = y > -limit ? y : -limit;
  const float inside = above < limit ? above : limit;
  return y == y ? inside : 0.0f;
}

/// rint(y) in the low byte of the result: two's complement. y is small enough that the last place
/// of the sum is 1.
__device__ __forceinline__ std::uint32_t integer_code(float y) {
  return __float_as_uint(__fadd_rn(y, kRoundMagic));
}

/// The low bytes of four words, the first one lowest.
__device__ __forceinline__ std::uint32_t pack_bytes(std::uint32_t a,
                                                    std::uint32_t b,
                                                    std::uint32_t c,
                                                    std::uint32_t d) {
  return __byte_perm(__byte_perm(a, b, 0x0040), __byte_perm(c, d, 0x0040), 0x5410);
}

/// A unit as elements of F32, F16 or BF16, or as codes of x, divided already and for integers
/// within what they hold.
template <DType kType>
__device__ __forceinline__ void narrow_unit(const float (&x)[kUnitElements],
                                            std::uint32_t (&words)[kUnitWords<kType>]) {
  if constexpr (kType == DType::F32) {
    for (int i = 0; i < 8; ++i) {
      words[i] = __float_as_uint(x[i]);
    }
  } else if constexpr (kType == DType::F16 || kType == DType::BF16) {
    for (int i = 0; i < 4; ++i) {
      words[i] = kType == DType::F16 ? f32_to_f16x2(x[2 * i], x[2 * i + 1])
                                     : f32_to_bf16x2(x[2 * i], x[2 * i + 1]);
    }
  } else if constexpr (kType == DType::Int4) {
    std::uint32_t codes = 0;
    for (int i = 0; i < 8; ++i) {
      codes |= ((integer_code(x[i]) + 8) & 15u) << (4 * i);
    }
    words[0] = codes;
  } else if constexpr (kType == DType::Int8) {
    for (int i = 0; i < 2; ++i) {
      words[i] = pack_bytes(integer_code(x[4 * i]), integer_code(x[4 * i + 1]),
                            integer_code(x[4 * i + 2]), integer_code(x[4 * i + 3]));
    }
  } else {
    for (int i = 0; i < 2; ++i) {
      const float* const y = x + 4 * i;
      words[i] = kType == DType::E4M3 ? f32_to_e4m3x2(y[0], y[1]) | f32_to_e4m3x2(y[2], y[3]) << 16
                                      : f32_to_e5m2x2(y[0], y[1]) | f32_to_e5m2x2(y[2], y[3]) << 16;
    }
  }
}

/// The codes of a unit of a row.
template <DType kType>
__device__ __forceinline__ void quantize_unit(const float (&x)[kUnitElements],
                                              const RowDivisor& by,
                                              std::uint32_t (&words)[kUnitWords<kType>]) {
  constexpr bool kIsInteger = kType == DType::Int8 || kType == DType::Int4;
  float y[kUnitElements];
  if (by.inverse != 0.0f) {
    for (int i = 0; i < kUnitElements; ++i) {
      y[i] = quotient_of_row(x[i], by);
      if constexpr (!kIsInteger) {
        y[i] = with_sign_of(y[i], x[i]);
      }
    }
  } else {
    for (int i = 0; i < kUnitElements; ++i) {
      y[i] = __fdiv_rn(by.blank ? by.element : x[i], by.divisor);
      if constexpr (kIsInteger) {
        y[i] = limited(y[i], kLargestCode<kType>);
      }
    }
  }
  narrow_unit<kType>(y, words);
}

}  // namespace OCTAVO_CUDA_TARGET
}  // namespace octavo::cuda
