// Comparisons, and what predicates are made of.
#include <cstdint>

#include "tests/cuda/simulated_gpu/machine/instruction_set.h"
#include "tests/cuda/simulated_gpu/machine/lanewise.h"

namespace octavo::simulated_gpu {
namespace {

template <typename T>
bool equal(T a, T b) {
  return a == b;
}
template <typename T>
bool not_equal(T a, T b) {
  return a != b;
}
template <typename T>
bool less(T a, T b) {
  return a < b;
}
template <typename T>
bool less_or_equal(T a, T b) {
  return a <= b;
}
template <typename T>
bool greater(T a, T b) {
  return a > b;
}
template <typename T>
bool greater_or_equal(T a, T b) {
  return a >= b;
}

// True of NaNs too.
bool not_equal_or_nan(float a, float b) {
  return !(a == b);
}
bool less_or_nan(float a, float b) {
  return !(a >= b);
}
bool less_or_equal_or_nan(float a, float b) {
  return !(a > b);
}
bool greater_or_equal_or_nan(float a, float b) {
  return !(a < b);
}
bool both_numbers(float a, float b) {
  return a == a && b == b;
}

bool both(bool a, bool b) {
  return a && b;
}
bool either(bool a, bool b) {
  return a || b;
}
bool one_of(bool a, bool b) {
  return a != b;
}
bool opposite(bool a) {
  return !a;
}
bool same(bool a) {
  return a;
}

template <typename T>
void add_all(InstructionSet& set, const std::string& type) {
  add_lanewise<&equal<T>>(set, ("setp.eq." + type).c_str());
  add_lanewise<&not_equal<T>>(set, ("setp.ne." + type).c_str());
  add_lanewise<&less<T>>(set, ("setp.lt." + type).c_str());
  add_lanewise<&less_or_equal<T>>(set, ("setp.le." + type).c_str());
  add_lanewise<&greater<T>>(set, ("setp.gt." + type).c_str());
  add_lanewise<&greater_or_equal<T>>(set, ("setp.ge." + type).c_str());
}

}  // namespace

void add_comparisons(InstructionSet& set) {
  add_all<std::int16_t>(set, "s16");
  add_all<std::uint16_t>(set, "u16");
  add_all<std::int32_t>(set, "s32");
  add_all<std::uint32_t>(set, "u32");
  add_all<std::int64_t>(set, "s64");
  add_all<std::uint64_t>(set, "u64");
  add_lanewise<&equal<std::uint16_t>>(set, "setp.eq.b16");
  add_lanewise<&equal<std::uint32_t>>(set, "setp.eq.b32");
  add_lanewise<&equal<std::uint64_t>>(set, "setp.eq.b64");

  add_lanewise<&equal<float>>(set, "setp.eq.f32");
  add_lanewise<&less<float>>(set, "setp.lt.f32");
  add_lanewise<&less_or_equal<float>>(set, "setp.le.f32");
  add_lanewise<&greater<float>>(set, "setp.gt.f32");
  add_lanewise<&greater_or_equal<float>>(set, "setp.ge.f32");
  add_lanewise<&not_equal_or_nan>(set, "setp.neu.f32");
  add_lanewise<&less_or_nan>(set, "setp.ltu.f32");
  add_lanewise<&less_or_equal_or_nan>(set, "setp.leu.f32");
  add_lanewise<&greater_or_equal_or_nan>(set, "setp.geu.f32");
  add_lanewise<&both_numbers>(set, "setp.num.f32");

  add_lanewise<&both>(set, "and.pred");
  add_lanewise<&either>(set, "or.pred");
  add_lanewise<&one_of>(set, "xor.pred");
  add_lanewise<&opposite>(set, "not.pred");
  add_lanewise<&same>(set, "mov.pred");
}

}  // namespace octavo::simulated_gpu
