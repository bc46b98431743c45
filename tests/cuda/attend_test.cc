// What holds for attention on the device whichever kernel takes it: that nothing but a row's own
// sequence shows in its bits, and what is refused. Each against the reference, bit for bit.
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "attend_testing.h"
#include "octavo/error.h"
#include <gtest/gtest.h>

namespace octavo::cuda_test {
namespace {

using ops_test::Part;

constexpr TestedOptions kTuned{.tuned_only = true};
constexpr TestedOptions kGeneral{.general_only = true};

TEST(Attend, SlicesOfTheWorkspaceDoNotShow) {
  for (TestedOptions options : {kTuned, kGeneral}) {
    for (const std::int64_t bytes : {1, 20000, 100000}) {
      options.attend_workspace_bytes = bytes;
      const Model model{.kv_heads = 2, .group = 3, .window = 40, .sinks = true};
      EXPECT_EQ(difference_from_reference(model, {}, {{0, 500}, {1, 20}},
                                          {{{0, 1}, {1, 1}}, {{0, 13}, {1, 1}, {2, 4}}}, options),
                "")
          << bytes;
    }
  }
}

TEST(Attend, SequencesOfAStepMayBeOfAnyLength) {
  for (const TestedOptions& options : {kTuned, kGeneral}) {
    const Model model{.kv_heads = 1, .group = 3};
    EXPECT_EQ(difference_from_reference(model, {}, {{1, 255}, {3, 100}},
                                        {{{0, 40}, {1, 1}, {2, 1}, {3, 7}, {4, 2}}}, options),
              "");
  }
}

TEST(Attend, APromptInPiecesGivesTheBitsOfTheWholeOne) {
  for (const TestedOptions& options : {kTuned, kGeneral}) {
    const Model model{.kv_heads = 1, .group = 2};
    const Results whole = run_after(model, {}, {{0, 240}}, {{{0, 30}}});
    for (const std::vector<Step>& steps :
         {std::vector<Step>{{{0, 30}}}, {{{0, 1}}, {{0, 17}}, {{0, 12}}}}) {
      EXPECT_EQ(difference(whole, run_after(model, on_device({}, options), {{0, 240}}, steps)), "");
    }
  }
}

// More chunks than the combination takes at a time.
TEST(Attend, ALongHistoryGivesTheBitsOfTheReference) {
  for (const unsigned seed : {0u, 1u}) {
    const Model model{.kv_heads = 1, .group = 1, .head_dim = 8, .v_head_dim = 16, .sinks = true};
    TestedOptions options = kGeneral;
    options.seed = seed;
    EXPECT_EQ(difference_from_reference(model, {}, {{0, 129 * 256}}, {{{0, 1}}}, options), "");
  }
}

TEST(Attend, NoOrderOfThreadsShows) {
  for (TestedOptions options : {kTuned, kGeneral}) {
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
      options.seed = seed;
      Model model{.kv_heads = 2, .group = 4, .soft_cap = 9.0f};
      store_as(DType::E4M3, KVScale::PerTokenHead, model, Part::Key);
      store_as(DType::E4M3, KVScale::PerTokenHead, model, Part::Value);
      EXPECT_EQ(difference_from_reference(model, {.partials = true}, {{0, 300}, {1, 100}},
                                          {{{0, 1}, {1, 5}}}, options),
                "")
          << seed;
    }
  }
}

// A NaN at a position that some rows of a tile see and others do not: because it comes later, or,
// the last one of a chunk, because their windows begin behind it.
TEST(Attend, WhatARowDoesNotSeeDoesNotReachIt) {
  for (const TestedOptions& options : {kTuned, kGeneral}) {
    for (const Part part : {Part::Key, Part::Value}) {
      for (const std::int64_t window : {0, 3}) {
        for (const std::int64_t nan : {255, 262}) {
          const Model model{.kv_heads = 1,
                            .group = 2,
                            .window = window,
                            .nan_position = nan,
                            .nan_part = static_cast<int>(part)};
          const Placement placement{.partials = true};
          const std::vector<Step> steps = {{{0, 12}}};
          EXPECT_EQ(difference_from_reference(model, placement, {{0, 257}}, steps, options), "");
          const Results results =
              run_after(model, on_device(placement, options), {{0, 257}}, steps);
          for (std::int64_t row = 257; row < 257 + 12; ++row) {
            const bool seen = nan <= row && (window == 0 || nan > row - window);
            EXPECT_EQ(std::isnan(results.at({0, row}).out[0]), seen) << nan << " from " << row;
          }
        }
      }
    }
  }
}

// Scores so small that they are zeros of either sign: m is +0 all the same.
TEST(Attend, AMaximumOfZerosIsPositive) {
  for (const TestedOptions& options : {kTuned, kGeneral}) {
    const Model model{.kv_heads = 2, .group = 3, .scale = 0x1p-149f, .magnitude = 0.1f};
    const std::vector<Step> steps = {{{0, 6}, {1, 5}}};
    EXPECT_EQ(difference_from_reference(model, {.partials = true}, {}, steps, options), "");
    const Results results = run_after(model, on_device({}, options), {}, steps);
    int zeros = 0;
    for (const auto& [token, result] : results) {
      for (std::size_t head = 0; head < result.lse.size(); ++head) {
        const float m = result.max_sum[2 * head];
        zeros += m == 0.0f && !std::signbit(m) ? 1 : 0;
      }
    }
    EXPECT_GT(zeros, 10);
  }
}

// Queries that see all of [0, length), as those over an encoder's output do.
TEST(Attend, WithoutCausalityEveryRowSeesEverything) {
  const auto not_causal = [](std::shared_ptr<Device> device) {
    return std::make_shared<ChangedDevice>(std::move(device), [](Device& to, const AttendArg& arg) {
      AttendArg changed = arg;
      changed.causal = false;
      to.attend(changed);
    });
  };
  for (const TestedOptions& options : {kTuned, kGeneral}) {
    for (const std::int64_t window : {0, 20}) {
      const Model model{.kv_heads = 2, .group = 3, .window = window};
      Placement placement{.partials = true};
      const std::vector<Step> steps = {{{0, 6}, {1, 2}}};
      placement.device = [&] { return not_causal(make_cpu_device(1)); };
      const Results expected = run_after(model, placement, {{0, 260}}, steps);
      placement.device = [&] { return not_causal(device_under_test(options)); };
      EXPECT_EQ(difference(expected, run_after(model, placement, {{0, 260}}, steps)), "");
    }
  }
}

// Lengths of 0: rows see nothing.
TEST(Attend, ARowThatSeesNothingGivesZeroOrItsSink) {
  const auto over_nothing = [](std::shared_ptr<Device> device, bool knows) {
    return std::make_shared<ChangedDevice>(
        std::move(device), [knows](Device& to, const AttendArg& arg) {
          std::vector<std::int32_t> zeros(static_cast<std::size_t>(arg.step.batch) + 1);
          const auto size_bytes = static_cast<std::int64_t>(zeros.size() * sizeof(std::int32_t));
          void* const lengths = to.allocate(size_bytes);
          AttendArg changed = arg;
          changed.causal = false;
          changed.step.cu_seqlens_k = static_cast<const std::int32_t*>(lengths);
          changed.step.max_kv_len = knows ? 0 : arg.step.max_kv_len;
          to.attend(changed);
          to.deallocate(lengths, size_bytes);
        });
  };
  for (const TestedOptions& options : {kTuned, kGeneral}) {
    for (const bool sinks : {false, true}) {
      for (const bool knows : {false, true}) {
        const Model model{.kv_heads = 2, .group = 3, .sinks = sinks};
        Placement placement{.partials = true};
        placement.device = [&] { return over_nothing(make_cpu_device(1), knows); };
        const Results expected = run_after(model, placement, {{0, 10}}, {{{0, 2}}});
        placement.device = [&] { return over_nothing(device_under_test(options), knows); };
        EXPECT_EQ(difference(expected, run_after(model, placement, {{0, 10}}, {{{0, 2}}})), "");
      }
    }
  }
}

// Four bytes off the alignment that vector stores need.
TEST(Attend, PartialResultsMayLieAnywhere) {
  const auto shifted = [](std::shared_ptr<Device> device) {
    return std::make_shared<ChangedDevice>(std::move(device), [](Device& to, const AttendArg& arg) {
      const std::int64_t slots = arg.step.tokens * arg.q_heads * arg.max_chunks;
      const std::int64_t out_bytes = slots * arg.values.head_dim * 4;
      const std::int64_t size_bytes = out_bytes + slots * 8 + 8;
      void* const memory = to.allocate(size_bytes);
      AttendArg changed = arg;
      changed.partial_out = static_cast<float*>(memory) + 1;
      changed.partial_max_sum = changed.partial_out + slots * arg.values.head_dim;
      to.attend(changed);
      to.copy(arg.partial_out, changed.partial_out, out_bytes);
      to.copy(arg.partial_max_sum, changed.partial_max_sum, slots * 8);
      to.deallocate(memory, size_bytes);
    });
  };
  const Step step = {{0, 3}, {1, 1}};
  for (const KVCodec keys : {KVCodec::None, KVCodec::Int8}) {
    for (const KVCodec values : {KVCodec::None, KVCodec::Int8}) {
      const Model model{.kv_heads = 2,
                        .group = 3,
                        .k_quant = {.codec = keys},
                        .v_quant = {.codec = values},
                        .window = 300};
      Placement placement{.partials = true};
      const Results expected = run_after(model, placement, {{0, 600}}, {step});
      for (TestedOptions options : {kTuned, kGeneral}) {
        options.attend_workspace_bytes = 30000;
        placement.device = [&] { return shifted(device_under_test(options)); };
        if (keys == values || !options.tuned_only) {  // The others have no tuned kernel.
          EXPECT_EQ(difference(expected, run_after(model, placement, {{0, 600}}, {step})), "")
              << name_of(model, placement);
        }
      }
    }
  }
}

// Rows in the upper part of a pool beyond 4 GiB.
TEST(Attend, OffsetsOfPoolsHave64Bits) {
  for (const TestedOptions& options : {kTuned, kGeneral}) {
    const Model model{.kv_heads = 2, .group = 2, .kv_dtype = DType::BF16};
    const Placement placement{
        .block_size = 16, .spare_blocks = std::int64_t{1} << 21, .last_blocks = true};
    EXPECT_EQ(difference_from_reference(model, placement, {{0, 30}}, {{{0, 1}, {1, 3}}}, options),
              "");
  }
}

TEST(Attend, WhatNoTunedKernelTakesIsRefusedByName) {
  const auto message = [](const Model& model) -> std::string {
    try {
      run_after(model, on_device({}, kTuned), {}, {{{0, 1}}});
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::Unimplemented);
      return error.what();
    }
    return "nothing was raised";
  };
  Model model{.group = 5, .head_dim = 72, .v_head_dim = 72};
  EXPECT_EQ(message(model),
            "attend: no tuned kernel for keys bf16, values bf16, head_dim 72, group 5, block_size "
            "16; tuned head_dims of packed rows of these codecs: 64, 80, 96, 128, 192, 256");
  model.v_quant.codec = KVCodec::Int8;
  model.head_dim = 64;
  EXPECT_EQ(message(model),
            "attend: no tuned kernel for keys bf16, values int8, head_dim 64 and 72, group 5, "
            "block_size 16, rows that are not packed and aligned to 16 bytes; tuned head_dims of "
            "packed rows of these codecs: none");
}

}  // namespace
}  // namespace octavo::cuda_test
