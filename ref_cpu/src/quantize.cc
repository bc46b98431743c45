#include "quantize.h"

#include <algorithm>
#include <cstring>

#include "exact_math.h"
#include "float_bits.h"
#include "simd.h"

namespace octavo::ref_cpu {
namespace {

constexpr std::uint32_t kInfinityBits = 0x7F800000u;

/// max |x| as bits: magnitudes order like integers, and what is not finite comes out on top.
OCTAVO_LANES std::uint32_t largest_magnitude(const float* x, std::int64_t n) noexcept {
  std::uint32_t largest = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    largest = std::max(largest, bits_of(x[i]) & 0x7FFFFFFFu);
  }
  return largest;
}

/// rint(y) within +-limit; 0 for a NaN. The clamp first keeps the sum inside the magic's range.
OCTAVO_LANES std::int32_t integer_code(float y, float limit) noexcept {
  const float above = y > -limit ? y : -limit;
  const float inside = above < limit ? above : limit;
  const float number = y == y ? inside : 0.0f;
  return static_cast<std::int32_t>(bits_of(number + kRoundMagic)) -
         static_cast<std::int32_t>(bits_of(kRoundMagic));
}

OCTAVO_LANES void int8_codes(const float* x,
                             std::int64_t n,
                             float scale,
                             std::uint8_t* codes) noexcept {
  for (std::int64_t i = 0; i < n; ++i) {
    codes[i] = static_cast<std::uint8_t>(integer_code(x[i] / scale, 127.0f));
  }
}

OCTAVO_LANES void int4_codes(const float* x,
                             std::int64_t n,
                             float scale,
                             std::uint8_t* codes) noexcept {
  for (std::int64_t i = 0; i < n / 2; ++i) {
    const std::int32_t low = integer_code(x[2 * i] / scale, 7.0f) + 8;
    const std::int32_t high = integer_code(x[2 * i + 1] / scale, 7.0f) + 8;
    codes[i] = static_cast<std::uint8_t>(low | high << 4);
  }
}

OCTAVO_LANES void e4m3_codes(const float* x,
                             std::int64_t n,
                             float scale,
                             std::uint8_t* codes) noexcept {
  for (std::int64_t i = 0; i < n; ++i) {
    codes[i] = f32_to_e4m3(x[i] / scale);
  }
}

OCTAVO_LANES void e5m2_codes(const float* x,
                             std::int64_t n,
                             float scale,
                             std::uint8_t* codes) noexcept {
  for (std::int64_t i = 0; i < n; ++i) {
    codes[i] = f32_to_e5m2(x[i] / scale);
  }
}

OCTAVO_LANES void static_lanes(
    KVCodec codec, const float* x, std::int64_t n, float scale, std::uint8_t* codes) noexcept {
  switch (codec) {
    case KVCodec::Int8:
      int8_codes(x, n, scale, codes);
      break;
    case KVCodec::Int4:
      int4_codes(x, n, scale, codes);
      break;
    case KVCodec::E4M3:
      e4m3_codes(x, n, scale, codes);
      break;
    case KVCodec::E5M2:
      e5m2_codes(x, n, scale, codes);
      break;
    case KVCodec::None:
      break;
  }
}

/// Every code 0, or, for fp8 rows without a scale, NaN.
void fill_codes(KVCodec codec, std::int64_t n, bool is_nan, std::uint8_t* codes) noexcept {
  const bool is_fp8 = codec == KVCodec::E4M3 || codec == KVCodec::E5M2;
  const int zero = codec == KVCodec::Int4 ? 0x88 : 0;
  std::memset(codes, is_nan && is_fp8 ? 0x7F : zero,
              static_cast<std::size_t>(code_bytes(codec, n)));
}

OCTAVO_LANES void row_lanes(
    KVCodec codec, const float* x, std::int64_t n, std::uint8_t* codes, float* scale) noexcept {
  const std::uint32_t largest = largest_magnitude(x, n);
  const bool is_nan = largest >= kInfinityBits;
  *scale = is_nan ? float_of(kNanBits) : float_of(largest) / largest_code(codec);
  if (is_nan || *scale == 0.0f) {
    fill_codes(codec, n, is_nan, codes);
  } else {
    static_lanes(codec, x, n, *scale, codes);
  }
}

OCTAVO_LANES void decode_lanes(KVCodec codec,
                               const std::uint8_t* codes,
                               std::int64_t n,
                               float* values) noexcept {
  if (codec == KVCodec::Int8) {
    for (std::int64_t i = 0; i < n; ++i) {
      values[i] = static_cast<float>(static_cast<std::int8_t>(codes[i]));
    }
  } else if (codec == KVCodec::Int4) {
    for (std::int64_t i = 0; i < n / 2; ++i) {
      values[2 * i] = static_cast<float>((codes[i] & 15) - 8);
      values[2 * i + 1] = static_cast<float>((codes[i] >> 4) - 8);
    }
  } else if (codec == KVCodec::E4M3) {
    for (std::int64_t i = 0; i < n; ++i) {
      values[i] = e4m3_to_f32(codes[i]);
    }
  } else {
    for (std::int64_t i = 0; i < n; ++i) {
      values[i] = e5m2_to_f32(codes[i]);
    }
  }
}

OCTAVO_LANES void unpack_lanes(KVCodec codec,
                               const std::uint8_t* codes,
                               std::int64_t n,
                               std::int8_t* integers) noexcept {
  if (codec == KVCodec::Int8) {
    std::memcpy(integers, codes, static_cast<std::size_t>(n));
    return;
  }
  for (std::int64_t i = 0; i < n / 2; ++i) {
    integers[2 * i] = static_cast<std::int8_t>((codes[i] & 15) - 8);
    integers[2 * i + 1] = static_cast<std::int8_t>((codes[i] >> 4) - 8);
  }
}

OCTAVO_LANES void dequantize_lanes(
    KVCodec codec, const std::uint8_t* codes, std::int64_t n, float scale, float* values) noexcept {
  decode_lanes(codec, codes, n, values);
  for (std::int64_t i = 0; i < n; ++i) {
    values[i] *= scale;
  }
}

}  // namespace

