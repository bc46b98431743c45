// The general attention kernel against the reference, bit for bit: every pair of formats, and the
// shapes that no other kernel takes.
#include <string>
#include <utility>
#include <vector>

#include "attend_testing.h"
#include <gtest/gtest.h>

namespace octavo::cuda_test {
namespace {

using ops_test::Part;

constexpr TestedOptions kGeneral{.general_only = true};

const std::vector<DType> kFormats = {DType::F32,  DType::F16,  DType::BF16, DType::E4M3,
                                     DType::E5M2, DType::Int8, DType::Int4};

bool is_codec(DType dtype) {
  return dtype != DType::F32 && dtype != DType::F16 && dtype != DType::BF16;
}

// Keys and values; unquantized ones share a dtype.
std::vector<std::pair<DType, DType>> every_pair() {
  std::vector<std::pair<DType, DType>> pairs;
  for (const DType keys : kFormats) {
    for (const DType values : kFormats) {
      if (is_codec(keys) || is_codec(values) || keys == values) {
        pairs.emplace_back(keys, values);
      }
    }
  }
  return pairs;
}

class EveryPair : public testing::TestWithParam<std::pair<DType, DType>> {};

TEST_P(EveryPair, GivesTheBitsOfTheReference) {
  const auto [keys, values] = GetParam();
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
                         testing::ValuesIn(every_pair()),
                         [](const auto& param_info) {
                           return std::string(to_string(param_info.param.first)) + "_" +
                                  std::string(to_string(param_info.param.second));
                         });

TEST(AttendGeneral, EveryHeadDimGivesTheBitsOfTheReference) {
  for (const DType dtype : {DType::F32, DType::BF16, DType::E5M2, DType::Int8, DType::Int4}) {
    for (const auto& [keys, values] :
         std::vector<std::pair<std::int64_t, std::int64_t>>{{8, 8},
                                                            {16, 24},
                                                            {88, 104},
                                                            {248, 264},
                                                            {264, 8},
                                                            {512, 520},
                                                            {520, 512},
                                                            {1024, 1024}}) {
      Model model{.kv_heads = 1, .group = 2, .head_dim = keys, .v_head_dim = values};
      store_as(dtype, KVScale::PerTokenHead, model, Part::Key);
      store_as(dtype, KVScale::PerTokenHead, model, Part::Value);
      EXPECT_EQ(difference_from_reference(model, {}, {{0, 40}}, {{{0, 1}, {1, 2}}}, kGeneral), "")
          << to_string(dtype) << " " << keys << " " << values;
    }
  }
}

// Lengths that fill their last block: behind it the table has no cell.
TEST(AttendGeneral, EveryLengthAroundBlocksAndChunksGivesTheBitsOfTheReference) {
  for (const int length : {1, 16, 17, 32, 128, 255, 256, 257, 272}) {
    const Model model{.kv_heads = 1, .group = 2, .head_dim = 40, .v_head_dim = 24};
    EXPECT_EQ(difference_from_reference(model, {}, length > 1 ? Step{{0, length - 1}} : Step{},
                                        {{{0, 1}}}, kGeneral),
              "")
        << length;
  }
}

// Below 2^-100 the fixed point of a query stands still; above 2^100 it must not overflow.
TEST(AttendGeneral, TinyAndHugeQueriesOverIntegerRowsGiveTheBitsOfTheReference) {
  for (const float magnitude : {0x1p-112f, 0x1p-104f, 0x1p-90f, 0x1p+110f}) {
    for (const DType dtype : {DType::Int8, DType::Int4}) {
      Model model{.kv_heads = 1,
                  .group = 2,
                  .query_dtype = DType::F32,
                  .scale = 1.0f / magnitude,
                  .magnitude = magnitude};
      store_as(dtype, KVScale::PerTokenHead, model, Part::Key);
      store_as(dtype, KVScale::PerTokenHead, model, Part::Value);
      EXPECT_EQ(difference_from_reference(model, {}, {{0, 40}}, {{{0, 1}, {1, 2}}}, kGeneral), "")
          << to_string(dtype) << " " << magnitude;
    }
  }
}

TEST(AttendGeneral, EveryLayoutGivesTheBitsOfTheReference) {
  for (const std::int64_t group : {1, 8, 11}) {
    for (const std::int64_t window : {0, 29}) {
      for (const bool paged : {true, false}) {
        const Model model{.kv_heads = 1,
                          .group = group,
                          .head_dim = 40,
                          .v_head_dim = 48,
                          .query_dtype = DType::F16,
                          .kv_dtype = DType::F16,
                          .window = window,
                          .out_dtype = DType::F16};
        const Placement placement{
            .paged = paged, .block_size = 2, .max_step = 3, .cumulative_k = false};
        EXPECT_EQ(
            difference_from_reference(model, placement, {{0, 266}}, {{{0, 3}, {1, 1}}}, kGeneral),
            "")
            << name_of(model, placement);
      }
    }
  }
}

}  // namespace
}  // namespace octavo::cuda_test
