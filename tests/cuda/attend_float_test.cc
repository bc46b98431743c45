// The tuned float kernels against the reference, bit for bit: an axis at a time, and a sample of
// everything at once.
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "attend_testing.h"
#include <gtest/gtest.h>

namespace octavo::cuda_test {
namespace {

using ops_test::Part;

constexpr TestedOptions kTuned{.tuned_only = true};

const std::vector<DType> kFormats = {DType::F32, DType::F16, DType::BF16, DType::E4M3, DType::E5M2};
const std::vector<std::int64_t> kHeadDims = {64, 80, 96, 128, 192, 256};

Model model_of(DType dtype, std::int64_t head_dim, KVScale scale = KVScale::PerTokenHead) {
  Model model{.kv_heads = 2, .group = 1, .head_dim = head_dim, .v_head_dim = head_dim};
  store_as(dtype, scale, model, Part::Key);
  store_as(dtype, scale, model, Part::Value);
  return model;
}

class EveryKernel : public testing::TestWithParam<std::tuple<DType, std::int64_t>> {};

TEST_P(EveryKernel, GivesTheBitsOfTheReference) {
  const auto [dtype, head_dim] = GetParam();
  for (const std::int64_t group : {1, 2, 4, 7}) {
    Model model =
        model_of(dtype, head_dim, group % 2 == 0 ? KVScale::Static : KVScale::PerTokenHead);
    model.group = group;
    model.kv_heads = group == 1 ? 2 : 1;
    const Placement placement{.block_size = 16, .partials = group == 4};
    // A full chunk, and the beginning or most of another.
    for (const int before : {299, 470}) {
      EXPECT_EQ(difference_from_reference(model, placement, {{0, before}}, {{{0, 1}}}, kTuned), "")
          << "group " << group << " behind " << before;
    }
    // All there is to it: the compiler made each kernel by itself.
    // A first chunk whose beginning nobody sees, and a second.
    model.window = 430;
    model.soft_cap = 5.0f;
    model.sinks = true;
    EXPECT_EQ(difference_from_reference(model, placement, {{0, 450}, {1, 140}}, {{{0, 2}, {1, 3}}},
                                        kTuned),
              "")
        << "group " << group << ", with a window, a cap and sinks";
  }
}

INSTANTIATE_TEST_SUITE_P(AttendFloat,
                         EveryKernel,
                         testing::Combine(testing::ValuesIn(kFormats),
                                          testing::ValuesIn(kHeadDims)),
                         [](const auto& param_info) {
                           return std::string(to_string(std::get<0>(param_info.param))) + "_" +
                                  std::to_string(std::get<1>(param_info.param));
                         });

TEST(AttendFloat, EveryLengthAroundAChunkGivesTheBitsOfTheReference) {
  Model model = model_of(DType::BF16, 64);
  model.group = 2;
  const Placement placement{.partials = true};
  for (const int length : {1, 2, 15, 16, 17, 127, 128, 129, 255, 256, 257, 600}) {
    EXPECT_EQ(
        difference_from_reference(model, placement, length > 1 ? Step{{0, length - 1}} : Step{},
                                  {{{0, 1}}}, kTuned),
        "")
        << length;
  }
}

TEST(AttendFloat, EveryGroupGivesTheBitsOfTheReference) {
  for (std::int64_t group = 1; group <= 16; ++group) {
    Model model = model_of(DType::E4M3, 64);
    model.kv_heads = 1;
    model.group = group;
    EXPECT_EQ(difference_from_reference(model, {}, {{0, 70}, {1, 20}}, {{{0, 1}, {1, 1}}}, kTuned),
              "")
        << group;
  }
}

TEST(AttendFloat, EveryWindowGivesTheBitsOfTheReference) {
  for (const std::int64_t window : {1, 2, 31, 100, 255, 256, 257, 300}) {
    Model model = model_of(DType::BF16, 64);
    model.group = 4;
    model.window = window;
    for (const bool paged : {true, false}) {
      const Placement placement{.paged = paged, .block_size = 32, .max_step = 5, .partials = paged};
      // Two steps of several tokens, whose windows differ.
      const std::vector<Step> steps = {{{0, 5}, {1, 1}}, {{0, 1}, {1, 3}}};
      EXPECT_EQ(difference_from_reference(model, placement, {{0, 320}, {1, 10}}, steps, kTuned), "")
          << window << (paged ? " paged" : " ring");
    }
  }
}

TEST(AttendFloat, EveryBlockSizeGivesTheBitsOfTheReference) {
  for (const std::int64_t block_size : {1, 2, 4, 8, 16, 64, 256, 1024}) {
    for (const KVScale scale : {KVScale::PerTokenHead, KVScale::Static}) {
      Model model = model_of(DType::E5M2, 80, scale);
      model.group = 3;
      Placement placement{.block_size = block_size};
      EXPECT_EQ(difference_from_reference(model, placement, {{0, 290}, {1, 3}}, {{{0, 1}, {1, 2}}},
                                          kTuned),
                "")
          << block_size;
    }
  }
}

TEST(AttendFloat, EveryOptionGivesTheBitsOfTheReference) {
  for (const DType query : {DType::F32, DType::F16, DType::BF16}) {
    for (const float cap : {0.0f, 7.0f}) {
      for (const bool sinks : {false, true}) {
        for (const bool query_out : {false, true}) {
          Model model = model_of(DType::F16, 96);
          model.group = 2;
          model.query_dtype = query;
          model.soft_cap = cap;
          model.sinks = sinks;
          model.magnitude = 3.0f;
          model.out_dtype = query_out ? query : DType::F32;
          const Placement placement{.cumulative_k = sinks};
          EXPECT_EQ(
              difference_from_reference(model, placement, {{0, 270}}, {{{0, 1}, {1, 2}}}, kTuned),
              "")
              << name_of(model, placement);
        }
      }
    }
  }
}

TEST(AttendFloat, ASampleOfEverythingGivesTheBitsOfTheReference) {
  std::uint64_t state = 20260101;
  const auto pick = [&](std::uint64_t n) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<std::int64_t>((state >> 33) % n);
  };
  for (int i = 0; i < 60; ++i) {
    Model model = model_of(kFormats[static_cast<std::size_t>(pick(5))],
                           kHeadDims[static_cast<std::size_t>(pick(6))],
                           pick(2) == 0 ? KVScale::Static : KVScale::PerTokenHead);
    model.seed = static_cast<std::uint64_t>(i) + 9;
    model.group = 1 + pick(9);
    model.kv_heads = 1 + pick(2);
    model.query_dtype =
        std::vector{DType::F32, DType::F16, DType::BF16}[static_cast<std::size_t>(pick(3))];
    model.window = pick(3) == 0 ? 1 + pick(300) : 0;
    model.soft_cap = pick(3) == 0 ? 4.0f : 0.0f;
    model.sinks = pick(2) == 0;
    const Placement placement{.paged = pick(4) != 0 || model.window > 0,
                              .block_size = std::int64_t{1} << pick(8),
                              .block_seed = static_cast<std::uint64_t>(i),
                              .cumulative_k = pick(2) == 0,
                              .partials = pick(2) == 0};
    const int before = static_cast<int>(pick(400)) + 1;
    const Step step = {{0, 1 + static_cast<int>(pick(6))}, {1, 1}};
    TestedOptions options = kTuned;
    options.seed = static_cast<std::uint64_t>(pick(3));
    options.attend_workspace_bytes = pick(2) == 0 ? 10000 : 0;
    EXPECT_EQ(difference_from_reference(model, placement, {{0, before}}, {step}, options), "")
        << name_of(model, placement) << ", before " << before;
  }
}

}  // namespace
}  // namespace octavo::cuda_test
