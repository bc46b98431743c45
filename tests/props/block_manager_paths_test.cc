// Single paths that random sequences meet too rarely, each compared with the naive model.
#include <sstream>

#include "lockstep.h"
#include "world.h"
#include <gtest/gtest.h>

namespace octavo::testkit {
namespace {

/// A manager and the model beside it, driven by hand.
class BlockManagerPaths : public ::testing::Test {
 protected:
  void start(std::int64_t num_blocks, int block_size, int max_seqs) {
    BlockManagerConfig config;
    config.num_blocks = num_blocks;
    config.block_size = block_size;
    config.max_seqs = max_seqs;
    world_ = std::make_unique<World>(config);
    lockstep_ = std::make_unique<Lockstep>(config);
  }

  std::int64_t admit(int slot, Tokens prompt) {
    return make({.verb = Verb::Admit,
                 .slot = slot,
                 .number = kAddressableAll,
                 .tokens = std::move(prompt)})
        .value;
  }
  void step(int slot, int past, const Tokens& tokens) {
    Call call{.verb = Verb::PrepareStep, .tokens = tokens};
    call.slots = {slot};
    call.past = {past};
    call.counts = {0, static_cast<std::int32_t>(tokens.size())};
    make(call);
  }
  void retire(int slot, std::vector<std::int64_t> boundaries = {}) {
    make({.verb = Verb::Retire,
          .slot = slot,
          .number = kAddressableAll,
          .tokens = world_->sessions()[static_cast<std::size_t>(slot)].tokens,
          .boundaries = std::move(boundaries)});
  }
  void keep(int slot, const Tokens& history, std::vector<std::int64_t> boundaries = {}) {
    step(slot, 0, history);
    retire(slot, std::move(boundaries));
  }
  std::int64_t taken(Branch branch) const {
    return world_->model().branches()[static_cast<std::size_t>(branch)];
  }

  Outcome make(const Call& call) {
    const World before = *world_;
    const Outcome expected = world_->perform(call);
    std::ostringstream text;
    text << call;
    SCOPED_TRACE(text.str());
    EXPECT_NO_THROW(world_->model().check());
    EXPECT_NO_THROW(lockstep_->step(before, *world_, call, expected));
    EXPECT_FALSE(expected.refused());
    return expected;
  }

 private:
  std::unique_ptr<World> world_;
  std::unique_ptr<Lockstep> lockstep_;
};

// The longest of a taken-over block's keys is displaced while the slot holds the block: what the
// shorter one does not cover may be written in place.
TEST_F(BlockManagerPaths, AWriteBehindADisplacedKeyNeedsNoCopy) {
  start(12, 4, 3);
  keep(0, {1, 2, 3}, {1});
  keep(0, {1});  // The short key is the latest now.
  EXPECT_EQ(admit(0, {1, 2, 3, 4, 5}), 3);
  ASSERT_EQ(taken(Branch::TakenOver), 1);
  keep(1, {7});
  keep(1, {8});
  keep(1, {9});
  ASSERT_EQ(taken(Branch::KeyDisplaced), 1);
  step(0, 2, {6, 6});
  EXPECT_EQ(taken(Branch::GivenUp), 0);
  EXPECT_EQ(admit(1, {1, 2}), 1);
}

// All keys of a taken-over block are displaced while a slot holds it.
TEST_F(BlockManagerPaths, ABlockWhoseKeysAreGoneIsPrivateAgain) {
  start(12, 4, 3);
  keep(0, {1, 2});
  EXPECT_EQ(admit(0, {1, 2, 3}), 2);
  keep(1, {9, 9, 9}, {1, 2});
  keep(1, {8, 8}, {1});
  ASSERT_EQ(taken(Branch::KeyDisplacedHeld), 1);
  step(0, 1, {5});
  EXPECT_EQ(taken(Branch::GivenUp), 0);
  make({.verb = Verb::Evict, .slot = 0});
}

// A fifth key that is named by the very block whose oldest key it displaces.
TEST_F(BlockManagerPaths, ABlockDisplacesItsOwnKeys) {
  start(6, 8, 2);
  keep(0, {1, 2, 3, 4, 5, 6, 7}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(taken(Branch::KeyDisplaced), 3);
  EXPECT_EQ(admit(0, {1, 2, 3, 4, 9}), 4);
  EXPECT_EQ(admit(1, {1, 2, 3, 9}), 0);
}

// Under one parent stand keys of sealed blocks and of partial ones.
TEST_F(BlockManagerPaths, KeysOfSealedBlocksStandBesideTrailingOnes) {
  start(12, 4, 2);
  keep(0, {1, 2, 3, 4, 5}, {1, 3});
  keep(0, {1, 2, 9});
  EXPECT_EQ(admit(0, {1, 2, 3, 9, 9}), 3);
  EXPECT_EQ(admit(1, {1, 2, 9, 4, 4}), 3);
  step(1, 3, {4, 4});
  retire(1);
  retire(0);
}

// As many generations in memory as there can be, and a slot that changes its mind.
TEST_F(BlockManagerPaths, ANamespaceIsKeptHoweverManyThereAre) {
  start(1, 2, 1);
  keep(0, {1});
  make({.verb = Verb::SetNamespace, .slot = 0, .number = 5});
  make({.verb = Verb::SetNamespace, .slot = 0, .number = 6});
  EXPECT_EQ(admit(0, {1, 1}), 0);
}

}  // namespace
}  // namespace octavo::testkit