float largest_code(KVCodec codec) noexcept {
  switch (codec) {
    case KVCodec::Int8:
      return 127.0f;
    case KVCodec::Int4:
      return 7.0f;
    case KVCodec::E4M3:
      return 448.0f;
    case KVCodec::E5M2:
      return 57344.0f;
    case KVCodec::None:
      break;
  }
  return 0.0f;
}

std::int64_t code_bytes(KVCodec codec, std::int64_t n) noexcept {
  return codec == KVCodec::Int4 ? n / 2 : n;
}

OCTAVO_DISPATCH(
    void,
    quantize_row,
    (KVCodec codec, const float* x, std::int64_t n, std::uint8_t* codes, float* scale) noexcept,
    row_lanes,
    (codec, x, n, codes, scale))

OCTAVO_DISPATCH(
    void,
    quantize_row_static,
    (KVCodec codec, const float* x, std::int64_t n, float scale, std::uint8_t* codes) noexcept,
    static_lanes,
    (codec, x, n, scale, codes))

OCTAVO_DISPATCH(void,
                decode_codes,
                (KVCodec codec, const std::uint8_t* codes, std::int64_t n, float* values) noexcept,
                decode_lanes,
                (codec, codes, n, values))

OCTAVO_DISPATCH(
    void,
    unpack_codes,
    (KVCodec codec, const std::uint8_t* codes, std::int64_t n, std::int8_t* integers) noexcept,
    unpack_lanes,
    (codec, codes, n, integers))

OCTAVO_DISPATCH(
    void,
    dequantize_row,
    (KVCodec codec, const std::uint8_t* codes, std::int64_t n, float scale, float* values) noexcept,
    dequantize_lanes,
    (codec, codes, n, scale, values))

}  // namespace octavo::ref_cpu
