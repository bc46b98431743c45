// What the operations refuse, and that nothing has been written by then.
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "attend_world.h"
#include "octavo/error.h"
#include "octavo/kv_row_info.h"
#include "octavo/ref_cpu/cpu_device.h"
#include <gtest/gtest.h>

namespace octavo::ops_test {
namespace {

using Args = GroupQueryAttentionArgs;

std::string message_of(const Args& args, ErrorCode code = ErrorCode::InvalidArgument) {
  try {
    group_query_attention_varlen(args);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    return error.what();
  }
  return "nothing was raised";
}

class AttentionArguments : public testing::Test {
 protected:
  AttentionArguments() : world_(Model{}, {.paged = true}, 2, 64) {
    Results results;
    world_.run({{0, 20}, {1, 3}}, results);
  }

  // What the call says after `spoil` has been at its arguments.
  std::string refusal(const std::function<void(Args&)>& spoil,
                      ErrorCode code = ErrorCode::InvalidArgument) const {
    Args args = world_.make_args({{0, 2}, {1, 1}}, true);
    spoil(args);
    return message_of(args, code);
  }

  Tensor ints(const std::vector<std::int32_t>& values, const Dims& shape) const {
    return Tensor::from_values<std::int32_t>(DType::Int32, shape, values, world_.device());
  }

