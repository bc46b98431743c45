// Convolution and recurrence through the tensor interface: what reaches the arithmetic is what was
// given, slot by slot, whatever the batch and the threads; and what is refused. The arithmetic
// itself is tested in ../numerics.
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "octavo/device_ops.h"
#include "octavo/error.h"
#include "octavo/kv_ops.h"
#include "octavo/ref_cpu/cpu_device.h"
#include <gtest/gtest.h>

namespace octavo::ops_test {
namespace {

std::vector<float> numbers(std::int64_t count, std::uint64_t seed) {
  std::vector<float> values;
  std::uint64_t state = seed * 2 + 1;
  for (std::int64_t i = 0; i < count; ++i) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    values.push_back(static_cast<float>(static_cast<std::int64_t>(state >> 40)) * 0x1p-23f - 1.0f);
  }
  return values;
}

class StateOps : public testing::Test {
 protected:
  Tensor floats(const Dims& shape, std::uint64_t seed) const {
    std::int64_t count = 1;
    for (const std::int64_t extent : shape) {
      count *= extent;
    }
    return Tensor::from_values<float>(DType::F32, shape, numbers(count, seed), device_);
  }
  Tensor ints(const std::vector<std::int32_t>& values) const {
    return Tensor::from_values<std::int32_t>(
        DType::Int32, {static_cast<std::int64_t>(values.size())}, values, device_);
  }

  std::shared_ptr<Device> device_ = make_cpu_device(3);
};

std::vector<float> rows_of(const Tensor& tensor, std::int64_t begin, std::int64_t end) {
  return tensor.slice(0, begin, end).to_vector<float>();
}

std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was raised";
}

// Beyond what the arithmetic keeps on its stack the device refuses, before it looks at anything.
TEST_F(StateOps, RefuseSizesThatTheReferenceCannotHold) {
  GatedDeltaUpdateArg gated_delta;
  gated_delta.k_dim = 2049;
  EXPECT_EQ(message_of([&] { device_->gated_delta_update(gated_delta); }),
            "gated_delta_update: recurrent_state has a k_dim of 2049; the device \"ref\" takes at "
            "most 2048");
  SelectiveStateUpdateArg selective;
  selective.k_dim = 2049;
  EXPECT_EQ(message_of([&] { device_->selective_state_update(selective); }),
            "selective_state_update: recurrent_state has a k_dim of 2049; the device \"ref\" takes "
            "at most 2048");
  ConvUpdateArg convolution;
  convolution.width = 257;
  EXPECT_EQ(message_of([&] { device_->conv_update(convolution); }),
            "causal_conv_update: conv_state has a width of 257; the device \"ref\" takes at most "
            "256");
}

TEST_F(StateOps, ConvolutionKeepsEachSlotsWindow) {
  CausalConvArgs args;
  args.x = floats({5, 40}, 1);
  args.weight = floats({40, 4}, 2);
  args.conv_state = floats({3, 40, 3}, 3);
  args.cu_seqlens_q = ints({0, 4, 5});
  args.slot_ids = ints({2, 0});
  args.silu = false;
  const std::vector<float> x = args.x.to_vector<float>();
  const std::vector<float> w = args.weight.to_vector<float>();
  const std::vector<float> before = args.conv_state.to_vector<float>();
  const std::vector<float> out = causal_conv_update(args).to_vector<float>();
  const std::vector<float> after = args.conv_state.to_vector<float>();
  for (std::size_t c = 0; c < 40; ++c) {
    // The last token of slot 2 sees its own sequence's four inputs; slot 0's only one, its window.
    double first = 0.0;
    double second = 0.0;
    for (std::size_t j = 0; j < 4; ++j) {
      first += static_cast<double>(w[c * 4 + j]) * static_cast<double>(x[j * 40 + c]);
      second += static_cast<double>(w[c * 4 + j]) *
                static_cast<double>(j < 3 ? before[c * 3 + j] : x[160 + c]);
    }
    EXPECT_NEAR(static_cast<double>(out[120 + c]), first, 1e-5);
    EXPECT_NEAR(static_cast<double>(out[160 + c]), second, 1e-5);
    EXPECT_EQ(after[(2 * 40 + c) * 3 + 2], x[120 + c]);
    EXPECT_EQ(after[c * 3 + 2], x[160 + c]);
    EXPECT_EQ(after[c * 3], before[c * 3 + 1]);
    EXPECT_EQ(after[(40 + c) * 3], before[(40 + c) * 3]);
  }
}

