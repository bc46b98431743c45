// What single instructions do, lane by lane.
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include <gtest/gtest.h>

#include "tests/cuda/simulated_gpu/machine/kernel_text.h"
#include "tests/cuda/simulated_gpu/machine/small_floats.h"

namespace octavo::simulated_gpu {
namespace {

constexpr std::uint32_t kOneNan = 0x7FFFFFFF;

std::uint32_t bits(float x) {
  return std::bit_cast<std::uint32_t>(x);
}

// `instructions` with a, b and c in %r2, %r3, %r4 and %f2, %f3, %f4, the low halves in %rs2 and so
// on, and all of them beside each other in %rd3 = b:a; the result is in %r5.
std::uint32_t result_of(const std::string& instructions,
                        std::uint32_t a,
                        std::uint32_t b = 0,
                        std::uint32_t c = 0) {
  const Words words = run_body(
      "ld.global.u32 %r2, [%rd1+4]; ld.global.u32 %r3, [%rd1+8]; ld.global.u32 %r4, [%rd1+12];\n"
      "mov.b32 %f2, %r2; mov.b32 %f3, %r3; mov.b32 %f4, %r4;\n"
      "cvt.u16.u32 %rs2, %r2; cvt.u16.u32 %rs3, %r3; cvt.u64.u32 %rd3, %r3;\n"
      "shl.b64 %rd3, %rd3, 32; cvt.u64.u32 %rd4, %r2; or.b64 %rd3, %rd3, %rd4;\n" +
          instructions + "\nst.global.u32 [%rd1], %r5;",
      {0, a, b, c}, 1);
  return words[0];
}

TEST(Instructions, IntegersWrap) {
  EXPECT_EQ(result_of("add.s32 %r5, %r2, %r3;", 0x7FFFFFFF, 1), 0x80000000u);
  EXPECT_EQ(result_of("sub.s32 %r5, %r2, %r3;", 0, 1), 0xFFFFFFFFu);
  EXPECT_EQ(result_of("mul.lo.s32 %r5, %r2, %r3;", 0x10001, 0x10001), 0x20001u);
  EXPECT_EQ(result_of("mul.hi.s32 %r5, %r2, %r3;", 0xFFFFFFFF, 5), 0xFFFFFFFFu);
  EXPECT_EQ(result_of("mad.lo.s32 %r5, %r2, -3, %r4;", 7, 0, 100), 79u);
  EXPECT_EQ(result_of("mul.wide.s32 %rd5, %r2, %r3; shr.u64 %rd5, %rd5, 32; cvt.u32.u64 %r5, %rd5;",
                      0xFFFFFFFF, 2),
            0xFFFFFFFFu);
  EXPECT_EQ(result_of("mul.wide.u32 %rd5, %r2, %r3; shr.u64 %rd5, %rd5, 32; cvt.u32.u64 %r5, %rd5;",
                      0xFFFFFFFF, 2),
            1u);
  EXPECT_EQ(result_of("mul.wide.u16 %r5, %rs2, %rs3;", 0x1FFFF, 0xFFFF), 0xFFFE0001u);
  EXPECT_EQ(result_of("add.s16 %rs5, %rs2, 1; cvt.u32.u16 %r5, %rs5;", 0xFFFF), 0u);
}

TEST(Instructions, SignsDecideWhatIsLess) {
  EXPECT_EQ(result_of("min.s32 %r5, %r2, %r3;", 0xFFFFFFFF, 1), 0xFFFFFFFFu);
  EXPECT_EQ(result_of("min.u32 %r5, %r2, %r3;", 0xFFFFFFFF, 1), 1u);
  EXPECT_EQ(result_of("max.s32 %r5, %r2, %r3;", 0xFFFFFFFF, 1), 1u);
  EXPECT_EQ(result_of("max.u32 %r5, %r2, %r3;", 0xFFFFFFFF, 1), 0xFFFFFFFFu);
  const std::string select = " selp.b32 %r5, 1, 0, %p1;";
  EXPECT_EQ(result_of("setp.lt.s32 %p1, %r2, %r3;" + select, 0xFFFFFFFF, 1), 1u);
  EXPECT_EQ(result_of("setp.lt.u32 %p1, %r2, %r3;" + select, 0xFFFFFFFF, 1), 0u);
  EXPECT_EQ(result_of("setp.gt.s16 %p1, %rs2, %rs3;" + select, 0x8000, 1), 0u);
}

TEST(Instructions, ShiftsBeyondAllBitsAreByAllBits) {
  EXPECT_EQ(result_of("shl.b32 %r5, %r2, %r3;", 1, 31), 0x80000000u);
  EXPECT_EQ(result_of("shl.b32 %r5, %r2, %r3;", 1, 32), 0u);
  EXPECT_EQ(result_of("shr.u32 %r5, %r2, %r3;", 0x80000000, 33), 0u);
  EXPECT_EQ(result_of("shr.s32 %r5, %r2, %r3;", 0x80000000, 300), 0xFFFFFFFFu);
  EXPECT_EQ(result_of("shr.s64 %rd5, %rd3, %r4; cvt.u32.u64 %r5, %rd5;", 0, 0x80000000, 64),
            0xFFFFFFFFu);
  EXPECT_EQ(result_of("shl.b16 %rs5, %rs2, 15; cvt.u32.u16 %r5, %rs5;", 3), 0x8000u);
}

TEST(Instructions, BytesAndBits) {
  EXPECT_EQ(result_of("prmt.b32 %r5, %r2, %r3, %r4;", 0x33221100, 0x77665544, 0x0617), 0x00661177u);
  EXPECT_EQ(result_of("prmt.b32 %r5, %r2, %r3, %r4;", 0x00008000, 0, 0x9988), 0xFFFF0000u);
  for (const std::uint32_t table : {0x6Au, 0xE8u, 0x96u}) {
    const std::string text = "lop3.b32 %r5, %r2, %r3, %r4, " + std::to_string(table) + ";";
    const std::uint32_t a = 0xF0F0F0F0;
    const std::uint32_t b = 0xCCCCCCCC;
    const std::uint32_t c = 0xAAAAAAAA;
    // These three, by the definition of the table: what it gives for them is itself, repeated.
    EXPECT_EQ(result_of(text, a, b, c), table * 0x01010101u);
  }
  EXPECT_EQ(result_of("bfi.b32 %r5, %r2, %r3, 4, 8;", 0xFFF5A, 0x12345678), 0x123455A8u);
  EXPECT_EQ(result_of("bfi.b32 %r5, %r2, %r3, 0, 32;", 0xABCDEF01, 5), 0xABCDEF01u);
  EXPECT_EQ(result_of("bfi.b32 %r5, %r2, %r3, 3, 0;", 7, 5), 5u);
  EXPECT_EQ(result_of("mov.b32 {%rs5, %rs6}, %r2; mov.b32 %r5, {%rs6, %rs5};", 0x12345678),
            0x56781234u);
}

TEST(Instructions, DivideAsCDoesAndNeverByZero) {
  EXPECT_EQ(result_of("div.s32 %r5, %r2, %r3;", static_cast<std::uint32_t>(-7), 2),
            static_cast<std::uint32_t>(-3));
  EXPECT_EQ(result_of("rem.s32 %r5, %r2, %r3;", static_cast<std::uint32_t>(-7), 2),
            static_cast<std::uint32_t>(-1));
  EXPECT_EQ(result_of("div.s32 %r5, %r2, %r3;", 0x80000000, 0xFFFFFFFF), 0x80000000u);
  EXPECT_EQ(result_of("rem.s32 %r5, %r2, %r3;", 0x80000000, 0xFFFFFFFF), 0u);
  EXPECT_EQ(result_of("div.u32 %r5, %r2, %r3;", 0xFFFFFFFF, 2), 0x7FFFFFFFu);
  EXPECT_EQ(result_of("div.u64 %rd5, %rd3, 3; cvt.u32.u64 %r5, %rd5;", 0, 3), 0u);
  EXPECT_NE(message_of([] { result_of("rem.u32 %r5, %r2, %r3;", 1, 0); }).find("division by zero"),
            std::string::npos);
}

TEST(Instructions, ANanThatComesOutIsOne) {
  const auto out = [](const std::string& instruction, float a, float b) {
    return result_of(instruction + " mov.b32 %r5, %f5;", bits(a), bits(b));
  };
  const float infinity = std::numeric_limits<float>::infinity();
  const float nan = -std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(out("sub.rn.f32 %f5, %f2, %f3;", infinity, infinity), kOneNan);
  EXPECT_EQ(out("add.rn.f32 %f5, %f2, %f3;", nan, 1), kOneNan);
  EXPECT_EQ(out("mul.rn.f32 %f5, %f2, %f3;", 0, infinity), kOneNan);
  EXPECT_EQ(out("div.rn.f32 %f5, %f2, %f3;", 0, 0), kOneNan);
  EXPECT_EQ(out("sqrt.rn.f32 %f5, %f2;", -1, 0), kOneNan);
  EXPECT_EQ(out("max.f32 %f5, %f2, %f3;", nan, nan), kOneNan);
}

TEST(Instructions, TheGreaterOneIsNoNanAndNoNegativeZero) {
  const auto out = [](const std::string& instruction, float a, float b) {
    return result_of(instruction + " mov.b32 %r5, %f5;", bits(a), bits(b));
  };
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::string greatest = "max.f32 %f5, %f2, %f3;";
  const std::string least = "min.f32 %f5, %f2, %f3;";
  EXPECT_EQ(out(greatest, nan, -2), bits(-2));
  EXPECT_EQ(out(greatest, -2, nan), bits(-2));
  EXPECT_EQ(out(greatest, -0.0f, 0.0f), bits(0.0f));
  EXPECT_EQ(out(greatest, 0.0f, -0.0f), bits(0.0f));
  EXPECT_EQ(out(least, 0.0f, -0.0f), bits(-0.0f));
  EXPECT_EQ(out(least, -0.0f, 0.0f), bits(-0.0f));
  EXPECT_EQ(out(least, 3, nan), bits(3));
  EXPECT_EQ(out(least, 3, 2), bits(2));
}

TEST(Instructions, AMultiplyAddRoundsOnceAndSubnormalsStay) {
  const float a = 1 + 0x1p-12f;
  EXPECT_EQ(result_of("fma.rn.f32 %f5, %f2, %f2, %f3; mov.b32 %r5, %f5;", bits(a), bits(-1)),
            bits(0x1p-11f + 0x1p-24f));
  EXPECT_EQ(
      result_of("mul.rn.f32 %f5, %f2, %f3; mov.b32 %r5, %f5;", bits(0x1p-100f), bits(0x1p-40f)),
      bits(0x1p-140f));
}

TEST(Instructions, ComparisonsOfNansAreWhatTheirNameSays) {
  const auto compare = [](const std::string& name, float a, float b) {
    return result_of("setp." + name + ".f32 %p1, %f2, %f3; selp.u32 %r5, 1, 0, %p1;", bits(a),
                     bits(b));
  };
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const char* name : {"eq", "lt", "le", "gt", "ge", "num"}) {
    EXPECT_EQ(compare(name, nan, 1), 0u) << name;
    EXPECT_EQ(compare(name, 1, nan), 0u) << name;
  }
  for (const char* name : {"neu", "ltu", "leu", "geu"}) {
    EXPECT_EQ(compare(name, nan, 1), 1u) << name;
    EXPECT_EQ(compare(name, 1, nan), 1u) << name;
  }
  EXPECT_EQ(compare("ltu", 1, 2), 1u);
  EXPECT_EQ(compare("leu", 2, 1), 0u);
  EXPECT_EQ(compare("geu", 1, 2), 0u);
  EXPECT_EQ(compare("neu", 0.0f, -0.0f), 0u);
}

TEST(Instructions, APowerOfTwoIsWithinItsBoundAndFlushes) {
  const auto power = [](float x) {
    return std::bit_cast<float>(
        result_of("ex2.approx.ftz.f32 %f5, %f2; mov.b32 %r5, %f5;", bits(x)));
  };
  bool is_rounded_right_everywhere = true;
  for (float x = -120; x < 120; x += 0.37f) {
    const double exact = std::exp2(double{x});
    EXPECT_LE(std::fabs(power(x) / exact - 1), 0x1p-22) << x;
    is_rounded_right_everywhere &= power(x) == static_cast<float>(exact);
  }
  EXPECT_FALSE(is_rounded_right_everywhere);
  EXPECT_EQ(power(-std::numeric_limits<float>::infinity()), 0);
  EXPECT_EQ(power(-140), 0);
  EXPECT_EQ(power(0x1p-140f), 1);
  EXPECT_EQ(power(-0.0f), 1);
}

TEST(Instructions, ConvertIntegersAndFloats) {
  const auto nearest = [](float x) {
    return static_cast<std::int32_t>(result_of("cvt.rni.s32.f32 %r5, %f2;", bits(x)));
  };
  EXPECT_EQ(nearest(2.5f), 2);
  EXPECT_EQ(nearest(-3.5f), -4);
  EXPECT_EQ(nearest(3e9f), std::numeric_limits<std::int32_t>::max());
  EXPECT_EQ(nearest(-3e9f), std::numeric_limits<std::int32_t>::min());
  EXPECT_EQ(nearest(std::numeric_limits<float>::quiet_NaN()), 0);
  EXPECT_EQ(result_of("cvt.rn.f32.s32 %f5, %r2; mov.b32 %r5, %f5;", 0xFF000001 - 2),
            bits(-0x1p24f));
  EXPECT_EQ(result_of("cvt.s32.s8 %r5, %r2;", 0x1280), 0xFFFFFF80u);
  EXPECT_EQ(result_of("cvt.s64.s32 %rd5, %rd3; shr.u64 %rd5, %rd5, 32; cvt.u32.u64 %r5, %rd5;",
                      0x80000000, 1),
            0xFFFFFFFFu);
  EXPECT_EQ(result_of("cvt.rn.f16x2.f32 %r5, %f2, %f3;", bits(1), bits(-2)), 0x3C00C000u);
  EXPECT_EQ(result_of("cvt.rn.bf16x2.f32 %r5, %f2, %f3;", bits(1), bits(-2)), 0x3F80C000u);
  EXPECT_EQ(result_of("cvt.rn.satfinite.e4m3x2.f32 %rs5, %f2, %f3; cvt.u32.u16 %r5, %rs5;",
                      bits(1e9f), bits(-1)),
            0x7EB8u);
  EXPECT_EQ(result_of("cvt.rn.satfinite.e5m2x2.f32 %rs5, %f2, %f3; cvt.u32.u16 %r5, %rs5;",
                      bits(1e9f), bits(-1)),
            0x7BBCu);
  EXPECT_EQ(result_of("cvt.rn.f16x2.e4m3x2 %r5, %rs2;", 0x38FE), 0x3C00DF00u);
}

TEST(SmallFloats, EveryCodeComesBack) {
  for (const SmallFloat& format : {kF16, kBF16, kE4M3, kE5M2}) {
    const std::uint32_t codes = 1u << (1 + format.exponent_bits + format.mantissa_bits);
    for (std::uint32_t code = 0; code < codes; ++code) {
      const float x = decode(format, code);
      if (x == x && !std::isinf(x)) {
        ASSERT_EQ(encode(format, x), code);
        ASSERT_EQ(decode(format, code ^ codes / 2), -x);
      }
    }
  }
}

TEST(SmallFloats, RoundToTheNearestAndTiesToEven) {
  for (const SmallFloat& format : {kF16, kBF16, kE4M3, kE5M2}) {
    for (std::uint32_t code = 0; code < format.largest; ++code) {
      const double low = decode(format, code);
      const double high = decode(format, code + 1);
      const auto middle = static_cast<float>((low + high) / 2);
      ASSERT_EQ(encode(format, middle), code + code % 2) << code;
      ASSERT_EQ(encode(format, std::nextafter(middle, 0.0f)), code);
      ASSERT_EQ(encode(format, std::nextafter(middle, std::numeric_limits<float>::infinity())),
                code + 1);
    }
  }
}

TEST(SmallFloats, TooLargeIsInfinityOrTheLargest) {
  EXPECT_EQ(encode(kF16, 65519.996f), 0x7BFFu);
  EXPECT_EQ(encode(kF16, 65520), 0x7C00u);
  EXPECT_EQ(encode(kBF16, std::numeric_limits<float>::max()), 0x7F80u);
  EXPECT_EQ(encode(kE4M3, -1000), 0xFEu);
  EXPECT_EQ(encode(kE5M2, std::numeric_limits<float>::infinity()), 0x7Bu);
  EXPECT_EQ(decode(kE4M3, 0x7E), 448);
  EXPECT_EQ(decode(kE5M2, 0x7B), 57344);
  EXPECT_TRUE(std::isnan(decode(kE4M3, 0x7F)));
  EXPECT_TRUE(std::isinf(decode(kE5M2, 0x7C)));
}

}  // namespace
}  // namespace octavo::simulated_gpu
