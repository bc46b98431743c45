// Arithmetic by CUDA's names, as its documentation has it.
#include <cmath>
#include <cstdint>
#include <limits>

#include "kernel_test.h"

namespace octavo::cuda {
inline namespace emulated {
namespace {

TEST(Arithmetic, RoundsToNearestWhereItIsWritten) {
  const float tiny = 0x1p-24f;
  EXPECT_EQ(__fadd_rn(1.0f, tiny), 1.0f);
  EXPECT_EQ(__fadd_rn(1.0f + 0x1p-23f, tiny), 1.0f + 0x1p-22f);
  EXPECT_EQ(__fsub_rn(1.0f, 0x1p-25f), 1.0f);
  // One rounding or two.
  const float x = 1.0f + 0x1p-12f;
  EXPECT_EQ(__fadd_rn(__fmul_rn(x, x), -1.0f), 0x1p-11f);
  EXPECT_EQ(__fmaf_rn(x, x, -1.0f), 0x1p-11f + 0x1p-24f);
  EXPECT_EQ(__fdiv_rn(1.0f, 3.0f), 0x1.555556p-2f);
  EXPECT_EQ(__fsqrt_rn(2.0f), 0x1.6a09e6p+0f);
  EXPECT_EQ(__fmul_rn(0x1p-100f, 0x1p-40f), 0x1p-140f);
}

TEST(Arithmetic, ConvertsToIntegers) {
  EXPECT_EQ(__float2int_rn(0.5f), 0);
  EXPECT_EQ(__float2int_rn(1.5f), 2);
  EXPECT_EQ(__float2int_rn(-2.5f), -2);
  EXPECT_EQ(__float2int_rn(2147483520.0f), 2147483520);
  EXPECT_EQ(__float2int_rn(1e10f), std::numeric_limits<int>::max());
  EXPECT_EQ(__float2int_rn(-1e10f), std::numeric_limits<int>::min());
  EXPECT_EQ(__float2int_rn(std::nanf("")), 0);
  EXPECT_EQ(__int2float_rn(16777217), 16777216.0f);
  EXPECT_EQ(__int2float_rn(16777219), 16777220.0f);
  EXPECT_EQ(__uint2float_rn(0xFFFFFFFFu), 4294967296.0f);
  EXPECT_EQ(__float_as_int(-0.0f), std::numeric_limits<int>::min());
  EXPECT_EQ(__int_as_float(0x3F800000), 1.0f);
  EXPECT_EQ(__float_as_uint(1.0f), 0x3F800000u);
  EXPECT_EQ(__uint_as_float(0xC0000000u), -2.0f);
}

TEST(Arithmetic, CountsBits) {
  EXPECT_EQ(__popc(0xF000000Fu), 8);
  EXPECT_EQ(__clz(0), 32);
  EXPECT_EQ(__clz(1), 31);
  EXPECT_EQ(__clz(-1), 0);
  EXPECT_EQ(__ffs(0), 0);
  EXPECT_EQ(__ffs(0x50), 5);
  EXPECT_EQ(__ffs(std::numeric_limits<int>::min()), 32);
}

TEST(Arithmetic, PermutesBytes) {
  EXPECT_EQ(__byte_perm(0x33221100u, 0x77665544u, 0x0123u), 0x00112233u);
  EXPECT_EQ(__byte_perm(0x33221100u, 0x77665544u, 0x7531u), 0x77553311u);
  EXPECT_EQ(__byte_perm(0x80007F00u, 0u, 0xB9B3u), 0xFF00FF80u);
}

TEST(Arithmetic, MultipliesSignedBytes) {
  EXPECT_EQ(__dp4a(0x01020304, 0x05060708, 10), 5 + 12 + 21 + 32 + 10);
  EXPECT_EQ(__dp4a(static_cast<int>(0xFF80FF80u), 0x7F7F7F7F, 0), (-1 - 128 - 1 - 128) * 127);
  EXPECT_EQ(__dp4a(0x01, 0x01, std::numeric_limits<int>::max()), std::numeric_limits<int>::min());
}

TEST(Arithmetic, PicksTheSmallerAndTheLarger) {
  EXPECT_EQ(min(-1, 1), -1);
  EXPECT_EQ(max(-1, 1), 1);
  EXPECT_EQ(max(1u, 0xFFFFFFFFu), 0xFFFFFFFFu);
  const std::int64_t large = std::int64_t{1} << 40;
  EXPECT_EQ(min(large, large + 1), large);
  EXPECT_EQ(__ldg(&large), large);
}

}  // namespace
}  // namespace emulated
}  // namespace octavo::cuda
