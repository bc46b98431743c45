// Conversions between binary32 and the storage formats, bit for bit: F16, BF16, E4M3 (OCP "fn": no
// infinity) and E5M2.
//
// To a narrower format: round to nearest, ties to even, subnormals kept. F16 and BF16 overflow to
// infinity; the fp8 formats saturate, infinity included, to +-448 and +-57344. The sign of zero is
// kept. A NaN of any payload and sign becomes 0x7FFF (16 bits) or 0x7F (8 bits).
// To binary32: exact. A NaN of F16, E4M3 or E5M2 becomes 0x7FFFFFFF; BF16 is a plain shift and
// keeps its payload.
//
// Integer operations and selects only, so that loops over them vectorise; no rounding mode or flush
// mode of the processor is looked at, except by the one addition per value that rounds subnormals
// (round to nearest is the only mode this library runs in). Pure functions.
#pragma once

#include <bit>
#include <cstdint>

#include "simd.h"

namespace octavo::ref_cpu {

inline constexpr std::uint32_t kNanBits = 0x7FFFFFFFu;  ///< The one NaN that is ever produced.

OCTAVO_LANES std::uint32_t bits_of(float x) noexcept {
  return std::bit_cast<std::uint32_t>(x);
}
OCTAVO_LANES float float_of(std::uint32_t bits) noexcept {
  return std::bit_cast<float>(bits);
}

namespace float_bits_detail {

/// The magnitude of `bits`, rounded to a format of `kMantissa` explicit bits and exponent bias
/// `kBias`, as a code that may exceed the format's largest; the caller clamps it.
template <int kMantissa, int kBias>
OCTAVO_LANES std::uint32_t narrow_magnitude(std::uint32_t bits) noexcept {
  constexpr int kShift = 23 - kMantissa;
  constexpr std::uint32_t kRebias = static_cast<std::uint32_t>(127 - kBias) << kMantissa;
  constexpr std::uint32_t kMinNormal = static_cast<std::uint32_t>(128 - kBias) << 23;
  // A float in [kMagic, 2 kMagic) has the format's smallest subnormal as its last place.
  constexpr std::uint32_t kMagic = static_cast<std::uint32_t>(127 + 24 - kBias - kMantissa) << 23;
  const std::uint32_t magnitude = bits & 0x7FFFFFFFu;
  const std::uint32_t half = (1u << (kShift - 1)) - 1 + (magnitude >> kShift & 1u);
  const std::uint32_t normal = ((magnitude + half) >> kShift) - kRebias;
  const std::uint32_t subnormal = bits_of(float_of(magnitude) + float_of(kMagic)) - kMagic;
  return magnitude >= kMinNormal ? normal : subnormal;
}

template <int kMantissa, int kBias, std::uint32_t kMax, std::uint32_t kNan, int kSignShift>
OCTAVO_LANES std::uint32_t narrow(float x) noexcept {
  const std::uint32_t bits = bits_of(x);
  const std::uint32_t rounded = narrow_magnitude<kMantissa, kBias>(bits);
  const std::uint32_t clamped = rounded < kMax ? rounded : kMax;
  const std::uint32_t code = clamped | (bits >> 31) << kSignShift;
  return (bits & 0x7FFFFFFFu) > 0x7F800000u ? kNan : code;
}

/// `magnitude` is a code without its sign; `kNanFrom` and `kInf` are the codes that are none or no
/// number (kInf == kNanFrom: the format has no infinity).
template <int kMantissa, int kBias, std::uint32_t kInf, std::uint32_t kNanFrom>
OCTAVO_LANES float widen(std::uint32_t magnitude, std::uint32_t sign_bit) noexcept {
  constexpr int kShift = 23 - kMantissa;
  constexpr std::uint32_t kRebias = static_cast<std::uint32_t>(127 - kBias) << 23;
  constexpr std::uint32_t kUnit = static_cast<std::uint32_t>(128 - kBias - kMantissa) << 23;
  const std::uint32_t normal = (magnitude << kShift) + kRebias;
  const std::uint32_t subnormal =
      bits_of(static_cast<float>(static_cast<std::int32_t>(magnitude)) * float_of(kUnit));
  const std::uint32_t finite = magnitude >> kMantissa != 0 ? normal : subnormal;
  const std::uint32_t number = magnitude >= kInf ? 0x7F800000u : finite;
  return float_of(magnitude >= kNanFrom ? kNanBits : number | sign_bit);
}

}  // namespace float_bits_detail

OCTAVO_LANES std::uint16_t f32_to_f16(float x) noexcept {
  return static_cast<std::uint16_t>(float_bits_detail::narrow<10, 15, 0x7C00, 0x7FFF, 15>(x));
}
OCTAVO_LANES float f16_to_f32(std::uint16_t code) noexcept {
  const std::uint32_t wide = code;
  return float_bits_detail::widen<10, 15, 0x7C00, 0x7C01>(wide & 0x7FFFu, (wide & 0x8000u) << 16);
}

OCTAVO_LANES std::uint16_t f32_to_bf16(float x) noexcept {
  const std::uint32_t bits = bits_of(x);
  const std::uint32_t rounded = (bits + 0x7FFFu + (bits >> 16 & 1u)) >> 16;
  return static_cast<std::uint16_t>((bits & 0x7FFFFFFFu) > 0x7F800000u ? 0x7FFFu : rounded);
}
OCTAVO_LANES float bf16_to_f32(std::uint16_t code) noexcept {
  return float_of(static_cast<std::uint32_t>(code) << 16);
}

OCTAVO_LANES std::uint8_t f32_to_e4m3(float x) noexcept {
  return static_cast<std::uint8_t>(float_bits_detail::narrow<3, 7, 0x7E, 0x7F, 7>(x));
}
OCTAVO_LANES float e4m3_to_f32(std::uint8_t code) noexcept {
  const std::uint32_t wide = code;
  return float_bits_detail::widen<3, 7, 0x7F, 0x7F>(wide & 0x7Fu, (wide & 0x80u) << 24);
}

OCTAVO_LANES std::uint8_t f32_to_e5m2(float x) noexcept {
  return static_cast<std::uint8_t>(float_bits_detail::narrow<2, 15, 0x7B, 0x7F, 7>(x));
}
OCTAVO_LANES float e5m2_to_f32(std::uint8_t code) noexcept {
  const std::uint32_t wide = code;
  return float_bits_detail::widen<2, 15, 0x7C, 0x7D>(wide & 0x7Fu, (wide & 0x80u) << 24);
}

}  // namespace octavo::ref_cpu
