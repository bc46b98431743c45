// Quantizers against a model written from the rules, their error bounds, and idempotence.

#include "quantize.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "format_model.h"
#include "samples.h"
#include "simd.h"
#include <gtest/gtest.h>

namespace octavo::ref_cpu {
namespace {

using numerics_test::FormatModel;
using numerics_test::from_bits;
using numerics_test::Random;
using numerics_test::same;
using numerics_test::to_bits;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

struct Row {
  std::vector<std::uint8_t> codes;
  float scale = -1.0f;
};

Row quantize(KVCodec codec, const std::vector<float>& x) {
  const auto n = static_cast<std::int64_t>(x.size());
  Row row;
  row.codes.assign(static_cast<std::size_t>(code_bytes(codec, n)), 0xEE);
  quantize_row(codec, x.data(), n, row.codes.data(), &row.scale);
  return row;
}

std::vector<float> dequantize(KVCodec codec, const Row& row, std::size_t n) {
  std::vector<float> values(n);
  dequantize_row(codec, row.codes.data(), static_cast<std::int64_t>(n), row.scale, values.data());
  return values;
}

bool is_fp8(KVCodec codec) {
  return codec == KVCodec::E4M3 || codec == KVCodec::E5M2;
}

const FormatModel& model_of(KVCodec codec) {
  static const FormatModel e4m3(4, 3, 7, FormatModel::Top::NanOnly);
  static const FormatModel e5m2(5, 2, 15, FormatModel::Top::Saturated);
  return codec == KVCodec::E4M3 ? e4m3 : e5m2;
}

/// The element's code as the rules say, from the rounded quotient.
std::uint32_t wanted_code(KVCodec codec, float quotient) {
  if (is_fp8(codec)) {
    return model_of(codec).encode(static_cast<double>(quotient));
  }
  const double limit = codec == KVCodec::Int8 ? 127 : 7;
  const double rounded = std::isnan(quotient) ? 0 : std::nearbyint(static_cast<double>(quotient));
  const int code = static_cast<int>(std::clamp(rounded, -limit, limit));
  return static_cast<std::uint32_t>(codec == KVCodec::Int8 ? code & 255 : code + 8);
}

std::uint32_t code_at(KVCodec codec, const std::vector<std::uint8_t>& codes, std::size_t i) {
  if (codec != KVCodec::Int4) {
    return codes[i];
  }
  return i % 2 == 0 ? codes[i / 2] & 15u : codes[i / 2] >> 4;
}

class Quantizer : public testing::TestWithParam<KVCodec> {
 protected:
  KVCodec codec() const { return GetParam(); }
  std::uint32_t zero_code() const { return codec() == KVCodec::Int4 ? 8u : 0u; }
};

INSTANTIATE_TEST_SUITE_P(
    Codecs,
    Quantizer,
    testing::Values(KVCodec::Int8, KVCodec::Int4, KVCodec::E4M3, KVCodec::E5M2),
    [](const auto& name) { return std::string(to_string(name.param)); });

TEST_P(Quantizer, FollowsTheRulesAtEveryMagnitudeAndLength) {
  Random random(7);
  for (int exponent = -149; exponent <= 127; ++exponent) {
    for (int round = 0; round < 8; ++round) {
      const std::int64_t n = 2 * (1 + random.below(70));
      std::vector<float> x = random.units(n);
      for (float& value : x) {
        value = std::ldexp(value, random.below(3) == 0 ? exponent - 6 : exponent);
      }
      const float largest = std::fabs(*std::max_element(
          x.begin(), x.end(), [](float a, float b) { return std::fabs(a) < std::fabs(b); }));
      const Row row = quantize(codec(), x);
      ASSERT_EQ(to_bits(row.scale), to_bits(largest / largest_code(codec())));
      for (std::size_t i = 0; i < x.size(); ++i) {
        const std::uint32_t wanted =
            row.scale == 0.0f ? zero_code() : wanted_code(codec(), x[i] / row.scale);
        ASSERT_EQ(code_at(codec(), row.codes, i), wanted) << x[i] << " / " << row.scale;
      }
    }
  }
}

TEST_P(Quantizer, ErrorIsWithinTheDerivedBound) {
  Random random(8);
  const double q_max = static_cast<double>(largest_code(codec()));
  const double relative = codec() == KVCodec::E4M3 ? 0x1p-4 : 0x1p-3;
  const double smallest_half = codec() == KVCodec::E4M3 ? 0x1p-10 : 0x1p-17;
  for (int exponent = -149; exponent <= 127; ++exponent) {
    for (int round = 0; round < 8; ++round) {
      std::vector<float> x = random.units(128);
      for (float& value : x) {
        value = std::ldexp(value, exponent - static_cast<int>(random.below(9)));
      }
      const Row row = quantize(codec(), x);
      std::vector<float> codes(x.size());
      decode_codes(codec(), row.codes.data(), static_cast<std::int64_t>(x.size()), codes.data());
      const auto scale = static_cast<double>(row.scale);
      for (std::size_t i = 0; i < x.size(); ++i) {
        const double value = static_cast<double>(x[i]);
        const double rounding = is_fp8(codec())
                                    ? std::max(relative * std::fabs(value), smallest_half * scale)
                                    : 0.5 * scale;
        const double bound = rounding + std::ldexp(std::fabs(value), -23) + q_max * 0x1p-150;
        ASSERT_LE(std::fabs(value - static_cast<double>(codes[i]) * scale), bound)
            << value << " scale " << scale;
      }
    }
  }
}

TEST_P(Quantizer, IsIdempotentDownToTheStatedScale) {
  Random random(9);
  for (int exponent = -100; exponent <= 127; ++exponent) {
    for (int round = 0; round < 20; ++round) {
      std::vector<float> x = random.units(64);
      for (float& value : x) {
        value = std::ldexp(value, exponent);
      }
      const Row once = quantize(codec(), x);
      if (once.scale < 0x1p-110f) {
        continue;
      }
      const Row twice = quantize(codec(), dequantize(codec(), once, x.size()));
      ASSERT_EQ(to_bits(once.scale), to_bits(twice.scale));
      ASSERT_EQ(once.codes, twice.codes);
    }
  }
}

TEST_P(Quantizer, ScaleComesBackForEveryMantissaOfTheLargestMagnitude) {
  const float q_max = largest_code(codec());
  for (std::uint32_t mantissa = 0; mantissa < 1u << 23; ++mantissa) {
    const float largest = from_bits(0x3F800000u | mantissa);
    const float scale = largest / q_max;
    ASSERT_EQ(to_bits((scale * q_max) / q_max), to_bits(scale)) << largest;
  }
}

TEST_P(Quantizer, ZerosGiveScaleZeroAndCodesZero) {
  for (const std::vector<float>& x : {std::vector<float>(16, 0.0f), std::vector<float>(16, -0.0f),
                                      std::vector<float>(16, 0x1p-149f)}) {
    const Row row = quantize(codec(), x);
    EXPECT_EQ(to_bits(row.scale), 0u);
    for (std::size_t i = 0; i < x.size(); ++i) {
      EXPECT_EQ(code_at(codec(), row.codes, i), zero_code());
    }
    for (const float value : dequantize(codec(), row, x.size())) {
      EXPECT_EQ(value, 0.0f);
    }
  }
}

TEST_P(Quantizer, ANanOrInfinityMakesTheWholeRowNanWhereverItStands) {
  for (const float bad : {kNan, -kNan, kInfinity, -kInfinity}) {
    for (std::size_t at = 0; at < 40; ++at) {
      std::vector<float> x(40, 1.5f);
      x[at] = bad;
      const Row row = quantize(codec(), x);
      EXPECT_EQ(to_bits(row.scale), 0x7FFFFFFFu);
      for (std::size_t i = 0; i < x.size(); ++i) {
        EXPECT_EQ(code_at(codec(), row.codes, i), is_fp8(codec()) ? 0x7Fu : zero_code());
      }
      for (const float value : dequantize(codec(), row, x.size())) {
        EXPECT_TRUE(std::isnan(value));
      }
    }
  }
}

TEST_P(Quantizer, WritesNothingBehindTheRow) {
  for (std::int64_t n = 2; n < 80; n += 2) {
    const std::vector<float> x(static_cast<std::size_t>(n), 1.0f);
    std::vector<std::uint8_t> codes(100, 0xEE);
    float scale = 0;
    quantize_row(codec(), x.data(), n, codes.data(), &scale);
    EXPECT_EQ(codes[static_cast<std::size_t>(code_bytes(codec(), n))], 0xEE);
  }
}

TEST_P(Quantizer, GivenScalesTreatEveryElementByItself) {
  Random random(10);
  std::vector<float> x = random.units(62, 20.0f);
  x[3] = kInfinity;
  x[4] = -kInfinity;
  x[5] = kNan;
  for (const float scale : {0.01f, 1.0f, 3.5f}) {
    std::vector<std::uint8_t> codes(62);
    quantize_row_static(codec(), x.data(), 62, scale, codes.data());
    for (std::size_t i = 0; i < x.size(); ++i) {
      ASSERT_EQ(code_at(codec(), codes, i), wanted_code(codec(), x[i] / scale)) << x[i];
    }
    // Idempotent: what the finite codes stand for has the same codes again.
    x[5] = 0.0f;
    quantize_row_static(codec(), x.data(), 62, scale, codes.data());
    std::vector<float> values(62);
    dequantize_row(codec(), codes.data(), 62, scale, values.data());
    std::vector<std::uint8_t> again(62);
    quantize_row_static(codec(), values.data(), 62, scale, again.data());
    EXPECT_EQ(codes, again);
    x[5] = kNan;
  }
}

TEST_P(Quantizer, BothCompilationsGiveTheSameBits) {
  Random random(11);
  for (int round = 0; round < 200; ++round) {
    const std::vector<float> x = random.units(2 * (1 + random.below(100)), 100.0f);
    const Row fast = quantize(codec(), x);
    const std::vector<float> fast_values = dequantize(codec(), fast, x.size());
    force_simd(false);
    const Row plain = quantize(codec(), x);
    const std::vector<float> plain_values = dequantize(codec(), plain, x.size());
    force_simd(true);
    ASSERT_EQ(fast.codes, plain.codes);
    ASSERT_EQ(to_bits(fast.scale), to_bits(plain.scale));
    ASSERT_EQ(fast_values, plain_values);
  }
}

TEST(Codes, OfInt4LieLowNibbleFirstWithEightAdded) {
  const std::vector<float> x = {-7.0f, 7.0f, 0.0f, 3.0f};
  const Row row = quantize(KVCodec::Int4, x);
  EXPECT_EQ(row.codes, (std::vector<std::uint8_t>{0xF1, 0xB8}));
  std::vector<std::int8_t> integers(4);
  unpack_codes(KVCodec::Int4, row.codes.data(), 4, integers.data());
  EXPECT_EQ(integers, (std::vector<std::int8_t>{-7, 7, 0, 3}));
}

TEST(Codes, OfEveryByteDecodeAlikeAsIntegersAndAsFloats) {
  std::vector<std::uint8_t> codes(256);
  for (std::size_t i = 0; i < codes.size(); ++i) {
    codes[i] = static_cast<std::uint8_t>(i);
  }
  for (const KVCodec codec : {KVCodec::Int8, KVCodec::Int4}) {
    const std::int64_t n = codec == KVCodec::Int4 ? 512 : 256;
    std::vector<std::int8_t> integers(static_cast<std::size_t>(n));
    std::vector<float> values(static_cast<std::size_t>(n));
    unpack_codes(codec, codes.data(), n, integers.data());
    decode_codes(codec, codes.data(), n, values.data());
    for (std::size_t i = 0; i < values.size(); ++i) {
      ASSERT_EQ(values[i], static_cast<float>(integers[i]));
      const int wanted = codec == KVCodec::Int8
                             ? static_cast<int>(i) - (i > 127 ? 256 : 0)
                             : static_cast<int>(i % 2 == 0 ? i / 2 % 16 : i / 2 / 16) - 8;
      ASSERT_EQ(static_cast<int>(integers[i]), wanted);
    }
  }
  for (const KVCodec codec : {KVCodec::E4M3, KVCodec::E5M2}) {
    std::vector<float> values(256);
    decode_codes(codec, codes.data(), 256, values.data());
    for (std::uint32_t code = 0; code < 256; ++code) {
      ASSERT_TRUE(same(values[code], static_cast<float>(model_of(codec).decode(code)))) << code;
    }
  }
}

}  // namespace
}  // namespace octavo::ref_cpu
