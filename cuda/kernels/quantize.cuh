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
};

/// The scale of a row whose largest magnitude has the bits `largest`, as it is stored.
template <DType kType>
__device__ __forceinline__ float scale_of(std::uint32_t largest) {
  const float scale = __fdiv_rn(__uint_as_float(largest), kLargestCode<kType>);
  return largest >= 0x7F800000u ? nan_spec() : scale;
}

/// For the scale that scale_of gave: NaN makes a row of NaN (integer codes 0), 0 a row of +0.
__device__ __forceinline__ RowDivisor divisor_of(float scale) {
  const bool blank = !(scale > 0.0f);
  return {blank ? 1.0f : scale, scale, blank};
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

/// rint(y) within +-limit, 0 for a NaN, in the low byte of the result: two's complement. The clamp
/// comes first, so that the sum stays where its last place is 1.
__device__ __forceinline__ std::uint32_t integer_code(float y, float limit) {
  const float above = y > -limit ? y : -limit;
  const float inside = above < limit ? above : limit;
  const float number = y == y ? inside : 0.0f;
  return __float_as_uint(__fadd_rn(number, kRoundMagic));
}

/// The low bytes of four words, the first one lowest.
__device__ __forceinline__ std::uint32_t pack_bytes(std::uint32_t a,
                                                    std::uint32_t b,
                                                    std::uint32_t c,
                                                    std::uint32_t d) {
  return __byte_perm(__byte_perm(a, b, 0x0040), __byte_perm(c, d, 0x0040), 0x5410);
}

/// A unit as elements of F32, F16 or BF16, or as codes of x, divided already.
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
      codes |= ((integer_code(x[i], kLargestCode<kType>) + 8) & 15u) << (4 * i);
    }
    words[0] = codes;
  } else if constexpr (kType == DType::Int8) {
    for (int i = 0; i < 2; ++i) {
      words[i] = pack_bytes(integer_code(x[4 * i], kLargestCode<kType>),
                            integer_code(x[4 * i + 1], kLargestCode<kType>),
                            integer_code(x[4 * i + 2], kLargestCode<kType>),
                            integer_code(x[4 * i + 3], kLargestCode<kType>));
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
  float y[kUnitElements];
  for (int i = 0; i < kUnitElements; ++i) {
    y[i] = __fdiv_rn(by.blank ? by.element : x[i], by.divisor);
  }
  narrow_unit<kType>(y, words);
}

}  // namespace OCTAVO_CUDA_TARGET
}  // namespace octavo::cuda
