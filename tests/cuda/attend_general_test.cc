// The general attention kernel against the reference, bit for bit: every pair of formats, and the
// shapes that no other kernel takes.
#include <string>
#include <tuple>
#include <vector>

#include "attend_testing.h"
#include <gtest/gtest.h>

namespace octavo::cuda_test {
namespace {

using ops_test::Part;

constexpr EmulatedDeviceOptions kGeneral{.general_only = true};

const std::vector<DType> kFormats = {DType::F32,  DType::F16,  DType::BF16, DType::E4M3,
                                     DType::E5M2, DType::Int8, DType::Int4};

bool is_codec(DType dtype) {
  return dtype != DType::F32 && dtype != DType::F16 && dtype != DType::BF16;
}

class EveryPair : public testing::TestWithParam<std::tuple<DType, DType>> {};

TEST_P(EveryPair, GivesTheBitsOfTheReference) {
  const auto [keys, values] = GetParam();
  if (!is_codec(keys) && !is_codec(values) && keys != values) {
    GTEST_SKIP() << "unquantized rows share a dtype";
  }
  Model model{.kv_heads = 2, .group = 3, .head_dim = 72, .v_head_dim = 40};
  store_as(keys, KVScale::PerTokenHead, model, Part::Key);
  store_as(values, KVScale::Static, model, Part::Value);
  Placement placement{.block_size = 8, .partials = true};
  EXPECT_EQ(difference_from_reference(model, placement, {{0, 260}}, {{{0, 1}, {1, 3}}}, kGeneral),
            "");
  store_as(keys, KVScale::Static, model, Part::Key);
  store_as(values, KVScale::PerTokenHead, model, Part::Value);
  model.soft_cap = 5.0f;
  model.sinks = true;
  model.window = 20;
  placement.partials = false;
  EXPECT_EQ(difference_from_reference(model, placement, {{0, 258}}, {{{0, 3}}}, kGeneral), "");
}

INSTANTIATE_TEST_SUITE_P(AttendGeneral,
                         EveryPair,
                         testing::Combine(testing::ValuesIn(kFormats), testing::ValuesIn(kFormats)),
                         [](const auto& param_info) {
                           return std::string(to_string(std::get<0>(param_info.param))) + "_" +
                                  std::string(to_string(std::get<1>(param_info.param)));
                         });

}  // namespace
}  // namespace octavo::cuda_test