  World world_;
};

TEST_F(AttentionArguments, TensorsMustShareADevice) {
  EXPECT_EQ(refusal([](Args& args) {
              args.query = Tensor::zeros(DType::BF16, {3, 4, 64});
            }),
            "group_query_attention_varlen: query is on the device \"host\", the tensors before it "
            "on another, \"ref\"; all must share one device");
}

TEST_F(AttentionArguments, CacheTensorsMustBeHandlesOfARow) {
  EXPECT_EQ(refusal([](Args& args) { args.key_cache = args.key_cache.slice(0, 0, 1); },
                    ErrorCode::FailedPrecondition),
            "group_query_attention_varlen: key_cache has no row information; it must be a handle "
            "that the cache gave out");
  EXPECT_EQ(refusal([](Args& args) { args.key_cache = {}; }),
            "group_query_attention_varlen: key_cache is undefined");
}

TEST_F(AttentionArguments, QueryHeadsAreAMultipleOfTheKvHeads) {
  EXPECT_EQ(refusal([&](Args& args) {
              args.query = Tensor::zeros(DType::BF16, {3, 3, 64}, world_.device());
            }),
            "group_query_attention_varlen: query has 3 heads; they must be a positive multiple of "
            "the row's 2 KV heads");
}

TEST_F(AttentionArguments, ShapesAndDtypes) {
  EXPECT_EQ(refusal([&](Args& args) {
              args.query = Tensor::zeros(DType::BF16, {3, 4, 32}, world_.device());
            }),
            "group_query_attention_varlen: query has shape [3, 4, 32]; it must be [any, any, 64]");
  EXPECT_EQ(refusal([&](Args& args) {
              args.key = Tensor::zeros(DType::Int32, {3, 2, 64}, world_.device());
            }),
            "group_query_attention_varlen: key has dtype int32; it must be one of f32, f16, bf16");
  EXPECT_EQ(refusal([](Args& args) { args.value = {}; }),
            "group_query_attention_varlen: value is undefined; key and value come together, or "
            "neither for a read-only call");
  EXPECT_EQ(
      refusal([&](Args& args) { args.sinks = Tensor::zeros(DType::F32, {3}, world_.device()); }),
      "group_query_attention_varlen: sinks has shape [3]; it must be [4]");
  EXPECT_EQ(refusal([&](Args& args) {
              args.out = Tensor::zeros(DType::F16, {3, 4, 64}, world_.device());
              args.out_dtype.reset();
            }),
            "group_query_attention_varlen: out has dtype f16; it must be one of f32, bf16");
  EXPECT_EQ(refusal([](Args& args) { args.out_dtype = DType::F16; }),
            "group_query_attention_varlen: out_dtype is f16; it must be f32 or the query's, bf16");
}

TEST_F(AttentionArguments, ScaleAndSoftCap) {
  EXPECT_EQ(refusal([](Args& args) { args.scale = std::numeric_limits<float>::infinity(); }),
            "group_query_attention_varlen: scale is inf; it must be finite");
  EXPECT_EQ(refusal([](Args& args) { args.soft_cap = -1.0f; }),
            "group_query_attention_varlen: soft_cap is -1.000000; it must be finite and >= 0");
}

TEST_F(AttentionArguments, LengthsMustMatchTheTokens) {
  EXPECT_EQ(refusal([&](Args& args) {
              args.step.cu_seqlens_q = ints({0, 2, 4}, {3});
            }),
            "group_query_attention_varlen: cu_seqlens_q ends with 4; the step has 3 tokens");
  EXPECT_EQ(refusal([&](Args& args) {
              args.step.cu_seqlens_q = ints({0, 3, 3}, {3});
            }),
            "group_query_attention_varlen: cu_seqlens_q gives sequence 1 a length of 0; it must be "
            "positive");
  EXPECT_EQ(refusal([&](Args& args) {
              args.step.cu_seqlens_k = ints({0, 1, 5}, {3});
            }),
            "group_query_attention_varlen: cu_seqlens_k has a length of sequence 0 of 1; it must "
            "be at least 2");
  EXPECT_EQ(refusal([&](Args& args) {
              args.step.cu_seqlens_k = ints({65, 4}, {2});
            }),
            "group_query_attention_varlen: cu_seqlens_k has a length of 65; the row holds 64 "
            "positions");
}

TEST_F(AttentionArguments, BlockIdsMustLieInThePool) {
  EXPECT_EQ(refusal([&](Args& args) {
              args.step.kvcache_start = ints({0, 15, 2, 3, 4, 5, 6, 7}, {2, 4});
            }),
            "group_query_attention_varlen: kvcache_start of sequence 0 names block 15 in cell 1; "
            "it must be in [0, 15)");
}

TEST_F(AttentionArguments, PartialsComeTogetherAndHoldTheLongest) {
  EXPECT_EQ(refusal([&](Args& args) {
              args.partial_out = Tensor::zeros(DType::F32, {3, 4, 1, 64}, world_.device());
            }),
            "group_query_attention_varlen: partial_max_sum is undefined; partial_max_sum and "
            "partial_out come together");
  EXPECT_EQ(refusal([&](Args& args) {
              args.partial_out = Tensor::zeros(DType::F32, {3, 4, 0, 64}, world_.device());
              args.partial_max_sum = Tensor::zeros(DType::F32, {3, 4, 0, 2}, world_.device());
            }),
            "group_query_attention_varlen: partial_max_sum has 0 chunks; lengths up to 22 take 1");
}

std::vector<std::uint8_t> bytes_of(const Tensor& tensor) {
  const auto* data = static_cast<const std::uint8_t*>(tensor.address());
  return {data, data + tensor.size_bytes()};
}

TEST(WindowedRing, AStepLongerThanItWasSizedForRaisesBeforeAnythingIsWritten) {
  World world({.window = 8}, {.paged = false, .max_step = 4}, 1, 1000);
  Results results;
  for (int i = 0; i < 5; ++i) {
    world.run({{0, 4}}, results);
  }
  const auto keys = bytes_of(world.keys());
  EXPECT_EQ(message_of(world.make_args({{0, 5}}, true)),
            "group_query_attention_varlen: cu_seqlens_q has a step of 5 tokens; a row of 11 "
            "positions with a window of 8 was sized for at most 4");
  EXPECT_EQ(bytes_of(world.keys()), keys);
  EXPECT_NE(message_of(world.make_args({{0, 4}}, true)), "");
}

TEST(HeadDims, AreMultiplesOfEight) {
  const auto device = make_cpu_device(1);
  auto info = std::make_shared<KVRowInfo>();
  info->capacity = 16;
  const Tensor row = Tensor::zeros(DType::BF16, {1, 1, 16, 12}, device).with_row_info(info);
  Args args;
  args.key_cache = row;
  args.value_cache = row;
  EXPECT_EQ(message_of(args),
            "group_query_attention_varlen: key_cache has rows of 12 elements; the operations take "
            "multiples of 8 in [8, 1024]");
}

TEST(Devices, WithoutKernelsSayWhoTheyAre) {
  auto info = std::make_shared<KVRowInfo>();
  info->capacity = 16;
  const auto row = [&] { return Tensor::zeros(DType::BF16, {1, 1, 16, 8}).with_row_info(info); };
  const auto ints = [](std::vector<std::int32_t> values) {
    const auto size = static_cast<std::int64_t>(values.size());
    return Tensor::from_values<std::int32_t>(DType::Int32, {size}, values);
  };
  Args args;
  args.key_cache = row();
  args.value_cache = row();
  args.query = Tensor::zeros(DType::BF16, {1, 1, 8});
  args.step = {.cu_seqlens_q = ints({0, 1}),
               .cu_seqlens_k = ints({1}),
               .kvcache_start = ints({0}),
               .slot_ids = {}};
  EXPECT_EQ(message_of(args, ErrorCode::Unimplemented),
            "attend: the device \"host\" has no kernel for it; a device that computes, such as "
            "ref_cpu's, must own the cache");
}

TEST(NullDevice, CountsOperationsAndTrustsTheirIndices) {
  const auto device = std::make_shared<NullDevice>();
  auto info = std::make_shared<KVRowInfo>();
  info->capacity = 16;
  const Tensor row = Tensor::zeros(DType::BF16, {1, 1, 16, 8}, device).with_row_info(info);
  const auto indices = [&](std::int64_t size) {
    return Tensor::zeros(DType::Int32, {size}, device);
  };
  Args args;
  args.key_cache = row;
  args.value_cache = row;
  args.query = Tensor::zeros(DType::BF16, {1, 1, 8}, device);
  args.key = args.query;
  args.value = args.query;
  args.step = {.cu_seqlens_q = indices(2),
               .cu_seqlens_k = indices(1),
               .kvcache_start = indices(1),
               .slot_ids = {}};
  group_query_attention_varlen(args);
  args.key = {};
  args.value = {};
  group_query_attention_varlen(args);
  EXPECT_EQ(device->counters().appends, 1);
  EXPECT_EQ(device->counters().attends, 2);
}

}  // namespace
}  // namespace octavo::ops_test
