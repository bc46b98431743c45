// DType, Dims and checked arithmetic.
#include <cstdint>
#include <limits>
#include <string>

#include "base/checked.h"
#include "octavo/dims.h"
#include "octavo/dtype.h"
#include "plan_testing.h"
#include <gtest/gtest.h>

namespace octavo {
namespace {

using testing::raised;

constexpr DType kAll[] = {DType::F32,   DType::F16,  DType::BF16, DType::E4M3, DType::E5M2,
                          DType::Int32, DType::Int8, DType::Int4, DType::UInt8};
constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

TEST(DType, NamesAndWidthsAreThoseOfTheFormats) {
  const char* names[] = {"f32", "f16", "bf16", "e4m3", "e5m2", "int32", "int8", "int4", "uint8"};
  const int bits[] = {32, 16, 16, 8, 8, 32, 8, 4, 8};
  for (std::size_t i = 0; i < 9; ++i) {
    EXPECT_EQ(to_string(kAll[i]), names[i]);
    EXPECT_EQ(bits_per_element(kAll[i]), bits[i]) << names[i];
  }
}

TEST(DType, EveryNameParsesBackToItsType) {
  for (const DType dtype : kAll) {
    EXPECT_EQ(parse_dtype(to_string(dtype)), dtype);
  }
}

TEST(DType, TheFieldsSpellingsParseInAnyCase) {
  EXPECT_EQ(parse_dtype("bfloat16"), DType::BF16);
  EXPECT_EQ(parse_dtype("FP16"), DType::F16);
  EXPECT_EQ(parse_dtype("float32"), DType::F32);
  EXPECT_EQ(parse_dtype("fp8_e4m3"), DType::E4M3);
  EXPECT_EQ(parse_dtype("float8_e5m2"), DType::E5M2);
}

TEST(DType, AnUnknownNameIsRefusedWithTheLegalOnes) {
  EXPECT_EQ(raised(ErrorCode::InvalidArgument, [] { parse_dtype("f12"); }),
            "parse_dtype: name 'f12' is none of f32, f16, bf16, e4m3, e5m2, int32, int8, int4, "
            "uint8");
  raised(ErrorCode::InvalidArgument, [] { parse_dtype(""); });
}

TEST(DType, Int4IsStoredAsHalfAsManyBytes) {
  EXPECT_EQ(storage_dtype(DType::Int4), DType::UInt8);
  EXPECT_EQ(storage_elements(DType::Int4, 128), 64);
  EXPECT_EQ(storage_dtype(DType::E4M3), DType::E4M3);
  EXPECT_EQ(storage_elements(DType::E4M3, 127), 127);
  raised(ErrorCode::InvalidArgument, [] { bytes_per_element(DType::Int4); });
  raised(ErrorCode::InvalidArgument, [] { storage_elements(DType::Int4, 127); });
  raised(ErrorCode::InvalidArgument, [] { storage_elements(DType::F32, -1); });
}

TEST(Dims, HoldUpToSixValuesAndPrintThem) {
  const Dims dims = {2, 3, 4, 5, 6, 7};
  EXPECT_EQ(to_string(dims), "[2, 3, 4, 5, 6, 7]");
  EXPECT_EQ(dims.without(0), (Dims{3, 4, 5, 6, 7}));
  EXPECT_EQ(dims.without(5), (Dims{2, 3, 4, 5, 6}));
  EXPECT_NE(dims, dims.without(5));
  EXPECT_EQ(to_string(Dims{}), "[]");
  raised(ErrorCode::InvalidArgument, [] { Dims({1, 2, 3, 4, 5, 6, 7}); });
}

TEST(CheckedArithmetic, IsExactUpToTheLastBitAndRefusesTheNext) {
  EXPECT_EQ(checked_add(kMax - 1, 1, "x"), kMax);
  EXPECT_EQ(checked_mul(kMax, 1, "x"), kMax);
  EXPECT_EQ(checked_mul(std::int64_t{1} << 31, std::int64_t{1} << 31, "x"), std::int64_t{1} << 62);
  EXPECT_EQ(raised(ErrorCode::InvalidArgument, [] { checked_add(kMax, 1, "the sum"); }),
            "the sum does not fit into 64 bits; the largest is 9223372036854775807");
  raised(ErrorCode::InvalidArgument, [] { checked_mul(std::int64_t{1} << 32, 1LL << 31, "x"); });
  EXPECT_THROW(checked_mul(kMax, 2, "x"), SizeOverflow);
}

TEST(CheckedArithmetic, CeilDivisionDoesNotOverflow) {
  EXPECT_EQ(ceil_div(0, 16), 0);
  EXPECT_EQ(ceil_div(16, 16), 1);
  EXPECT_EQ(ceil_div(17, 16), 2);
  EXPECT_EQ(ceil_div(kMax, 2), kMax / 2 + 1);
}

}  // namespace
}  // namespace octavo
