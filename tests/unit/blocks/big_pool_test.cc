// Pools and lengths near the limits of their types, and block sizes from 1 to 65536.
#include <chrono>
#include <cstdint>
#include <fstream>

#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/scenarios/session_fixture.h"

namespace octavo::testing {
namespace {

std::int64_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::int64_t total = 0;
  std::int64_t resident = 0;
  statm >> total >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

TEST(BigPool, ThePoolOfTheLargestIdIsMadeQuicklyAndTouchesLittleMemory) {
  BlockManagerConfig config = small_config();
  config.num_blocks = 2147483647;
  config.block_size = 16;
  config.max_tokens_per_seq = 1 << 20;
  const std::int64_t resident_before = resident_bytes();
  const auto begin = std::chrono::steady_clock::now();
  Sessions s(config);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(1));
  EXPECT_EQ(s.free_blocks(), 2147483647);
  EXPECT_EQ(s.cache(story(1, 100)), 0);
  EXPECT_EQ(s.probe(story(1, 101)), 100);
  s.admit(0, story(1, 100));
  s.prefill(0);
  s.rewind(0, 40);
  s.write(0, story(2, 100));
  s.retire(0, {50});
  EXPECT_EQ(s.free_blocks(), 2147483647);
  s.reset();
  EXPECT_EQ(s.cache(story(1, 100)), 0);
  EXPECT_LT(resident_bytes() - resident_before, 64 << 20);
}

// seq_lens and cu_seqlens_k are Int32: a length that they cannot hold must raise, not wrap.
TEST(BigPool, ALengthBeyondInt32IsRefused) {
  BlockManagerConfig config;
  config.num_blocks = 200'000;
  config.block_size = 65536;
  config.max_seqs = 2;
  BlockManager m(config);
  EXPECT_EQ(reserve(m, {0}, {2147483647}), Ids{0});
  EXPECT_EQ(m.reserved_len(0), 2147483647);
  EXPECT_ERROR(m, InvalidArgument, reserve(m, {0}, {1}), "reserve");
  EXPECT_ERROR(m, InvalidArgument, prepare(m, {0, 1}, {2147483647}, {0}), "prepare_step");
  EXPECT_EQ(prepare(m, {0, 1}, {2147483646}, {0}), Ids{2147483647});
}

TEST(BigPool, ASumOfLengthsBeyondInt32IsRefusedWhereItIsHandedOut) {
  BlockManagerConfig config;
  config.num_blocks = 200'000;
  config.block_size = 65536;
  config.max_seqs = 2;
  BlockManager m(config);
  reserve(m, {0, 1}, {1 << 30, 1 << 30});
  // Decode hands out single lengths, prefill their running sum.
  EXPECT_EQ(prepare(m, {0, 1, 2}, {1 << 30, 1 << 30}, {0, 1}), (Ids{(1 << 30) + 1, (1 << 30) + 1}));
  EXPECT_ERROR(m, InvalidArgument, prepare(m, {0, 2, 3}, {1 << 30, 1 << 30}, {0, 1}),
               "prepare_step");
}

// Counts that would overflow 32 and 64 bits on the way.
TEST(BigPool, ANonsenseCountIsRefusedWithoutOverflow) {
  BlockManager m(small_config());
  reserve(m, {0}, {60});
  EXPECT_ERROR(m, InvalidArgument, reserve(m, {0}, {2147483647}), "reserve");
  EXPECT_ERROR(m, InvalidArgument, prepare(m, {0, 2147483647}, {60}, {0}), "prepare_step");
  EXPECT_ERROR(m, InvalidArgument, prepare(m, {0, 2147483647}, {2147483647}, {0}), "prepare_step");
  EXPECT_ERROR(m, InvalidArgument, prepare(m, {0, 2147483647, -2147483647}, {60, 0}, {0, 1}),
               "prepare_step");
  EXPECT_ERROR(m, InvalidArgument, m.update_position(0, INT64_MAX), "update_position");
}

TEST(BigPool, ManySlotsAreMadeQuicklyAndTouchLittleMemory) {
  BlockManagerConfig config = small_config();
  config.max_seqs = 1 << 24;
  config.max_tokens_per_seq = 64;
  const std::int64_t resident_before = resident_bytes();
  const auto begin = std::chrono::steady_clock::now();
  BlockManager m(config);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(1));
  const int last = (1 << 24) - 1;
  EXPECT_EQ(m.admit(last, story(1, 9)), 0);
  reserve(m, {0, last}, {4, 9});
  m.retire(last, story(1, 9));
  EXPECT_EQ(m.admit(last, story(1, 10)), 9);
  EXPECT_EQ(m.free_blocks(), 16 - 4);
  EXPECT_LT(resident_bytes() - resident_before, 64 << 20);
}

class BlockSize : public ::testing::TestWithParam<int> {};

// One walk through every verb, with the right values as functions of the block size.
TEST_P(BlockSize, EveryVerbCountsInItsOwnBlocks) {
  const std::int64_t b = GetParam();
  BlockManagerConfig config = small_config();
  config.block_size = GetParam();
  Sessions s(config);
  const Tokens history = story(1, 3 * b + b / 2);
  const std::int64_t tail = b / 2;
  EXPECT_EQ(s.cache(history), 0);
  EXPECT_EQ(s.parked_blocks(), 3 + (tail > 0 ? 1 : 0));
  EXPECT_EQ(s.probe(join(history, {5})), 3 * b + tail);
  EXPECT_EQ(s.probe(history), tail > 0 ? 3 * b : 2 * b);
  EXPECT_EQ(s.probe(slice(history, 0, 2 * b)), b);
  EXPECT_EQ(s.probe(slice(history, 0, 2 * b + (b > 1 ? 1 : 0))), b > 1 ? 2 * b : b);
  EXPECT_EQ(s.probe(changed_at(join(history, {5}), 2 * b - 1)), b);
  EXPECT_EQ(s.probe(join(history, {5}), b), b);
  EXPECT_EQ(s.probe(join(history, {5}), b - 1), 0);

  s.admit(0, join(history, {5}));
  s.prefill(0);
  s.rewind(0, b);
  s.write(0, story(2, b));
  EXPECT_EQ(s.row(0).size(), 2U);
  s.commit(0);
  s.retire(0);
  EXPECT_EQ(s.probe(join(join(slice(history, 0, b), story(2, b)), {5})), 2 * b);
  EXPECT_EQ(s.probe(join(history, {5})), 3 * b + tail);
  EXPECT_EQ(s.free_blocks(), 16);
}

TEST_P(BlockSize, AStepTakesABlockExactlyWhenItCrossesAnEdge) {
  const int b = GetParam();
  BlockManagerConfig config = small_config();
  config.block_size = b;
  BlockManager m(config);
  const int steps = std::min(3 * b, 200);
  reserve(m, {0}, {b});
  for (int i = 0; i < steps; ++i) {
    prepare(m, {0, 1}, {b + i}, {0});
    ASSERT_EQ(m.free_blocks(), 16 - (b + i + 1 + b - 1) / b) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, BlockSize, ::testing::Values(1, 2, 3, 7, 16, 100, 4096, 65536));

}  // namespace
}  // namespace octavo::testing
