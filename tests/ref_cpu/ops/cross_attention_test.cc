// Cross-attention rows and what attention gives beside its output.
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "attend_oracle.h"
#include "attend_world.h"
#include "float_bits.h"
#include "octavo/error.h"
#include "octavo/kv_row_info.h"
#include "octavo/ref_cpu/cpu_device.h"
#include <gtest/gtest.h>

namespace octavo::ops_test {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// The rows of a world as those of an encoder's output.
GroupQueryAttentionArgs as_cross(GroupQueryAttentionArgs args) {
  for (Tensor* rows : {&args.key_cache, &args.value_cache}) {
    auto info = std::make_shared<KVRowInfo>(*rows->row_info());
    info->kind = KVLayerKind::CrossAttentionKV;
    *rows = rows->with_row_info(std::move(info));
  }
  return args;
}

TEST(CrossAttention, EveryQuerySeesTheWholeEncoderOutput) {
  for (const KVCodec codec : {KVCodec::None, KVCodec::Int8}) {
    const Model model{.k_quant = {.codec = codec}, .v_quant = {.codec = codec}};
    World world(model, {.paged = false}, 1, 300);
    Results results;
    world.run({{0, 270}}, results);
    const GroupQueryAttentionArgs args = as_cross(world.make_args({{0, 3}}, false));
    const Tensor out = group_query_attention_varlen(args);
    Oracle oracle(model);
    for (std::int64_t token = 0; token < 3; ++token) {
      for (std::int64_t head = 0; head < 4; ++head) {
        const OracleRow row = oracle.attend_all(0, 267 + token, 270, head);
        for (std::size_t d = 0; d < 64; ++d) {
          const float actual = out.data<float>()[(token * 4 + head) * 64 + static_cast<int>(d)];
          EXPECT_LE(std::fabs(static_cast<double>(actual) - row.out[d]), row.bound[d]);
        }
      }
    }
  }
}

TEST(CrossAttention, NothingMayBeAppended) {
  World world(Model{}, {.paged = false}, 1, 300);
  try {
    group_query_attention_varlen(as_cross(world.make_args({{0, 3}}, true)));
    FAIL() << "nothing was raised";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::FailedPrecondition);
  }
}

// Two queries over an encoder output of no tokens at all.
GroupQueryAttentionArgs over_nothing(World& world) {
  Results results;
  world.run({{0, 2}}, results);
  GroupQueryAttentionArgs args = as_cross(world.make_args({{0, 2}}, false));
  args.step.cu_seqlens_k = Tensor::zeros(DType::Int32, {1}, world.device());
  return args;
}

TEST(CrossAttention, OverNothingGivesZero) {
  World world(Model{}, {.paged = false}, 1, 300);
  const GroupQueryAttentionArgs args = over_nothing(world);
  const Tensor out = group_query_attention_varlen(args);
  for (const float x : out.to_vector<float>()) {
    EXPECT_EQ(ref_cpu::bits_of(x), 0u);
  }
  for (const float x : args.lse.to_vector<float>()) {
    EXPECT_EQ(x, -kInfinity);
  }
  EXPECT_EQ(args.max_sum.data<float>()[0], -kInfinity);
  EXPECT_EQ(args.max_sum.data<float>()[1], 0.0f);
}

TEST(CrossAttention, OverNothingTheSinkIsAllThereIs) {
  const Model model{.sinks = true};
  World world(model, {.paged = false}, 1, 300);
  const GroupQueryAttentionArgs args = over_nothing(world);
  EXPECT_EQ(group_query_attention_varlen(args).data<float>()[5], 0.0f);
  EXPECT_NEAR(args.lse.data<float>()[1], sink(model, 1), 1e-6);
}

TEST(Partials, CombineToTheOutput) {
  const Model model{.kv_heads = 1, .group = 1, .window = 300};
  World world(model, {.partials = true}, 1, 900);
  Results results;
  world.run({{0, 800}}, results);
  const TokenResult& row = results.at({0, 799});
  double sum = 0.0;
  double out = 0.0;
  const double m = static_cast<double>(row.max_sum[0]);
  for (std::size_t chunk = 0; chunk < 4; ++chunk) {
    const double x = std::exp2(static_cast<double>(row.partial_max_sum[2 * chunk]) - m);
    sum += x * static_cast<double>(row.partial_max_sum[2 * chunk + 1]);
    out += x * static_cast<double>(row.partial_out[chunk * 64 + 3]);
  }
  EXPECT_NEAR(out / sum, static_cast<double>(row.out[3]), 1e-6);
  EXPECT_NEAR(std::log(sum) + m * std::log(2.0), static_cast<double>(row.lse[0]), 1e-6);
  // Positions 500 .. 799 are seen: nothing of chunk 0.
  EXPECT_EQ(row.partial_max_sum[0], -kInfinity);
  EXPECT_EQ(row.partial_max_sum[1], 0.0f);
  EXPECT_EQ(row.partial_out[0], 0.0f);
  EXPECT_GT(row.partial_max_sum[3], 0.0f);
}

TEST(Partials, AMaximumOfZeroIsPositive) {
  // Zero queries times a negative scale: every score is -0 before the last step.
  const Model model{.scale = -1.0f, .magnitude = 0.0f};
  const Results results = run(model, {.partials = true}, {{{0, 5}}});
  for (const auto& [key, result] : results) {
    EXPECT_EQ(ref_cpu::bits_of(result.max_sum[0]), 0u);
    EXPECT_EQ(ref_cpu::bits_of(result.partial_max_sum[0]), 0u);
  }
}

TEST(Nans, SpreadToTheQueriesThatSeeThemAndNoOther) {
  for (const KVCodec codec : {KVCodec::None, KVCodec::Int8, KVCodec::E4M3}) {
    for (const int part : {1, 2}) {
      const Model model{.k_quant = {.codec = codec},
                        .v_quant = {.codec = codec},
                        .window = 4,
                        .nan_position = 9,
                        .nan_part = part};
      const Results results = run(model, {}, {{{0, 20}}});
      for (std::int64_t position = 0; position < 20; ++position) {
        const float x = results.at({0, position}).out[7];
        if (position >= 9 && position < 13) {
          EXPECT_EQ(ref_cpu::bits_of(x), 0x7FFFFFFFu) << position;
        } else {
          EXPECT_TRUE(std::isfinite(x)) << position;
        }
      }
    }
  }
}

}  // namespace
}  // namespace octavo::ops_test
