// The elementary functions of ref_cpu/NUMERICS.md section 4, one written operation after another.
//
// Every operation is one IEEE-754 binary32 operation, rounded to nearest even, subnormals kept.
// Branch-free. A NaN gives a NaN.
#pragma once

#include "platform.cuh"

namespace octavo::cuda {
inline namespace OCTAVO_CUDA_TARGET {

constexpr std::uint32_t kNanBits = 0x7FFFFFFFu;  ///< The one NaN that is ever stored.
constexpr float kRoundMagic = 12582912.0f;       ///< 1.5 * 2^23: x + it - it rounds |x| < 2^22.
constexpr float kLog2E = 0x1.715476p+0f;
constexpr float kLn2High = 0x1.62e430p-1f;
constexpr float kLn2Low = -0x1.05c610p-29f;
constexpr float kExpMin = -0x1.5d589ep+6f;  ///< Below: exp_spec is 0.
constexpr float kExpMax = 0x1.62e42ep+6f;   ///< Above: exp_spec is infinity.

__device__ __forceinline__ float nan_spec() {
  return __uint_as_float(kNanBits);
}
__device__ __forceinline__ float infinity() {
  return __uint_as_float(0x7F800000u);
}
__device__ __forceinline__ float minus_infinity() {
  return __uint_as_float(0xFF800000u);
}
/// What is stored of a result: any NaN as the one.
__device__ __forceinline__ float one_nan(float x) {
  return x == x ? x : nan_spec();
}
__device__ __forceinline__ float magnitude(float x) {
  return __uint_as_float(__float_as_uint(x) & 0x7FFFFFFFu);
}
__device__ __forceinline__ float negated(float x) {
  return __uint_as_float(__float_as_uint(x) ^ 0x80000000u);
}

/// 2^x for x < 127.5; 0 below -126 (no subnormal results).
__device__ __forceinline__ float exp2_spec(float x) {
  const float t = __fadd_rn(x, kRoundMagic);
  const float f = __fsub_rn(x, __fsub_rn(t, kRoundMagic));
  float p = 0x1.42585ap-17f;
  p = __fmaf_rn(p, f, 0x1.43064ap-13f);
  p = __fmaf_rn(p, f, 0x1.5df22ep-10f);
  p = __fmaf_rn(p, f, 0x1.3b2b46p-7f);
  p = __fmaf_rn(p, f, 0x1.c6b066p-5f);
  p = __fmaf_rn(p, f, 0x1.ebfbe0p-3f);
  p = __fmaf_rn(p, f, kLn2High);
  p = __fmaf_rn(p, f, 1.0f);
  const float y = __uint_as_float(__float_as_uint(p) + (__float_as_uint(t) << 23));
  const float number = x < -126.0f ? 0.0f : y;
  return x == x ? number : nan_spec();
}

/// e^x; 0 below 2^-126, infinity above the largest float.
__device__ __forceinline__ float exp_spec(float x) {
  const float t = __fmaf_rn(x, kLog2E, kRoundMagic);
  const float n = __fsub_rn(t, kRoundMagic);
  const float high = __fmaf_rn(negated(n), kLn2High, x);  // Exact.
  const float r = __fmaf_rn(negated(n), kLn2Low, high);
  float p = 0x1.6ac74cp-10f;
  p = __fmaf_rn(p, r, 0x1.123de0p-7f);
  p = __fmaf_rn(p, r, 0x1.555858p-5f);
  p = __fmaf_rn(p, r, 0x1.55548cp-3f);
  p = __fmaf_rn(p, r, 0x1.fffffcp-2f);
  p = __fmaf_rn(p, r, 1.0f);
  p = __fmaf_rn(p, r, 1.0f);
  const float y = __uint_as_float(__float_as_uint(p) + (__float_as_uint(t) << 23));
  const float low = x < kExpMin ? 0.0f : y;
  const float number = x > kExpMax ? infinity() : low;
  return x == x ? number : nan_spec();
}

/// 2 atanh(s) for |s| <= 1/3.
__device__ __forceinline__ float twice_atanh_spec(float s) {
  const float z = __fmul_rn(s, s);
  float q = 0x1.f090acp-4f;
  q = __fmaf_rn(q, z, 0x1.b72ad8p-4f);
  q = __fmaf_rn(q, z, 0x1.250514p-3f);
  q = __fmaf_rn(q, z, 0x1.9996d8p-3f);
  q = __fmaf_rn(q, z, 0x1.555558p-2f);
  const float w = __fadd_rn(s, s);
  return __fmaf_rn(w, __fmul_rn(z, q), w);
}

/// 1 / (1 + e^-x), in [0, 1].
__device__ __forceinline__ float sigmoid_spec(float x) {
  const float e = exp_spec(__uint_as_float(__float_as_uint(x) | 0x80000000u));
  return __fdiv_rn(x < 0.0f ? e : 1.0f, __fadd_rn(1.0f, e));
}

/// x * sigmoid(x); -0 for all x below kExpMin.
__device__ __forceinline__ float silu_spec(float x) {
  return __fmul_rn(x < -88.0f ? -88.0f : x, sigmoid_spec(x));
}

/// ln(1 + e^x) >= 0.
__device__ __forceinline__ float softplus_spec(float x) {
  const float u = exp_spec(__uint_as_float(__float_as_uint(x) | 0x80000000u));
  const float tail = twice_atanh_spec(__fdiv_rn(u, __fadd_rn(2.0f, u)));
  return __fadd_rn(x > 0.0f ? x : 0.0f, tail);
}

/// tanh(x), in [-1, 1], odd.
__device__ __forceinline__ float tanh_spec(float x) {
  const float a = magnitude(x);
  const float z = __fmul_rn(a, a);
  float p = -0x1.750ce4p-8f;
  p = __fmaf_rn(p, z, 0x1.51f8cep-6f);
  p = __fmaf_rn(p, z, -0x1.b835a4p-5f);
  p = __fmaf_rn(p, z, 0x1.1106f6p-3f);
  p = __fmaf_rn(p, z, -0x1.555532p-2f);
  const float near_zero = __fmaf_rn(a, __fmul_rn(z, p), a);
  const float e = exp_spec(__fmul_rn(-2.0f, a));
  const float far_out = __fdiv_rn(__fsub_rn(1.0f, e), __fadd_rn(1.0f, e));
  const float y = a < 0.625f ? near_zero : far_out;
  return __uint_as_float(__float_as_uint(y) | (__float_as_uint(x) & 0x80000000u));
}

/// ln x for x > 0, subnormals included; -infinity at +-0, NaN below.
__device__ __forceinline__ float log_spec(float x) {
  const bool tiny = x < 0x1p-126f;
  const std::uint32_t bits = __float_as_uint(tiny ? __fmul_rn(x, 0x1p+24f) : x);
  const std::int32_t exponent = static_cast<std::int32_t>(bits - 0x3F3504F3u) >> 23;
  const float m = __uint_as_float(bits - (static_cast<std::uint32_t>(exponent) << 23));
  const float n = __fsub_rn(static_cast<float>(exponent), tiny ? 24.0f : 0.0f);
  const float log_m = twice_atanh_spec(__fdiv_rn(__fsub_rn(m, 1.0f), __fadd_rn(m, 1.0f)));
  const float y = __fmaf_rn(n, kLn2High, __fmaf_rn(n, kLn2Low, log_m));
  const float number = x < infinity() ? y : x;
  const float positive = x == 0.0f ? minus_infinity() : number;
  return x >= 0.0f ? positive : nan_spec();
}

}  // namespace OCTAVO_CUDA_TARGET
}  // namespace octavo::cuda
