// Conversions against the table model, and, where the CUDA toolkit is installed, against its own.

#include "float_bits.h"

#include <cmath>
#include <cstdint>
#include <vector>

#include "format_model.h"
#include "octavo/dtype.h"
#include "rows.h"
#include "samples.h"
#include "simd.h"
#include <gtest/gtest.h>

#ifdef OCTAVO_HAS_CUDA_HEADERS
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#endif

namespace octavo::ref_cpu {
namespace {

using numerics_test::FormatModel;
using numerics_test::from_bits;
using numerics_test::to_bits;

struct F16 {
  static FormatModel model() { return {5, 10, 15, FormatModel::Top::Infinity}; }
  static std::uint32_t narrow(float x) { return f32_to_f16(x); }
  static float widen(std::uint32_t code) { return f16_to_f32(static_cast<std::uint16_t>(code)); }
};
struct BF16 {
  static FormatModel model() { return {8, 7, 127, FormatModel::Top::Infinity}; }
  static std::uint32_t narrow(float x) { return f32_to_bf16(x); }
  static float widen(std::uint32_t code) { return bf16_to_f32(static_cast<std::uint16_t>(code)); }
};
struct E4M3 {
  static FormatModel model() { return {4, 3, 7, FormatModel::Top::NanOnly}; }
  static std::uint32_t narrow(float x) { return f32_to_e4m3(x); }
  static float widen(std::uint32_t code) { return e4m3_to_f32(static_cast<std::uint8_t>(code)); }
};
struct E5M2 {
  static FormatModel model() { return {5, 2, 15, FormatModel::Top::Saturated}; }
  static std::uint32_t narrow(float x) { return f32_to_e5m2(x); }
  static float widen(std::uint32_t code) { return e5m2_to_f32(static_cast<std::uint8_t>(code)); }
};

template <typename Format>
class FloatBits : public testing::Test {};
using Formats = testing::Types<F16, BF16, E4M3, E5M2>;
TYPED_TEST_SUITE(FloatBits, Formats);

TYPED_TEST(FloatBits, EveryCodeMeansWhatTheFormatSays) {
  const FormatModel model = TypeParam::model();
  for (std::uint32_t code = 0; code < model.codes(); ++code) {
    const double wanted = model.decode(code);
    const float got = TypeParam::widen(code);
    if (std::isnan(wanted)) {
      ASSERT_TRUE(std::isnan(got)) << code;
    } else {
      ASSERT_EQ(static_cast<double>(got), wanted) << code;
      ASSERT_EQ(std::signbit(got), std::signbit(wanted)) << code;
    }
  }
}

TYPED_TEST(FloatBits, EveryCodeComesBackFromItsValue) {
  const FormatModel model = TypeParam::model();
  for (std::uint32_t code = 0; code < model.codes(); ++code) {
    const double value = model.decode(code);
    if (std::isfinite(value)) {
      ASSERT_EQ(TypeParam::narrow(TypeParam::widen(code)), code);
    }
  }
}

TYPED_TEST(FloatBits, ADenseSampleOfAllFloatsRoundsToTheNearestCode) {
  const FormatModel model = TypeParam::model();
  std::int64_t wrong = 0;
  std::uint32_t example = 0;
  numerics_test::visit_dense_floats([&](std::uint32_t bits) {
    const float x = from_bits(bits);
    if (TypeParam::narrow(x) != model.encode(static_cast<double>(x))) {
      ++wrong;
      example = bits;
    }
  });
  EXPECT_EQ(wrong, 0) << "e.g. " << from_bits(example);
}

TYPED_TEST(FloatBits, TiesBetweenNeighboursGoToTheEvenCodeAndTheirNeighboursDoNot) {
  const FormatModel model = TypeParam::model();
  for (std::uint32_t code = 0; code < model.max_code(); ++code) {
    const auto low = static_cast<float>(model.decode(code));
    const auto high = static_cast<float>(model.decode(code + 1));
    const float tie = low + (high - low) * 0.5f;
    if (tie == low || tie == high) {
      continue;  // bf16's smallest subnormals: no float lies between.
    }
    ASSERT_EQ(TypeParam::narrow(tie), code + code % 2) << tie;
    ASSERT_EQ(TypeParam::narrow(from_bits(to_bits(tie) - 1)), code) << tie;
    ASSERT_EQ(TypeParam::narrow(from_bits(to_bits(tie) + 1)), code + 1) << tie;
    ASSERT_EQ(TypeParam::narrow(-tie), (code + code % 2) | model.codes() / 2) << tie;
  }
}

TYPED_TEST(FloatBits, EveryNanBecomesTheOneOfTheFormat) {
  const FormatModel model = TypeParam::model();
  for (const std::uint32_t bits :
       {0x7F800001u, 0x7FC00000u, 0x7FFFFFFFu, 0xFF800001u, 0xFFC00000u}) {
    EXPECT_EQ(TypeParam::narrow(from_bits(bits)), model.nan_code());
  }
}

TEST(FloatBitsEnds, AreWhatTheContractSays) {
  const float infinity = from_bits(0x7F800000u);
  EXPECT_EQ(f32_to_f16(infinity), 0x7C00);
  EXPECT_EQ(f32_to_f16(65519.99f), 0x7BFF);
  EXPECT_EQ(f32_to_f16(65520.0f), 0x7C00);
  EXPECT_EQ(f32_to_bf16(-infinity), 0xFF80);
  EXPECT_EQ(f32_to_bf16(from_bits(0x7F7FFFFFu)), 0x7F80);
  EXPECT_EQ(f32_to_e4m3(infinity), 0x7E);
  EXPECT_EQ(f32_to_e4m3(-infinity), 0xFE);
  EXPECT_EQ(f32_to_e4m3(464.0f), 0x7E);
  EXPECT_EQ(f32_to_e5m2(infinity), 0x7B);
  EXPECT_EQ(f32_to_e5m2(-1e9f), 0xFB);
  EXPECT_EQ(to_bits(e4m3_to_f32(0xFF)), kNanBits);
  EXPECT_EQ(to_bits(e5m2_to_f32(0xFD)), kNanBits);
  EXPECT_EQ(to_bits(f16_to_f32(0xFC01)), kNanBits);
  EXPECT_EQ(to_bits(bf16_to_f32(0xFFC1)), 0xFFC10000u);
}

TEST(Rows, ConvertAsTheirElementsDoAtAnyLengthAndOffset) {
  numerics_test::Random random(1);
  for (const DType dtype : {DType::F32, DType::F16, DType::BF16}) {
    for (std::int64_t n = 0; n < 70; ++n) {
      const std::vector<float> values = random.units(n, 3.0f);
      std::vector<std::uint16_t> halves(200);
      std::vector<float> floats(200);
      void* data = dtype == DType::F32 ? static_cast<void*>(floats.data()) : halves.data();
      std::vector<float> back(static_cast<std::size_t>(n));
      encode_row(dtype, values.data(), n, data, 5);
      decode_row(dtype, data, 5, n, back.data());
      for (std::size_t i = 0; i < values.size(); ++i) {
        const float wanted = dtype == DType::F16    ? f16_to_f32(f32_to_f16(values[i]))
                             : dtype == DType::BF16 ? bf16_to_f32(f32_to_bf16(values[i]))
                                                    : values[i];
        ASSERT_EQ(to_bits(back[i]), to_bits(wanted));
      }
    }
  }
}

#ifdef OCTAVO_HAS_CUDA_HEADERS

TEST(CudaToolkit, NarrowsADenseSampleOfAllFloatsToTheSameBits) {
  std::int64_t wrong = 0;
  numerics_test::visit_dense_floats([&](std::uint32_t bits) {
    const float x = from_bits(bits);
    wrong += __half_raw(__float2half_rn(x)).x != f32_to_f16(x);
    wrong += __nv_bfloat16_raw(__float2bfloat16_rn(x)).x != f32_to_bf16(x);
    wrong += __nv_cvt_float_to_fp8(x, __NV_SATFINITE, __NV_E4M3) != f32_to_e4m3(x);
    wrong += __nv_cvt_float_to_fp8(x, __NV_SATFINITE, __NV_E5M2) != f32_to_e5m2(x);
  });
  EXPECT_EQ(wrong, 0);
}

TEST(CudaToolkit, WidensEveryCodeToTheSameBits) {
  for (std::uint32_t code = 0; code < 1u << 16; ++code) {
    __half_raw half;
    half.x = static_cast<std::uint16_t>(code);
    ASSERT_EQ(to_bits(__half2float(__half(half))), to_bits(f16_to_f32(half.x))) << code;
    __nv_bfloat16_raw bfloat;
    bfloat.x = static_cast<std::uint16_t>(code);
    ASSERT_EQ(to_bits(__bfloat162float(__nv_bfloat16(bfloat))), to_bits(bf16_to_f32(bfloat.x)))
        << code;
  }
  for (std::uint32_t code = 0; code < 256; ++code) {
    const auto byte = static_cast<std::uint8_t>(code);
    const auto widened = [&](__nv_fp8_interpretation_t format) {
      return to_bits(__half2float(__half(__nv_cvt_fp8_to_halfraw(byte, format))));
    };
    EXPECT_EQ(widened(__NV_E4M3), to_bits(e4m3_to_f32(byte))) << code;
    EXPECT_EQ(widened(__NV_E5M2), to_bits(e5m2_to_f32(byte))) << code;
  }
}

#else

TEST(CudaToolkit, NarrowsADenseSampleOfAllFloatsToTheSameBits) {
  GTEST_SKIP() << "built without the CUDA toolkit's headers";
}

#endif

}  // namespace
}  // namespace octavo::ref_cpu
