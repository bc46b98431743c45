// What a BlockManager may be made of, and how long its sequences may be.
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "tests/scenarios/session_fixture.h"

namespace octavo::testing {
namespace {

void expect_refused(const BlockManagerConfig& config,
                    ErrorCode code,
                    std::initializer_list<std::string_view> words) {
  try {
    BlockManager manager(config);
    ADD_FAILURE() << "nothing was raised";
  } catch (const Error& error) {
    EXPECT_EQ(to_string(error.code()), to_string(code)) << error.what();
    for (const std::string_view word : words) {
      EXPECT_NE(std::string_view(error.what()).find(word), std::string_view::npos)
          << "\"" << error.what() << "\" does not say " << word;
    }
  }
}

template <class Value>
BlockManagerConfig with(Value BlockManagerConfig::*field, Value value) {
  BlockManagerConfig config = small_config();
  config.*field = value;
  return config;
}

constexpr ErrorCode kInvalid = ErrorCode::InvalidArgument;

TEST(BlockManagerConfig, EveryFieldOutOfRangeIsRefusedByNameValueAndRange) {
  using C = BlockManagerConfig;
  for (const std::int64_t value : {INT64_MIN, std::int64_t{-1}, std::int64_t{0}}) {
    expect_refused(with(&C::num_blocks, value), kInvalid, {"num_blocks", "2147483647"});
  }
  expect_refused(with(&C::num_blocks, std::int64_t{2147483648}), kInvalid,
                 {"num_blocks", "2147483648", "2147483647"});
  expect_refused(with(&C::num_blocks, INT64_MAX), kInvalid, {"num_blocks", "9223372036854775807"});
  for (const int value : {-2147483647, -1, 0, 65537, 2147483647}) {
    expect_refused(with(&C::block_size, value), kInvalid,
                   {"block_size", std::to_string(value), "65536"});
  }
  for (const int value : {-1, 0, 16777217, 2147483647}) {
    expect_refused(with(&C::max_seqs, value), kInvalid,
                   {"max_seqs", std::to_string(value), "16777216"});
  }
  expect_refused(with(&C::max_tokens_per_seq, std::int64_t{-1}), kInvalid,
                 {"max_tokens_per_seq", "-1"});
  expect_refused(with(&C::max_blocks_per_seq, std::int64_t{-1}), kInvalid,
                 {"max_blocks_per_seq", "-1"});
  expect_refused(with(&C::window, -1), kInvalid, {"window", "-1"});
}

TEST(BlockManagerConfig, ATableThatNoAddressSpaceHoldsIsResourceExhausted) {
  BlockManagerConfig config = small_config();
  config.num_blocks = 2147483647;
  config.max_seqs = 1 << 24;
  expect_refused(config, ErrorCode::ResourceExhausted, {});
}

TEST(BlockManagerConfig, TheSmallestPoolWorks) {
  BlockManagerConfig config;
  config.num_blocks = 1;
  config.block_size = 1;
  config.max_seqs = 1;
  Sessions s(config);
  EXPECT_EQ(s.cache({7}), 0);
  EXPECT_EQ(s.parked_blocks(), 1);
  EXPECT_EQ(s.admit(0, {7}), 0);
  s.prefill(0);
  EXPECT_EQ(s.free_blocks(), 0);
  EXPECT_EQ(s.manager().stats().evicted_for_step, 1);
}

TEST(BlockManagerConfig, ConfigReadsBackAsItWasGiven) {
  BlockManagerConfig config = small_config();
  config.max_tokens_per_seq = 30;
  config.partial_keys = false;
  const BlockManager manager(config);
  EXPECT_EQ(manager.config().num_blocks, 16);
  EXPECT_EQ(manager.config().block_size, 4);
  EXPECT_EQ(manager.config().max_seqs, 4);
  EXPECT_EQ(manager.config().max_tokens_per_seq, 30);
  EXPECT_FALSE(manager.config().partial_keys);
  EXPECT_EQ(manager.num_blocks(), 16);
}

TEST(BlockManager, AFreshManagerHasEverythingFree) {
  const BlockManager manager(small_config());
  EXPECT_EQ(manager.free_blocks(), 16);
  EXPECT_EQ(manager.parked_blocks(), 0);
  EXPECT_EQ(manager.quarantined_blocks(), 0);
  EXPECT_TRUE(manager.copies().empty());
  for (int slot = 0; slot < 4; ++slot) {
    EXPECT_TRUE(manager.is_fresh(slot));
    EXPECT_TRUE(manager.block_table(slot).empty());
    EXPECT_EQ(manager.reserved_len(slot), 0);
    EXPECT_EQ(manager.committed_len(slot), 0);
  }
  manager.audit();
}

TEST(BlockManager, EveryCallThatTakesASlotRefusesOneOutOfRange) {
  BlockManager m(small_config());
  for (const int slot : {-2147483647, -1, 4, 2147483647}) {
    const std::string value = std::to_string(slot);
    EXPECT_ERROR(m, InvalidArgument, m.set_namespace(slot, 1), "set_namespace", "slot", value, "4");
    EXPECT_ERROR(m, InvalidArgument, m.admit(slot, story(1, 5)), "admit", "slot", value, "4");
    EXPECT_ERROR(m, InvalidArgument, m.update_position(slot, 0), "update_position", "slot", value,
                 "4");
    EXPECT_ERROR(m, InvalidArgument, m.retire(slot, story(1, 5)), "retire", "slot", value, "4");
    EXPECT_ERROR(m, InvalidArgument, m.evict(slot), "evict", "slot", value, "4");
    EXPECT_ERROR(m, InvalidArgument, m.abandon(slot), "abandon", "slot", value, "4");
    EXPECT_ERROR(m, InvalidArgument, reserve(m, {slot}, {1}), "reserve", "slot", value, "4");
    EXPECT_ERROR(m, InvalidArgument, prepare(m, {0, 1}, {0}, {slot}), "prepare_step", "slot", value,
                 "4");
    EXPECT_ERROR(m, InvalidArgument, m.block_table(slot), "block_table", "slot", value, "4");
    EXPECT_ERROR(m, InvalidArgument, m.reserved_len(slot), "reserved_len", "slot", value, "4");
    EXPECT_ERROR(m, InvalidArgument, m.committed_len(slot), "committed_len", "slot", value, "4");
    EXPECT_ERROR(m, InvalidArgument, m.is_fresh(slot), "is_fresh", "slot", value, "4");
  }
}

// --- How long a sequence may be ---

TEST(BlockManagerRow, HoldsAsManyTokensAsMaxTokensPerSeqSays) {
  BlockManagerConfig config = small_config();
  config.max_tokens_per_seq = 10;
  BlockManager m(config);
  EXPECT_ERROR(m, InvalidArgument, m.admit(0, story(1, 11)), "admit", "11", "10");
  EXPECT_ERROR(m, InvalidArgument, reserve(m, {0}, {11}), "reserve", "10");
  EXPECT_ERROR(m, InvalidArgument, prepare(m, {0, 11}, {0}, {0}), "prepare_step", "10");
  m.admit(0, story(1, 10));
  reserve(m, {0}, {10});
  EXPECT_ERROR(m, InvalidArgument, reserve(m, {0}, {1}), "reserve", "10");
  EXPECT_ERROR(m, InvalidArgument, prepare(m, {0, 1}, {10}, {0}), "prepare_step", "10");
  m.update_position(0, 9);
  prepare(m, {0, 1}, {9}, {0});
}

TEST(BlockManagerRow, HoldsAsManyBlocksAsMaxBlocksPerSeqSays) {
  BlockManagerConfig config = small_config();
  config.max_blocks_per_seq = 2;
  BlockManager m(config);
  EXPECT_ERROR(m, InvalidArgument, m.admit(0, story(1, 9)), "admit", "9", "8");
  EXPECT_ERROR(m, InvalidArgument, reserve(m, {0}, {9}), "reserve", "8");
  reserve(m, {0}, {8});
  EXPECT_EQ(m.block_table(0).size(), 2U);
}

TEST(BlockManagerRow, TheTighterOfBothLimitsHolds) {
  BlockManagerConfig config = small_config();
  config.max_blocks_per_seq = 2;
  config.max_tokens_per_seq = 100;
  BlockManager by_blocks(config);
  EXPECT_ERROR(by_blocks, InvalidArgument, reserve(by_blocks, {0}, {9}), "reserve");
  config.max_blocks_per_seq = 5;
  config.max_tokens_per_seq = 6;
  BlockManager by_tokens(config);
  EXPECT_ERROR(by_tokens, InvalidArgument, reserve(by_tokens, {0}, {7}), "reserve");
  reserve(by_tokens, {0}, {6});
}

TEST(BlockManagerRow, WithoutLimitsOneSequenceMayHoldTheWholePool) {
  BlockManager m(small_config());
  reserve(m, {0}, {64});
  EXPECT_EQ(m.free_blocks(), 0);
  EXPECT_ERROR(m, InvalidArgument, reserve(m, {0}, {1}), "reserve", "64");
}

// A legal length that the pool lacks blocks for is another error than an illegal one.
TEST(BlockManagerRow, ALegalLengthThatThePoolCannotHoldIsResourceExhausted) {
  BlockManagerConfig config = small_config();
  config.max_tokens_per_seq = 100;
  BlockManager m(config);
  EXPECT_ERROR(m, ResourceExhausted, m.admit(0, story(1, 65)), "admit", "17", "16");
  EXPECT_ERROR(m, ResourceExhausted, reserve(m, {0}, {65}), "reserve", "17", "16");
  EXPECT_ERROR(m, InvalidArgument, m.admit(0, story(1, 101)), "admit", "101", "100");
  EXPECT_EQ(m.admit(0, story(1, 64)), 0);
}

}  // namespace
}  // namespace octavo::testing
