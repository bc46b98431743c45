// Conversions between binary32 and the storage formats, to the bit as ref_cpu/NUMERICS.md section 2
// has them: nearest even, subnormals kept, fp8 saturated, every NaN 0x7FFF or 0x7F.
//
// One portable form of integer operations, and the machine's own instruction where the GPU has one
// that gives the same bits.
#pragma once

#include "exact_math.cuh"
#include "octavo/dtype.h"
#include "platform.cuh"

namespace octavo::cuda {
inline namespace OCTAVO_CUDA_TARGET {

/// Whether the instructions that convert fp8 exist (compute capability 8.9).
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
#define OCTAVO_HAS_FP8_INSTRUCTIONS 1
#else
#define OCTAVO_HAS_FP8_INSTRUCTIONS 0
#endif

/// x rounded to a format of kMantissa explicit bits and exponent bias kBias; kMax is the largest
/// code (beyond it: that), kNan the code of a NaN, kSignShift where the sign goes.
template <int kMantissa, int kBias, std::uint32_t kMax, std::uint32_t kNan, int kSignShift>
__device__ __forceinline__ std::uint32_t narrow_spec(float x) {
  constexpr int kShift = 23 - kMantissa;
  constexpr std::uint32_t kRebias = static_cast<std::uint32_t>(127 - kBias) << kMantissa;
  constexpr std::uint32_t kMinNormal = static_cast<std::uint32_t>(128 - kBias) << 23;
  // A float in [kMagic, 2 kMagic) has the format's smallest subnormal as its last place.
  constexpr std::uint32_t kMagic = static_cast<std::uint32_t>(127 + 24 - kBias - kMantissa) << 23;
  const std::uint32_t bits = __float_as_uint(x);
  const std::uint32_t size = bits & 0x7FFFFFFFu;
  const std::uint32_t half = (1u << (kShift - 1)) - 1 + (size >> kShift & 1u);
  const std::uint32_t normal = ((size + half) >> kShift) - kRebias;
  const std::uint32_t subnormal =
      __float_as_uint(__fadd_rn(__uint_as_float(size), __uint_as_float(kMagic))) - kMagic;
  const std::uint32_t rounded = size >= kMinNormal ? normal : subnormal;
  const std::uint32_t code = (rounded < kMax ? rounded : kMax) | (bits >> 31) << kSignShift;
  return size > 0x7F800000u ? kNan : code;
}

/// The value of a code: `size` without its sign, `sign_bit` where binary32 has it. Codes from kInf
/// on are infinite and from kNan on no number.
template <int kMantissa, int kBias, std::uint32_t kInf, std::uint32_t kNan>
__device__ __forceinline__ float widen_spec(std::uint32_t size, std::uint32_t sign_bit) {
  constexpr int kShift = 23 - kMantissa;
  constexpr std::uint32_t kRebias = static_cast<std::uint32_t>(127 - kBias) << 23;
  constexpr std::uint32_t kUnit = static_cast<std::uint32_t>(128 - kBias - kMantissa) << 23;
  const std::uint32_t normal = (size << kShift) + kRebias;
  const std::uint32_t subnormal = __float_as_uint(
      __fmul_rn(static_cast<float>(static_cast<std::int32_t>(size)), __uint_as_float(kUnit)));
  const std::uint32_t finite = size >> kMantissa != 0 ? normal : subnormal;
  const std::uint32_t number = size >= kInf ? 0x7F800000u : finite;
  return __uint_as_float(size >= kNan ? kNanBits : number | sign_bit);
}

__device__ __forceinline__ float bf16_to_f32(std::uint32_t code) {
  return __uint_as_float(code << 16);
}
__device__ __forceinline__ std::uint32_t f32_to_bf16(float x) {
#if defined(__CUDA_ARCH__)
  return __bfloat16_as_ushort(__float2bfloat16_rn(x));
#else
  const std::uint32_t bits = __float_as_uint(x);
  const std::uint32_t rounded = (bits + 0x7FFFu + (bits >> 16 & 1u)) >> 16;
  return (bits & 0x7FFFFFFFu) > 0x7F800000u ? 0x7FFFu : rounded;
#endif
}

__device__ __forceinline__ float f16_to_f32(std::uint32_t code) {
#if defined(__CUDA_ARCH__)
  return __half2float(__ushort_as_half(static_cast<unsigned short>(code)));
#else
  return widen_spec<10, 15, 0x7C00, 0x7C01>(code & 0x7FFFu, (code & 0x8000u) << 16);
#endif
}
__device__ __forceinline__ std::uint32_t f32_to_f16(float x) {
#if defined(__CUDA_ARCH__)
  return __half_as_ushort(__float2half_rn(x));
#else
  return narrow_spec<10, 15, 0x7C00, 0x7FFF, 15>(x);
#endif
}

__device__ __forceinline__ float e4m3_to_f32(std::uint32_t code) {
#if OCTAVO_HAS_FP8_INSTRUCTIONS
  return __half2float(
      __half(__nv_cvt_fp8_to_halfraw(static_cast<__nv_fp8_storage_t>(code), __NV_E4M3)));
#else
  // The fields of a code, put where a float has its own, are 2^-120 of the number, subnormals
  // included.
  const std::uint32_t size = code & 0x7Fu;
  const float number = __fmul_rn(__uint_as_float(size << 20 | (code & 0x80u) << 24), 0x1p+120f);
  return size == 0x7Fu ? nan_spec() : number;
#endif
}
__device__ __forceinline__ std::uint32_t f32_to_e4m3(float x) {
#if OCTAVO_HAS_FP8_INSTRUCTIONS
  return __nv_cvt_float_to_fp8(x, __NV_SATFINITE, __NV_E4M3);
#else
  return narrow_spec<3, 7, 0x7E, 0x7F, 7>(x);
#endif
}

/// E5M2 is the upper byte of F16.
__device__ __forceinline__ float e5m2_to_f32(std::uint32_t code) {
  return f16_to_f32(code << 8);
}
__device__ __forceinline__ std::uint32_t f32_to_e5m2(float x) {
#if OCTAVO_HAS_FP8_INSTRUCTIONS
  return __nv_cvt_float_to_fp8(x, __NV_SATFINITE, __NV_E5M2);
#else
  return narrow_spec<2, 15, 0x7B, 0x7F, 7>(x);
#endif
}

// Two at once: codes side by side in one register, `low` in the lower half. One instruction of the
// GPU each, where a single code takes as many.

/// The codes in the low 16 bits.
__device__ __forceinline__ float2 e4m3x2_to_f32(std::uint32_t codes) {
#if OCTAVO_HAS_FP8_INSTRUCTIONS
  return __half22float2(
      __nv_cvt_fp8x2_to_halfraw2(static_cast<__nv_fp8x2_storage_t>(codes), __NV_E4M3));
#else
  return make_float2(e4m3_to_f32(codes & 0xFFu), e4m3_to_f32(codes >> 8 & 0xFFu));
#endif
}

__device__ __forceinline__ std::uint32_t f32_to_f16x2(float low, float high) {
#if defined(__CUDA_ARCH__)
  const __half2 codes = __floats2half2_rn(low, high);
  return __half_as_ushort(__low2half(codes)) |
         static_cast<std::uint32_t>(__half_as_ushort(__high2half(codes))) << 16;
#else
  return f32_to_f16(low) | f32_to_f16(high) << 16;
#endif
}

__device__ __forceinline__ std::uint32_t f32_to_bf16x2(float low, float high) {
#if defined(__CUDA_ARCH__)
  const __nv_bfloat162 codes = __floats2bfloat162_rn(low, high);
  return __bfloat16_as_ushort(__low2bfloat16(codes)) |
         static_cast<std::uint32_t>(__bfloat16_as_ushort(__high2bfloat16(codes))) << 16;
#else
  return f32_to_bf16(low) | f32_to_bf16(high) << 16;
#endif
}

__device__ __forceinline__ std::uint32_t f32_to_e4m3x2(float low, float high) {
#if OCTAVO_HAS_FP8_INSTRUCTIONS
  return __nv_cvt_float2_to_fp8x2(make_float2(low, high), __NV_SATFINITE, __NV_E4M3);
#else
  return f32_to_e4m3(low) | f32_to_e4m3(high) << 8;
#endif
}

__device__ __forceinline__ std::uint32_t f32_to_e5m2x2(float low, float high) {
#if OCTAVO_HAS_FP8_INSTRUCTIONS
  return __nv_cvt_float2_to_fp8x2(make_float2(low, high), __NV_SATFINITE, __NV_E5M2);
#else
  return f32_to_e5m2(low) | f32_to_e5m2(high) << 8;
#endif
}

/// Element `index` of F32, F16 or BF16 data, exactly.
__device__ __forceinline__ float load_element(DType dtype, const void* data, std::int64_t index) {
  if (dtype == DType::F32) {
    return static_cast<const float*>(data)[index];
  }
  const std::uint32_t code = static_cast<const std::uint16_t*>(data)[index];
  return dtype == DType::F16 ? f16_to_f32(code) : bf16_to_f32(code);
}

/// Element `index` = x, rounded to F32, F16 or BF16.
__device__ __forceinline__ void store_element(DType dtype,
                                              void* data,
                                              std::int64_t index,
                                              float x) {
  if (dtype == DType::F32) {
    static_cast<float*>(data)[index] = x;
  } else {
    static_cast<std::uint16_t*>(data)[index] =
        static_cast<std::uint16_t>(dtype == DType::F16 ? f32_to_f16(x) : f32_to_bf16(x));
  }
}

}  // namespace OCTAVO_CUDA_TARGET
}  // namespace octavo::cuda
