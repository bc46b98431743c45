// Faults of the kind "something small is left behind by every session".
#include <cstdint>
#include <fstream>
#include <memory>

#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/scenarios/session_fixture.h"
#include "tests/unit/blocks/allocation_counter.h"

namespace octavo::testing {
namespace {

std::int64_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::int64_t total = 0;
  std::int64_t resident = 0;
  statm >> total >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

// TensorRT-LLM PR #16037: blocks that had left the tree kept strong links to their parents; chains
// grew with every session and their destruction recursed until the stack was gone.
class Endurance : public ::testing::Test {
 protected:
  // One session over a prefix that all share, a middle that some share and an end of its own.
  void cycle(BlockManager& manager, std::int64_t number) {
    prompt_.assign(kHead.begin(), kHead.end());
    for (std::int64_t i = 0; i < 6; ++i) {
      prompt_.push_back(static_cast<std::int32_t>(1000 + number % 3));
    }
    for (std::int64_t i = 0; i < 5; ++i) {
      prompt_.push_back(static_cast<std::int32_t>(number));
    }
    const std::int64_t served = manager.admit(0, prompt_);
    served_ += served;
    n_new_[0] = static_cast<std::int32_t>(static_cast<std::int64_t>(prompt_.size()) - served);
    manager.reserve(slots_, n_new_, offsets_);
    manager.retire(0, prompt_, kAddressableAll, boundaries_);
  }

  const Tokens kHead = story(1, 8);
  Tokens prompt_;
  Ids slots_ = {0};
  Ids n_new_ = {0};
  Ids offsets_ = {0};
  Lengths boundaries_ = {9, 14};
  std::int64_t served_ = 0;
};

TEST_F(Endurance, AMillionSessionsOverSharedPrefixesLeaveMemoryFlat) {
  BlockManager manager(small_config());
  const std::int64_t cycles = kSanitized ? 50'000 : 1'000'000;
  for (std::int64_t i = 0; i < cycles / 10; ++i) {
    cycle(manager, i);
  }
  const std::int64_t heap_before = live_heap_bytes();
  const std::int64_t resident_before = resident_bytes();
  for (std::int64_t i = cycles / 10; i < cycles; ++i) {
    cycle(manager, i);
  }
  EXPECT_EQ(live_heap_bytes(), heap_before);
  if (!kSanitized) {
    EXPECT_LT(resident_bytes() - resident_before, 1 << 20);
  }
  EXPECT_GT(served_, 13 * cycles);
  EXPECT_GT(manager.stats().evicted_blocks(), cycles / 2);
  EXPECT_EQ(manager.free_blocks(), 16);
  manager.audit();
}

// The same with tenants that come, are invalidated and never come back.
TEST_F(Endurance, TenantsThatComeAndGoLeaveMemoryFlat) {
  BlockManager manager(small_config());
  std::int64_t heap_before = 0;
  const std::int64_t cycles = kSanitized ? 20'000 : 200'000;
  for (std::int64_t i = 0; i < cycles; ++i) {
    if (i == cycles / 2) {
      heap_before = live_heap_bytes();
    }
    manager.set_namespace(0, static_cast<std::uint64_t>(i % 50));
    cycle(manager, i);
    manager.invalidate_namespace(static_cast<std::uint64_t>(i % 50));
  }
  EXPECT_EQ(live_heap_bytes(), heap_before);
  manager.audit();
}

// Cancelled, abandoned and rewound sessions.
TEST_F(Endurance, SessionsThatEndBadlyLeaveMemoryFlat) {
  BlockManager manager(small_config());
  std::int64_t heap_before = 0;
  const std::int64_t cycles = kSanitized ? 20'000 : 200'000;
  for (std::int64_t i = 0; i < cycles; ++i) {
    if (i == cycles / 2) {
      heap_before = live_heap_bytes();
    }
    prompt_ = story(static_cast<int>(i % 11), 14);
    const std::int64_t served = manager.admit(0, prompt_);
    n_new_[0] = static_cast<std::int32_t>(14 - served);
    manager.reserve(slots_, n_new_, offsets_);
    manager.update_position(0, 14);
    manager.update_position(0, 6);
    n_new_[0] = 5;
    manager.reserve(slots_, n_new_, offsets_);
    if (i % 2 == 0) {
      manager.evict(0);
    } else {
      manager.abandon(0);
      manager.release_quarantined();
    }
  }
  EXPECT_EQ(live_heap_bytes(), heap_before);
  EXPECT_EQ(manager.free_blocks(), 16);
  manager.audit();
}

// A chain as long as the pool, built, evicted and destroyed: nothing may recurse over it.
TEST_F(Endurance, AChainOfAMillionBlocksIsBuiltEvictedAndDestroyedWithoutRecursion) {
  BlockManagerConfig config = small_config();
  config.block_size = 1;
  config.num_blocks = kSanitized ? 100'000 : 1'000'000;
  auto manager = std::make_unique<BlockManager>(config);
  const Tokens chain = story(1, config.num_blocks);
  manager->admit(0, chain);
  reserve(*manager, {0}, {static_cast<std::int32_t>(config.num_blocks)});
  manager->retire(0, chain);
  EXPECT_EQ(manager->parked_blocks(), config.num_blocks);
  EXPECT_EQ(manager->admit(1, chain), config.num_blocks - 1);
  manager->evict(1);
  reserve(*manager, {2}, {static_cast<std::int32_t>(config.num_blocks / 2)});
  EXPECT_EQ(manager->parked_blocks(), config.num_blocks / 2);
  EXPECT_EQ(manager->admit(1, chain), config.num_blocks / 2);
  manager.reset();
}

// And one of which every session adds a block, so that every block is a branch point.
TEST_F(Endurance, ALadderOfPrefixesIsBuiltAndEvictedStepByStep) {
  BlockManagerConfig config = small_config();
  config.num_blocks = 2000;
  BlockManager manager(config);
  const Tokens chain = story(1, 4 * 1000);
  for (std::int64_t end = 4; end <= 4000; end += 4) {
    Tokens prompt = slice(chain, 0, end);
    const std::int64_t served = manager.admit(0, prompt);
    ASSERT_EQ(served, end - 4);
    reserve(manager, {0}, {4});
    manager.retire(0, prompt);
    const Tokens branch = join(slice(chain, 0, end - 4), story(2, 4, end));
    if (end % 40 == 0) {
      ASSERT_EQ(manager.admit(1, branch), end - 4);
      reserve(manager, {1}, {4});
      manager.retire(1, branch);
    }
  }
  EXPECT_EQ(manager.parked_blocks(), 1100);
  manager.audit();
  reserve(manager, {0}, {4 * 1999});
  EXPECT_EQ(manager.parked_blocks(), 1);
  EXPECT_EQ(manager.admit(1, slice(chain, 0, 100)), 4);
  manager.audit();
}

}  // namespace
}  // namespace octavo::testing
