// Arithmetic by CUDA's names: each operation rounded where it is written, never contracted (all of
// it is compiled with -ffp-contract=off), and the operations on bits.
#pragma once

#include <bit>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>

namespace octavo::cuda {
inline namespace emulated {

inline float __fadd_rn(float a, float b) {
  return a + b;
}
inline float __fsub_rn(float a, float b) {
  return a - b;
}
inline float __fmul_rn(float a, float b) {
  return a * b;
}
inline float __fdiv_rn(float a, float b) {
  return a / b;
}
inline float __fmaf_rn(float a, float b, float c) {
  return __builtin_fmaf(a, b, c);
}
inline float __fsqrt_rn(float a) {
  return __builtin_sqrtf(a);
}
/// The other one when one is a NaN.
inline float fmaxf(float a, float b) {
  return __builtin_fmaxf(a, b);
}

/// To the nearest integer, ties to even; the nearest there is beyond the range, 0 for a NaN.
inline int __float2int_rn(float x) {
  if (x >= 0x1p31f) {
    return std::numeric_limits<int>::max();
  }
  if (x <= -0x1p31f) {
    return std::numeric_limits<int>::min();
  }
  return x == x ? static_cast<int>(__builtin_rintf(x)) : 0;
}
inline float __int2float_rn(int x) {
  return static_cast<float>(x);
}
inline float __uint2float_rn(unsigned x) {
  return static_cast<float>(x);
}

inline unsigned __float_as_uint(float x) {
  return std::bit_cast<unsigned>(x);
}
inline float __uint_as_float(unsigned x) {
  return std::bit_cast<float>(x);
}
inline int __float_as_int(float x) {
  return std::bit_cast<int>(x);
}
inline float __int_as_float(int x) {
  return std::bit_cast<float>(x);
}

inline int __popc(unsigned x) {
  return std::popcount(x);
}
inline int __clz(int x) {
  return std::countl_zero(static_cast<unsigned>(x));
}
/// 1 + the number of the lowest bit that is set; 0 when none is.
inline int __ffs(int x) {
  return x == 0 ? 0 : 1 + std::countr_zero(static_cast<unsigned>(x));
}

/// Four bytes of y:x, by the nibbles of `selector`: its low three bits name a byte, its high one
/// asks for that byte's sign, eight times.
inline unsigned __byte_perm(unsigned x, unsigned y, unsigned selector) {
  const std::uint64_t bytes = std::uint64_t{y} << 32 | x;
  unsigned result = 0;
  for (unsigned i = 0; i < 4; ++i) {
    const unsigned nibble = selector >> (4 * i) & 15u;
    const auto byte = static_cast<unsigned>(bytes >> (8 * (nibble & 7u)) & 0xFFu);
    const unsigned sign = (byte & 0x80u) != 0 ? 0xFFu : 0u;
    result |= ((nibble & 8u) != 0 ? sign : byte) << (8 * i);
  }
  return result;
}

inline unsigned and_xor(unsigned x, unsigned mask, unsigned flip) {
  return (x & mask) ^ flip;
}

/// c + the products of the four signed bytes of a and b, modulo 2^32.
inline int __dp4a(int a, int b, int c) {
  auto sum = static_cast<unsigned>(c);
  for (int i = 0; i < 4; ++i) {
    const int product =
        static_cast<std::int8_t>(a >> (8 * i)) * static_cast<std::int8_t>(b >> (8 * i));
    sum += static_cast<unsigned>(product);
  }
  return static_cast<int>(sum);
}

template <typename T>
T __ldg(const T* address) {
  return *address;
}

/// A float2 or float4, aligned to its size; nothing when `on` is false.
template <typename Vector>
void load_current(const Vector* from, bool on, Vector& to) {
  if (on) {
    to = *from;
  }
}

/// A uint2 or uint4, aligned to its size.
template <typename Vector>
void store_global(void* to, Vector x) {
  *static_cast<Vector*>(to) = x;
}

template <std::integral T>
constexpr T min(T a, T b) {
  return b < a ? b : a;
}
template <std::integral T>
constexpr T max(T a, T b) {
  return a < b ? b : a;
}

}  // namespace emulated
}  // namespace octavo::cuda
