// From one type to another.
#include <cmath>
#include <cstdint>
#include <limits>

#include "tests/cuda/simulated_gpu/machine/instruction_set.h"
#include "tests/cuda/simulated_gpu/machine/lanewise.h"
#include "tests/cuda/simulated_gpu/machine/small_floats.h"

namespace octavo::simulated_gpu {
namespace {

using std::int32_t;
using std::int64_t;
using std::uint16_t;
using std::uint32_t;
using std::uint64_t;

template <typename To, typename From>
To convert(From x) {
  return static_cast<To>(x);
}

// From the lower part of a register.
int32_t from_low_byte(uint32_t x) {
  return static_cast<std::int8_t>(x);
}

int64_t from_low_word(uint64_t x) {
  return static_cast<int32_t>(static_cast<uint32_t>(x));
}

float float_of(int32_t x) {
  return static_cast<float>(x);
}

// Beyond the range: the end of it; of a NaN: 0.
int32_t nearest_integer(float x) {
  if (x != x) {
    return 0;
  }
  const double rounded = std::nearbyint(double{x});
  if (rounded >= 0x1p31) {
    return std::numeric_limits<int32_t>::max();
  }
  return rounded <= -0x1p31 ? std::numeric_limits<int32_t>::min() : static_cast<int32_t>(rounded);
}

float from_f16(uint16_t x) {
  return decode(kF16, x);
}
uint16_t to_f16(float x) {
  return static_cast<uint16_t>(encode(kF16, x));
}
uint16_t to_bf16(float x) {
  return static_cast<uint16_t>(encode(kBF16, x));
}

// Of two, the first is the upper half.
uint32_t to_two_f16(float high, float low) {
  return encode(kF16, high) << 16 | encode(kF16, low);
}
uint32_t to_two_bf16(float high, float low) {
  return encode(kBF16, high) << 16 | encode(kBF16, low);
}
uint16_t to_two_e4m3(float high, float low) {
  return static_cast<uint16_t>(encode(kE4M3, high) << 8 | encode(kE4M3, low));
}
uint16_t to_two_e5m2(float high, float low) {
  return static_cast<uint16_t>(encode(kE5M2, high) << 8 | encode(kE5M2, low));
}
uint32_t two_f16_of_e4m3(uint16_t x) {
  return to_two_f16(decode(kE4M3, x >> 8), decode(kE4M3, x & 0xFFu));
}

}  // namespace

void add_conversions(InstructionSet& set) {
  add_lanewise<&convert<uint16_t, uint32_t>>(set, "cvt.u16.u32");
  add_lanewise<&convert<uint32_t, uint16_t>>(set, "cvt.u32.u16");
  add_lanewise<&convert<uint32_t, uint64_t>>(set, "cvt.u32.u64");
  add_lanewise<&convert<uint64_t, uint32_t>>(set, "cvt.u64.u32");
  add_lanewise<&convert<int64_t, int32_t>>(set, "cvt.s64.s32");
  add_lanewise<&from_low_word>(set, "cvt.s64.s32 of 64 bits");
  add_lanewise<&from_low_byte>(set, "cvt.s32.s8");
  add_lanewise<&float_of>(set, "cvt.rn.f32.s32");
  add_lanewise<&nearest_integer>(set, "cvt.rni.s32.f32");
  add_lanewise<&from_f16>(set, "cvt.f32.f16");
  add_lanewise<&to_f16>(set, "cvt.rn.f16.f32");
  add_lanewise<&to_bf16>(set, "cvt.rn.bf16.f32");
  add_lanewise<&to_two_f16>(set, "cvt.rn.f16x2.f32");
  add_lanewise<&to_two_bf16>(set, "cvt.rn.bf16x2.f32");
  add_lanewise<&to_two_e4m3>(set, "cvt.rn.satfinite.e4m3x2.f32");
  add_lanewise<&to_two_e5m2>(set, "cvt.rn.satfinite.e5m2x2.f32");
  add_lanewise<&two_f16_of_e4m3>(set, "cvt.rn.f16x2.e4m3x2");
}

}  // namespace octavo::simulated_gpu