GatedDeltaArgs gated_delta(const std::function<Tensor(const Dims&, std::uint64_t)>& floats) {
  GatedDeltaArgs args;
  args.q = floats({4, 2, 16}, 1);
  args.k = floats({4, 2, 16}, 2);
  args.v = floats({4, 4, 24}, 3);
  args.a = floats({4, 4}, 4);
  args.b = floats({4, 4}, 5);
  args.a_log = floats({4}, 6);
  args.recurrent_state = floats({3, 4, 16, 24}, 7);
  args.b_sigmoid = true;
  args.qk_l2_norm = true;
  return args;
}

TEST_F(StateOps, TheGatedDeltaRuleIsOneSequenceAtATime) {
  const auto make = [&](const Dims& shape, std::uint64_t seed) { return floats(shape, seed); };
  GatedDeltaArgs together = gated_delta(make);
  together.cu_seqlens_q = ints({0, 3, 4});
  together.slot_ids = ints({1, 2});
  const Tensor out = gated_delta_update(together);
  GatedDeltaArgs alone = gated_delta(make);
  for (Tensor* tensor : {&alone.q, &alone.k, &alone.v, &alone.a, &alone.b}) {
    *tensor = tensor->slice(0, 3, 4);
  }
  alone.cu_seqlens_q = ints({0, 1});
  alone.slot_ids = ints({2});
  const Tensor alone_out = gated_delta_update(alone);
  EXPECT_EQ(rows_of(out, 3, 4), alone_out.to_vector<float>());
  EXPECT_EQ(rows_of(together.recurrent_state, 2, 3), rows_of(alone.recurrent_state, 2, 3));
  EXPECT_EQ(rows_of(together.recurrent_state, 0, 1), rows_of(alone.recurrent_state, 0, 1));
  EXPECT_NE(rows_of(together.recurrent_state, 1, 2), rows_of(alone.recurrent_state, 1, 2));
}

TEST_F(StateOps, TheSelectiveUpdateOfOneTokenIsItsFormula) {
  SelectiveStateArgs args;
  args.x = floats({1, 2, 3}, 1);
  args.dt = floats({1, 2}, 2);
  args.a = floats({2}, 3);
  args.b = floats({1, 1, 4}, 4);
  args.c = floats({1, 1, 4}, 5);
  args.d = floats({2}, 6);
  args.recurrent_state = floats({2, 2, 4, 3}, 7);
  args.cu_seqlens_q = ints({0, 1});
  args.slot_ids = ints({1});
  const std::vector<float> s = args.recurrent_state.to_vector<float>();
  const std::vector<float> out = selective_state_update(args).to_vector<float>();
  const auto at = [](const Tensor& tensor, std::size_t i) {
    return static_cast<double>(tensor.data<float>()[i]);
  };
  for (std::size_t h = 0; h < 2; ++h) {
    for (std::size_t p = 0; p < 3; ++p) {
      double y = at(args.d, h) * at(args.x, h * 3 + p);
      for (std::size_t n = 0; n < 4; ++n) {
        const double old = static_cast<double>(s[((2 + h) * 4 + n) * 3 + p]);
        y += at(args.c, n) * (std::exp(at(args.dt, h) * at(args.a, h)) * old +
                              at(args.dt, h) * at(args.x, h * 3 + p) * at(args.b, n));
      }
      EXPECT_NEAR(static_cast<double>(out[h * 3 + p]), y, 1e-5);
    }
  }
}

TEST_F(StateOps, RefusalsNameTheArgument) {
  const auto make = [&](const Dims& shape, std::uint64_t seed) { return floats(shape, seed); };
  const auto refusal = [&](const std::function<void(GatedDeltaArgs&)>& spoil) {
    GatedDeltaArgs args = gated_delta(make);
    args.cu_seqlens_q = ints({0, 4});
    args.slot_ids = ints({1});
    spoil(args);
    return message_of([&] { gated_delta_update(args); });
  };
  EXPECT_EQ(refusal([&](auto& args) { args.slot_ids = ints({3}); }),
            "gated_delta_update: slot_ids of sequence 0 names slot 3; it must be in [0, 3)");
  EXPECT_EQ(refusal([&](auto& args) {
              args.q = floats({4, 3, 16}, 1);
            }),
            "gated_delta_update: q has 3 heads; they must divide the state's 4");
  EXPECT_EQ(refusal([&](auto& args) {
              args.v = floats({4, 4, 23}, 1);
            }),
            "gated_delta_update: v has shape [4, 4, 23]; it must be [any, 4, 24]");
  EXPECT_EQ(refusal([&](auto& args) {
              args.dt_bias = floats({4}, 1);
              args.a_log = {};
            }),
            "gated_delta_update: dt_bias is given without a_log, which it belongs to");
  EXPECT_EQ(refusal([&](auto& args) { args.recurrent_state = {}; }),
            "gated_delta_update: recurrent_state is undefined");
}

}  // namespace
}  // namespace octavo::ops_test
