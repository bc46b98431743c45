// The vector kernels against the specification spelled out: every bit, every row type, every width.
#include <string>
#include <vector>

#include "attend_world.h"
#include "simd.h"
#include <gtest/gtest.h>

namespace octavo::ops_test {
namespace {

// On a machine without AVX2 both runs are the same one.
std::string compare(const Model& model, const std::vector<Step>& steps) {
  const Placement placement{.partials = true};
  const Results vectors = run(model, placement, steps);
  ref_cpu::force_simd(false);
  const Results spelled_out = run(model, placement, steps);
  ref_cpu::force_simd(true);
  return difference(vectors, spelled_out);
}

struct Quants {
  KVQuantSpec k;
  KVQuantSpec v;
};

const std::vector<Quants> kQuants = {
    {{}, {}},
    {{.codec = KVCodec::Int8}, {.codec = KVCodec::Int8}},
    {{.codec = KVCodec::Int4}, {.codec = KVCodec::Int4}},
    {{.codec = KVCodec::E4M3}, {.codec = KVCodec::E5M2}},
    {{KVCodec::E5M2, KVScale::Static}, {KVCodec::E4M3, KVScale::Static}},
    {{.codec = KVCodec::Int8}, {}},
    {{}, {.codec = KVCodec::Int4}}};

class AttendSimd : public testing::TestWithParam<int> {};

TEST_P(AttendSimd, GivesTheBitsOfTheSpecification) {
  const std::int64_t head_dim = GetParam();
  for (const Quants& quants : kQuants) {
    for (const DType dtype : {DType::F32, DType::F16, DType::BF16}) {
      Model model{.kv_heads = 1,
                  .group = dtype == DType::BF16 ? 3 : 1,
                  .head_dim = head_dim,
                  .v_head_dim = head_dim,
                  .kv_dtype = dtype,
                  .k_quant = quants.k,
                  .v_quant = quants.v};
      const std::vector<Step> steps = {{{0, 261}, {1, 5}}, {{1, 2}, {0, 1}}};
      EXPECT_EQ(compare(model, steps), "") << to_string(dtype) << to_string(quants.k.codec);
      model.window = 37;
      model.soft_cap = 5.0f;
      model.sinks = true;
      model.query_dtype = dtype;
      EXPECT_EQ(compare(model, steps), "") << to_string(dtype) << to_string(quants.k.codec);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(HeadDim,
                         AttendSimd,
                         testing::Values(8, 24, 64, 80, 96, 128, 192, 256),
                         [](const auto& param) { return std::to_string(param.param); });

TEST(AttendSimdEdges, WeightsThatRoundUpToTheNextPowerOfTwoDoNotFitSixteenBits) {
  // With one visible token the weight is the value's scale; this one is 1 - 2^-20 or 1 - 2^-19.
  for (const auto& [codec, top] :
       {std::pair{KVCodec::Int8, 127.0f}, std::pair{KVCodec::Int4, 7.0f}}) {
    const Model model{.kv_heads = 1,
                      .group = 1,
                      .head_dim = 8,
                      .v_head_dim = 8,
                      .input_dtype = DType::F32,
                      .v_quant = {.codec = codec},
                      .window = 1,
                      .constant_value = top * (1.0f - 0x1p-20f)};
    EXPECT_EQ(compare(model, {{{0, 2}}}), "");
    EXPECT_EQ((run(model, {}, {{{0, 2}}}).at({0, 1}).out[0]), top);
  }
}

TEST(AttendSimdEdges, NansInKeysAndValues) {
  for (const Quants& quants : kQuants) {
    for (const int part : {0, 1, 2}) {
      const Model model{
          .k_quant = quants.k, .v_quant = quants.v, .nan_position = 9, .nan_part = part};
      EXPECT_EQ(compare(model, {{{0, 20}}, {{0, 1}}}), "") << part;
    }
  }
}

TEST(AttendSimdEdges, WideRows) {
  for (const std::int64_t dim : {512, 1000, 1024}) {
    EXPECT_EQ(compare({.kv_heads = 1, .group = 2, .head_dim = dim, .v_head_dim = dim},
                      {{{0, 20}}, {{0, 1}}}),
              "");
    EXPECT_EQ(compare({.kv_heads = 1,
                       .group = 2,
                       .head_dim = dim,
                       .v_head_dim = dim,
                       .k_quant = {.codec = KVCodec::Int8},
                       .v_quant = {.codec = KVCodec::Int4}},
                      {{{0, 20}}, {{0, 1}}}),
              "");
  }
}

}  // namespace
}  // namespace octavo::ops_test
