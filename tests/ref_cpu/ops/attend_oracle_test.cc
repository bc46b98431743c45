// Attention against binary64, codec by codec and option by option, within the derived bound.
#include "attend_oracle.h"

#include <cmath>
#include <string>
#include <vector>

#include "attend_world.h"
#include <gtest/gtest.h>

namespace octavo::ops_test {
namespace {

// Half a place of the output's dtype, relative.
double output_rounding(DType dtype) {
  return dtype == DType::BF16 ? 0x1p-8 : dtype == DType::F16 ? 0x1p-11 : 0.0;
}

/// The largest part of its bound that any element used: at most 1 is right, and far below 1/1000
/// everywhere would say that the bound proves nothing.
double worst_share(const Model& model, const Results& results) {
  Oracle oracle(model);
  double worst = 0.0;
  for (const auto& [key, result] : results) {
    for (std::int64_t head = 0; head < model.q_heads(); ++head) {
      const OracleRow expected = oracle.attend(key.first, key.second, head);
      for (std::size_t d = 0; d < expected.out.size(); ++d) {
        const auto at = static_cast<std::size_t>(head) * expected.out.size() + d;
        const double error = std::fabs(static_cast<double>(result.out[at]) - expected.out[d]);
        const double bound =
            expected.bound[d] + output_rounding(model.out_dtype) * std::fabs(expected.out[d]);
        worst = std::max(worst, error / bound);
        if (!(error <= bound)) {
          ADD_FAILURE() << "sequence " << key.first << " position " << key.second << " head "
                        << head << " element " << d << ": " << result.out[at] << " for "
                        << expected.out[d] << ", bound " << bound;
          return worst;
        }
      }
      const double lse_error =
          std::fabs(static_cast<double>(result.lse[static_cast<std::size_t>(head)]) - expected.lse);
      EXPECT_LE(lse_error, expected.lse_bound) << "head " << head;
    }
  }
  return worst;
}

const std::vector<Step> kSteps = {
    {{0, 300}, {1, 7}}, {{1, 1}, {0, 1}}, {{1, 33}}, {{0, 1}, {1, 1}}};

double check(const Model& model) {
  const double share = worst_share(model, run(model, Placement{}, kSteps));
  EXPECT_GT(share, 1e-3);
  return share;
}

TEST(AttendOracle, UnquantizedRowsOfEveryDtype) {
  for (const DType dtype : {DType::F32, DType::F16, DType::BF16}) {
    SCOPED_TRACE(to_string(dtype));
    check({.query_dtype = dtype, .input_dtype = dtype, .kv_dtype = dtype});
  }
}

TEST(AttendOracle, RowsOfAnotherDtypeThanTheStepsKeysAndValues) {
  check({.query_dtype = DType::F32, .input_dtype = DType::F32, .kv_dtype = DType::BF16});
  check({.query_dtype = DType::F16, .input_dtype = DType::BF16, .kv_dtype = DType::F16});
}

TEST(AttendOracle, EveryCodecWithAScalePerTokenAndHead) {
  for (const KVCodec codec : {KVCodec::Int8, KVCodec::Int4, KVCodec::E4M3, KVCodec::E5M2}) {
    SCOPED_TRACE(to_string(codec));
    check({.k_quant = {.codec = codec}, .v_quant = {.codec = codec}});
  }
}

TEST(AttendOracle, StaticScalesOfFp8Rows) {
  for (const KVCodec codec : {KVCodec::E4M3, KVCodec::E5M2}) {
    SCOPED_TRACE(to_string(codec));
    check({.k_quant = {codec, KVScale::Static}, .v_quant = {codec, KVScale::Static}});
  }
}

TEST(AttendOracle, KeysAndValuesOfDifferentCodecs) {
  check({.k_quant = {.codec = KVCodec::Int8}, .v_quant = {.codec = KVCodec::None}});
  check({.k_quant = {.codec = KVCodec::None}, .v_quant = {.codec = KVCodec::Int4}});
  check({.k_quant = {.codec = KVCodec::E4M3}, .v_quant = {.codec = KVCodec::Int8}});
}

TEST(AttendOracle, EveryHeadDim) {
  for (const std::int64_t head_dim : {8, 64, 80, 96, 128, 192, 256}) {
    SCOPED_TRACE(head_dim);
    check({.kv_heads = 1, .head_dim = head_dim, .v_head_dim = head_dim});
    check({.kv_heads = 1,
           .head_dim = head_dim,
           .v_head_dim = head_dim,
           .k_quant = {.codec = KVCodec::Int8},
           .v_quant = {.codec = KVCodec::Int8}});
  }
}

TEST(AttendOracle, EveryGroupFromOneToSixteen) {
  for (std::int64_t group = 1; group <= 16; ++group) {
    SCOPED_TRACE(group);
    const Model model{.kv_heads = 1, .group = group};
    const std::vector<Step> steps = {{{0, 40}}, {{0, 1}}};
    worst_share(model, run(model, Placement{}, steps));
  }
}

TEST(AttendOracle, Windows) {
  // Of a single visible token the result is its value, without any error.
  EXPECT_EQ(worst_share({.window = 1}, run({.window = 1}, Placement{}, kSteps)), 0.0);
  for (const std::int64_t window : {5, 64, 256, 257}) {
    SCOPED_TRACE(window);
    check({.window = window});
  }
}

TEST(AttendOracle, SoftCap) {
  for (const float cap : {0.5f, 5.0f, 50.0f}) {
    SCOPED_TRACE(cap);
    check({.soft_cap = cap});
    check({.k_quant = {.codec = KVCodec::Int8}, .soft_cap = cap, .magnitude = 20.0f});
  }
}

TEST(AttendOracle, Sinks) {
  check({.sinks = true});
  check({.window = 3, .soft_cap = 20.0f, .sinks = true});
}

TEST(AttendOracle, SharpAndFlatSoftmaxes) {
  check({.magnitude = 60.0f});
  check({.magnitude = 1e-3f});
  check({.scale = -0.4f});
  check({.k_quant = {.codec = KVCodec::Int8},
         .v_quant = {.codec = KVCodec::Int8},
         .magnitude = 60.0f});
}

TEST(AttendOracle, OutputsOfTheQuerysDtype) {
  check({.query_dtype = DType::BF16, .out_dtype = DType::BF16});
  check({.query_dtype = DType::F16, .out_dtype = DType::F16});
}

TEST(AttendOracle, ValuesOfAnotherWidthOnContinuousRows) {
  const Placement placement{.paged = false};
  for (const auto& [k, v] : {std::pair{192, 128}, std::pair{64, 512}, std::pair{576, 512}}) {
    const Model model{.kv_heads = 1, .group = 4, .head_dim = k, .v_head_dim = v};
    const std::vector<Step> steps = {{{0, 20}}, {{0, 1}}};
    worst_share(model, run(model, placement, steps));
  }
}

TEST(AttendOracle, ManyChunks) {
  const Model model{.kv_heads = 1, .group = 1, .head_dim = 64, .v_head_dim = 64, .magnitude = 3.0f};
  World world(model, {}, 1, 3000);
  Results results;
  world.fill({{0, 2999}});
  world.run({{0, 1}}, results);
  worst_share(model, results);
}

}  // namespace
}  // namespace octavo::ops_test
