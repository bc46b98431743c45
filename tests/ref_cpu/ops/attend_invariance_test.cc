// What must not change one bit of attention: where rows lie, how a prompt is cut into steps, who
// else is in the batch, how many threads work, what stands in memory that was never written.
#include <string>
#include <vector>

#include "attend_world.h"
#include <gtest/gtest.h>

namespace octavo::ops_test {
namespace {

const KVQuantSpec kInt8{.codec = KVCodec::Int8};
const KVQuantSpec kInt4{.codec = KVCodec::Int4};
const KVQuantSpec kE4M3{.codec = KVCodec::E4M3};
const KVQuantSpec kE5M2Static{KVCodec::E5M2, KVScale::Static};

// One model for every way through the arithmetic.
std::vector<Model> models() {
  return {{},
          {.query_dtype = DType::F32, .input_dtype = DType::F32, .kv_dtype = DType::F32},
          {.group = 1, .head_dim = 80, .v_head_dim = 80, .kv_dtype = DType::F16, .sinks = true},
          {.k_quant = kInt8, .v_quant = kInt8, .soft_cap = 20.0f},
          {.group = 5, .k_quant = kInt4, .v_quant = kInt4, .sinks = true},
          {.head_dim = 96, .v_head_dim = 96, .k_quant = kE4M3, .v_quant = kE5M2Static},
          {.k_quant = kInt8, .v_quant = {}, .window = 70},
          {.group = 3, .window = 20, .soft_cap = 3.0f, .sinks = true, .out_dtype = DType::BF16}};
}

// Two sequences, one of them over a chunk's edge, prefill and decode.
const std::vector<Step> kSteps = {{{0, 250}, {1, 30}}, {{1, 1}, {0, 1}}, {{0, 12}, {1, 5}}};

Results reference(const Model& model) {
  return run(model, {.partials = true}, kSteps);
}

TEST(AttendInvariance, ContinuousRowsGiveThePagedBits) {
  for (const Model& model : models()) {
    EXPECT_EQ(difference(reference(model), run(model, {.paged = false, .partials = true}, kSteps)),
              "");
  }
}

TEST(AttendInvariance, BlockIdsBlockSizesAndPoolSizesDoNotMatter) {
  for (const Model& model : models()) {
    const Results expected = reference(model);
    for (const std::int64_t block_size : {1, 8, 64, 512}) {
      const Placement placement{.block_size = block_size,
                                .spare_blocks = block_size % 7,
                                .block_seed = static_cast<std::uint64_t>(block_size) + 5,
                                .partials = true};
      EXPECT_EQ(difference(expected, run(model, placement, kSteps)), "") << block_size;
    }
  }
}

TEST(AttendInvariance, APromptInPiecesGivesTheBitsOfTheWhole) {
  for (const Model& model : models()) {
    const Results whole = run(model, {}, {{{0, 290}}});
    EXPECT_EQ(difference(whole, run(model, {}, {{{0, 255}}, {{0, 2}}, {{0, 33}}})), "");
    EXPECT_EQ(difference(whole, run(model, {}, {{{0, 1}}, {{0, 100}}, {{0, 188}}, {{0, 1}}})), "");
  }
}

TEST(AttendInvariance, TheBatchAndItsOrderDoNotMatter) {
  for (const Model& model : models()) {
    const Results together = run(model, {}, {{{0, 60}, {1, 31}, {2, 1}}, {{2, 5}, {0, 1}, {1, 1}}});
    const Results turned = run(model, {}, {{{2, 1}, {1, 31}, {0, 60}}, {{0, 1}, {1, 1}, {2, 5}}});
    EXPECT_EQ(difference(together, turned), "");
    const Results alone = run(model, {}, {{{1, 31}}, {{1, 1}}});
    EXPECT_EQ(difference(alone, together, true), "");
  }
}

TEST(AttendInvariance, ThreadCountsDoNotMatter) {
  for (const Model& model : models()) {
    const Results expected = reference(model);
    for (const int threads : {2, 3, 8}) {
      EXPECT_EQ(difference(expected, run(model, {.threads = threads, .partials = true}, kSteps)),
                "")
          << threads;
    }
  }
}

TEST(AttendInvariance, MemoryThatWasNeverWrittenIsNeverRead) {
  for (const Model& model : models()) {
    for (const bool paged : {true, false}) {
      const Results nans = run(model, {.paged = paged, .poison = 0xFF}, kSteps);
      const Results others = run(model, {.paged = paged, .poison = 0x7F}, kSteps);
      const Results zeros = run(model, {.paged = paged, .poison = 0}, kSteps);
      EXPECT_EQ(difference(nans, zeros), "");
      EXPECT_EQ(difference(others, zeros), "");
    }
  }
}

TEST(AttendInvariance, LengthsMayBeCumulativeOrNot) {
  for (const Model& model : models()) {
    EXPECT_EQ(difference(run(model, {.cumulative_k = true}, kSteps),
                         run(model, {.cumulative_k = false}, kSteps)),
              "");
  }
}

TEST(AttendInvariance, RewoundAndAppendedAgainIsAppendedOnce) {
  for (const Model& model : models()) {
    for (const bool paged : {true, false}) {
      const Placement placement{.paged = paged, .max_step = 40};
      World straight(model, placement, 1, 150);
      World rewound(model, placement, 1, 150);
      Results expected;
      Results results;
      for (const int tokens : {40, 40, 3, 2}) {
        straight.run({{0, tokens}}, expected);
      }
      for (const int tokens : {40, 40, 30}) {
        rewound.run({{0, tokens}}, results);
      }
      rewound.rewind(0, 82);
      results.clear();
      rewound.run({{0, 1}}, results);
      rewound.run({{0, 2}}, results);
      EXPECT_EQ(difference(results, expected, true), "");
    }
  }
}

TEST(AttendInvariance, ReadingOnlyGivesWhatAppendingGave) {
  for (const Model& model : models()) {
    World world(model, {}, 2, 300);
    Results appended;
    world.run({{0, 200}, {1, 20}}, appended);
    world.run({{0, 77}, {1, 3}}, appended);
    Results read;
    world.run_read_only({{1, 8}, {0, 77}}, read);
    EXPECT_EQ(difference(read, appended, true), "");
    EXPECT_EQ(read.size(), 85u);
  }
}

TEST(AttendInvariance, ARingThatWrapsGivesThePagedBits) {
  for (const std::int64_t window : {1, 7, 64}) {
    for (const KVQuantSpec& quant : {KVQuantSpec{}, kInt8}) {
      const Model model{.k_quant = quant, .v_quant = quant, .window = window};
      std::vector<Step> steps;
      for (int i = 0; i < 40; ++i) {
        steps.push_back({{0, 1 + i * 7 % 9}});
      }
      EXPECT_EQ(difference(run(model, {.paged = false, .max_step = 9}, steps),
                           run(model, {.paged = true}, steps)),
                "");
    }
  }
}

TEST(AttendInvariance, ThePoolMayBeLargerThanFourGibibytes) {
  for (const KVQuantSpec& quant : {KVQuantSpec{}, kInt8}) {
    const Model model{.k_quant = quant, .v_quant = quant};
    const std::vector<Step> steps = {{{0, 40}, {1, 20}}, {{1, 1}, {0, 1}}};
    // 4 KiB a block at most: 4.3 or 8.6 GiB, of which the last few blocks are touched.
    const Placement large{.spare_blocks = 2250000, .last_blocks = true};
    EXPECT_EQ(difference(run(model, {}, steps), run(model, large, steps)), "");
    const Placement many_slots{.paged = false, .spare_blocks = 900000, .last_blocks = true};
    EXPECT_EQ(difference(run(model, {}, steps), run(model, many_slots, steps)), "");
  }
}

}  // namespace
}  // namespace octavo::ops_test
