// The inverse of the footprint: exact at every budget, never negative, never wrapped.
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "octavo/kv_footprint.h"
#include "plan_testing.h"
#include "random_composition.h"
#include <gtest/gtest.h>

namespace octavo {
namespace {

using testing::Composition;
using testing::raised;
using testing::Random;
using testing::random_composition;

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

std::int64_t total_with_blocks(Composition composition, std::int64_t num_blocks) {
  composition.config.paged->num_blocks = num_blocks;
  return footprint(composition.config, composition.specs).total();
}

std::int64_t total_with_seqs(Composition composition, std::int64_t max_seqs) {
  composition.config.max_seqs = static_cast<int>(max_seqs);
  return footprint(composition.config, composition.specs).total();
}

Composition llama_8b() {
  Composition composition;
  composition.config = {.num_layers = 32,
                        .max_seqs = 256,
                        .max_tokens_per_seq = 8192,
                        .kv_heads = 8,
                        .head_dim = 128,
                        .mode = KVCacheMode::Paged,
                        .paged = PagedParams{}};
  composition.specs.resize(32);
  return composition;
}

std::int64_t blocks_in(const Composition& composition, std::int64_t budget_bytes) {
  return largest_num_blocks(composition.config, composition.specs, budget_bytes);
}

std::int64_t seqs_in(const Composition& composition, std::int64_t budget_bytes) {
  return largest_max_seqs(composition.config, composition.specs, budget_bytes);
}

TEST(Fit, BlocksAgreeWithCountingUpOneByOne) {
  Random random(11);
  int tried = 0;
  while (tried < 40) {
    Composition composition = random_composition(random, 6);
    if (random.one_in(3)) {
      composition.config.paged->max_blocks_per_seq = 0;
    }
    if (footprint(composition.config, composition.specs).bytes_per_block == 0) {
      continue;
    }
    ++tried;
    for (std::int64_t n = 1; n < 20; ++n) {
      const std::int64_t exact = total_with_blocks(composition, n);
      const std::int64_t next = total_with_blocks(composition, n + 1);
      ASSERT_LT(exact, next);
      ASSERT_EQ(blocks_in(composition, exact), n);
      ASSERT_EQ(blocks_in(composition, next - 1), n);
      ASSERT_EQ(blocks_in(composition, next), n + 1);
    }
  }
}

TEST(Fit, SlotsAgreeWithCountingUpOneByOne) {
  Random random(12);
  for (int tried = 0; tried < 40; ++tried) {
    const Composition composition = random_composition(random, 6);
    for (std::int64_t n = 1; n < 20; ++n) {
      const std::int64_t exact = total_with_seqs(composition, n);
      const std::int64_t next = total_with_seqs(composition, n + 1);
      ASSERT_LT(exact, next);
      ASSERT_EQ(seqs_in(composition, exact), n);
      ASSERT_EQ(seqs_in(composition, next - 1), n);
      ASSERT_EQ(seqs_in(composition, next), n + 1);
    }
  }
}

TEST(Fit, TheTableGrowsWithThePoolWhenNothingElseLimitsASequence) {
  Composition composition = llama_8b();
  composition.config.max_tokens_per_seq = 0;
  for (const std::int64_t n : {1, 2, 1000, 123'457}) {
    const std::int64_t exact = total_with_blocks(composition, n);
    EXPECT_EQ(blocks_in(composition, exact), n);
    EXPECT_EQ(blocks_in(composition, exact - 1 + (n == 1 ? 1 : 0)), n == 1 ? 1 : n - 1);
  }
}

TEST(Fit, AGpuSizedBudgetIsExact) {
  const Composition composition = llama_8b();
  const std::int64_t budget = 60LL << 30;
  const std::int64_t blocks = blocks_in(composition, budget);
  const std::int64_t tables = total_with_blocks(composition, 1) - (2LL << 20);
  EXPECT_EQ(blocks, (budget - tables) / (2LL << 20));
  EXPECT_LE(total_with_blocks(composition, blocks), budget);
  EXPECT_GT(total_with_blocks(composition, blocks + 1), budget);
}

TEST(Fit, BudgetsNearTheLargestIntegerNeverWrap) {
  // 2^40 bytes a block: the pool itself would reach 2^63 bytes.
  Composition composition = llama_8b();
  composition.config.kv_heads = 1 << 14;
  composition.config.head_dim = 1 << 13;
  composition.config.paged->block_size = 64;
  const std::int64_t per_block = 2LL * 32 * (1 << 14) * (1 << 13) * 64 * 2;
  for (const std::int64_t budget : {kMax, kMax - 1, kMax - per_block, kMax / 2 + 1, kMax / 3}) {
    const std::int64_t blocks = blocks_in(composition, budget);
    const std::int64_t tables = total_with_blocks(composition, 1) - per_block;
    EXPECT_EQ(blocks, (budget - tables) / per_block);
    EXPECT_LE(total_with_blocks(composition, blocks), budget);
  }
}

TEST(Fit, SlotsNearTheLargestIntegerNeverWrap) {
  Composition composition;
  composition.config = {
      .num_layers = 1, .max_tokens_per_seq = 1 << 30, .kv_heads = 16, .head_dim = 128};
  composition.specs.resize(1);
  const std::int64_t per_slot = std::int64_t{1} << 43;
  const std::int64_t seqs = seqs_in(composition, kMax);
  EXPECT_EQ(seqs, (kMax >> 43));
  EXPECT_LE(total_with_seqs(composition, seqs), kMax);
  EXPECT_GT(total_with_seqs(composition, seqs), kMax - 2 * per_slot);
  raised(ErrorCode::InvalidArgument, [&] { total_with_seqs(composition, seqs + 1); });
}

TEST(Fit, NeverMoreThanIdsCanName) {
  Composition composition = llama_8b();
  composition.config.kv_heads = 1;
  composition.config.head_dim = 1;
  composition.config.paged->block_size = 1;
  EXPECT_EQ(blocks_in(composition, kMax), kMaxBlocks);
  EXPECT_EQ(blocks_in(composition, total_with_blocks(composition, kMaxBlocks)), kMaxBlocks);
  EXPECT_EQ(blocks_in(composition, total_with_blocks(composition, kMaxBlocks) - 1), kMaxBlocks - 1);
  composition.config.paged->num_blocks = 1;
  EXPECT_EQ(seqs_in(composition, kMax), kMaxSeqs);
}

TEST(Fit, WhatIsSearchedForIsNotReadFromTheConfig) {
  Composition composition = llama_8b();
  composition.config.paged->num_blocks = -7;
  EXPECT_GT(blocks_in(composition, 1LL << 30), 0);
  composition.config.paged->num_blocks = 10;
  composition.config.max_seqs = -7;
  EXPECT_GT(seqs_in(composition, 1LL << 30), 0);
}

TEST(Fit, ABudgetBelowTheFirstBlockNamesWhatItNeeds) {
  const Composition composition = llama_8b();
  const std::int64_t one = total_with_blocks(composition, 1);
  EXPECT_EQ(blocks_in(composition, one), 1);
  EXPECT_EQ(raised(ErrorCode::ResourceExhausted, [&] { blocks_in(composition, one - 1); }),
            "largest_num_blocks: budget_bytes is " + std::to_string(one - 1) +
                "; one block needs " + std::to_string(one) + " bytes, all storage included");
  EXPECT_EQ(raised(ErrorCode::ResourceExhausted, [&] { blocks_in(composition, 0); }),
            "largest_num_blocks: budget_bytes is 0; one block needs " + std::to_string(one) +
                " bytes, all storage included");
}

TEST(Fit, ABudgetBelowTheFirstSlotNamesWhatItNeeds) {
  // One slab of 64 MiB a slot, 51 MiB to spend.
  Composition composition;
  composition.config.num_layers = 1;
  composition.specs.push_back({.kind = KVLayerKind::State, .recurrent = {1024, 128, 128}});
  const std::int64_t one = total_with_seqs(composition, 1);
  EXPECT_EQ(raised(ErrorCode::ResourceExhausted, [&] { seqs_in(composition, 51LL << 20); }),
            "largest_max_seqs: budget_bytes is 53477376; one slot needs " + std::to_string(one) +
                " bytes, all storage included");
  raised(ErrorCode::ResourceExhausted, [&] { seqs_in(composition, 0); });
}

TEST(Fit, ANegativeBudgetIsRefused) {
  const Composition composition = llama_8b();
  EXPECT_EQ(raised(ErrorCode::InvalidArgument, [&] { blocks_in(composition, -1); }),
            "largest_num_blocks: budget_bytes is -1; it must be >= 0");
  EXPECT_EQ(raised(ErrorCode::InvalidArgument,
                   [&] { seqs_in(composition, std::numeric_limits<std::int64_t>::min()); }),
            "largest_max_seqs: budget_bytes is -9223372036854775808; it must be >= 0");
}

TEST(Fit, BlocksWithoutAPagedRowAreRefused) {
  Composition composition = llama_8b();
  composition.config.mode = KVCacheMode::Continuous;
  EXPECT_EQ(raised(ErrorCode::InvalidArgument, [&] { blocks_in(composition, 1LL << 40); }),
            "largest_num_blocks: layer_specs has 0 paged rows; it must have at least 1");
  composition.config.paged.reset();
  raised(ErrorCode::InvalidArgument, [&] { blocks_in(composition, 1LL << 40); });
}

TEST(Fit, AnIllegalCompositionRaisesWhatTheFootprintRaises) {
  Composition composition = llama_8b();
  composition.config.kv_heads = -1;
  const std::string expected = "config.kv_heads is -1; it must be >= 0";
  EXPECT_EQ(raised(ErrorCode::InvalidArgument, [&] { blocks_in(composition, 1LL << 40); }),
            expected);
  EXPECT_EQ(raised(ErrorCode::InvalidArgument, [&] { seqs_in(composition, 1LL << 40); }), expected);
}

}  // namespace
}  // namespace octavo
