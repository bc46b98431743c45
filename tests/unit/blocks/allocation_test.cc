// The heap: untouched on the step path, and when it fails nothing has changed.
#include <new>
#include <vector>

#include <gtest/gtest.h>

#include "tests/scenarios/session_fixture.h"
#include "tests/unit/blocks/allocation_counter.h"

namespace octavo::testing {
namespace {

/// Heap allocations that `call` makes.
template <class Call>
std::int64_t allocations_in(Call&& call) {
  const std::int64_t before = heap_allocations();
  call();
  return heap_allocations() - before;
}

TEST(Allocation, TheCounterCounts) {
  const std::int64_t bytes_before = live_heap_bytes();
  EXPECT_EQ(allocations_in([] { ::operator delete(::operator new(1000)); }), 1);
  EXPECT_EQ(live_heap_bytes(), bytes_before);
  void* memory = ::operator new(1000);
  EXPECT_GE(live_heap_bytes(), bytes_before + 1000);
  ::operator delete(memory);
  fail_allocations_after(1);
  EXPECT_NO_THROW(::operator delete(::operator new(8)));
  bool raised = false;
  try {
    ::operator delete(::operator new(8));
  } catch (const std::bad_alloc&) {
    raised = true;
  }
  allow_allocations();
  EXPECT_TRUE(raised);
}

// From the very first step, and for every kind of work a step can have: new blocks, sealing,
// duplicates, eviction, rewinds that copy, windows.
TEST(Allocation, TheStepPathTakesNothingFromTheFirstStepOn) {
  BlockManagerConfig config = small_config();
  config.num_blocks = 12;
  BlockManager m(config);
  const Ids slots = {0, 1};
  const Ids counts = {9, 9};
  Ids offsets(2);
  const Tokens prompt = story(1, 13);
  m.admit(0, prompt);
  m.admit(1, prompt);
  EXPECT_EQ(allocations_in([&] { m.reserve(slots, counts, offsets); }), 0);
  const Ids cu_prefill = {0, 4, 8};
  const Ids past = {9, 9};
  EXPECT_EQ(allocations_in([&] { m.prepare_step(cu_prefill, past, slots); }), 0);
  EXPECT_EQ(m.stats().duplicate_blocks, 2);
  EXPECT_EQ(allocations_in([&] { m.update_position(0, 13); }), 0);
  EXPECT_EQ(allocations_in([&] { m.update_position(1, 13); }), 0);
  const Ids cu_decode = {0, 1, 2};
  Ids lengths = {13, 13};
  EXPECT_EQ(allocations_in([&] {
              for (int i = 0; i < 8; ++i) {
                m.prepare_step(cu_decode, lengths, slots);
                ++lengths[0];
                ++lengths[1];
              }
            }),
            0);
  // A rewind of both into the shared prompt: two copies in one step.
  lengths = {6, 7};
  EXPECT_EQ(allocations_in([&] { m.prepare_step(cu_decode, lengths, slots); }), 0);
  EXPECT_EQ(m.copies().size(), 2U);
  // Parked blocks, and a step that evicts them.
  m.evict(1);
  const Ids one = {2};
  const Ids many = {static_cast<std::int32_t>(4 * m.free_blocks())};
  Ids offset(1);
  EXPECT_EQ(allocations_in([&] { m.reserve(one, many, offset); }), 0);
  EXPECT_GT(m.stats().evicted_for_step, 0);
}

TEST(Allocation, TheStepPathOfAWindowTakesNothing) {
  BlockManagerConfig config = small_config();
  config.window = 6;
  config.max_tokens_per_seq = 1000;
  BlockManager m(config);
  const Ids slots = {0};
  const Ids counts = {3};
  Ids offsets(1);
  EXPECT_EQ(allocations_in([&] {
              for (int i = 0; i < 300; ++i) {
                m.reserve(slots, counts, offsets);
              }
            }),
            0);
}

// Steps that fail in the ordinary run of a server, exhaustion, may allocate for their message only:
// nothing of it stays.
TEST(Allocation, ExhaustionLeavesNothingBehind) {
  BlockManager m(small_config());
  reserve(m, {0}, {60});
  const std::int64_t before = live_heap_bytes();
  for (int i = 0; i < 100; ++i) {
    EXPECT_THROW(reserve(m, {1}, {8}), Error);
  }
  EXPECT_EQ(live_heap_bytes(), before);
}

TEST(Allocation, WarmAdmitAndRetireTakeNothing) {
  BlockManager m(small_config());
  const Lengths boundaries = {3, 7, 9};
  const Ids slots = {0};
  Ids counts = {0};
  Ids offsets(1);
  std::vector<Tokens> prompts;
  for (int i = 0; i < 12; ++i) {
    prompts.push_back(join(story(1, 2 + i % 7), story(2 + i, 10)));
  }
  const auto run = [&](const Tokens& prompt) {
    const std::int64_t served = m.admit(0, prompt);
    counts[0] = static_cast<std::int32_t>(static_cast<std::int64_t>(prompt.size()) - served);
    m.reserve(slots, counts, offsets);
    m.retire(0, prompt, kAddressableAll, boundaries);
  };
  for (int i = 0; i < 200; ++i) {
    run(prompts[static_cast<std::size_t>(i) % prompts.size()]);
  }
  EXPECT_EQ(allocations_in([&] {
              for (int i = 0; i < 1000; ++i) {
                run(prompts[static_cast<std::size_t>(i * 7) % prompts.size()]);
              }
            }),
            0);
  EXPECT_GT(m.stats().evicted_blocks(), 500);
  EXPECT_GT(m.stats().partial_hits, 100);
  EXPECT_GT(m.stats().dropped_keys, 50);
}

// All that a policy keeps, names of evicted blocks included, was reserved when it was made.
TEST(Allocation, EveryPolicyEvictsWithoutTheHeap) {
  for (int policy = 0; policy < static_cast<int>(EvictionPolicy::Hdq); ++policy) {
    BlockManagerConfig config = small_config();
    config.policy = static_cast<EvictionPolicy>(policy);
    BlockManager m(config);
    std::vector<Tokens> prompts;
    for (int which = 0; which < 12; ++which) {
      prompts.push_back(join(story(which % 3, 8), story(which, 14)));
    }
    const Ids slots = {0};
    const auto serve = [&](const Tokens& prompt) {
      const std::int32_t past[] = {static_cast<std::int32_t>(m.admit(0, prompt))};
      const std::int32_t step[] = {0, static_cast<std::int32_t>(prompt.size()) - past[0]};
      m.prepare_step(step, past, slots);
      m.retire(0, prompt);
    };
    serve(prompts[0]);  // The slot's buffer.
    EXPECT_EQ(allocations_in([&] {
                for (int round = 0; round < 5; ++round) {
                  for (const Tokens& prompt : prompts) {
                    serve(prompt);
                    serve(prompts[0]);
                  }
                }
              }),
              0)
        << to_string(config.policy);
    EXPECT_GT(m.stats().evicted_blocks(), 50);
    EXPECT_GT(m.stats().hit_blocks, 20);
    m.audit();
  }
}

// Not even the prompt is kept: the first call, of a prompt longer than any before, takes nothing.
TEST(Allocation, AReplayOfWholeBlocksNeverTakesAnything) {
  BlockManagerConfig config = small_config();
  config.partial_keys = false;
  BlockManager m(config);
  const std::vector<Tokens> prompts = {story(1, 14), join(story(1, 8), story(2, 40)), story(3, 64)};
  EXPECT_EQ(allocations_in([&] {
              for (int round = 0; round < 5; ++round) {
                for (const Tokens& prompt : prompts) {
                  m.replay(0, prompt);
                }
              }
            }),
            0);
  EXPECT_GT(m.stats().evicted_blocks(), 50);
}

TEST(Allocation, WarmEndsOfEveryKindTakeNothing) {
  BlockManager m(small_config());
  const Tokens prompt = story(1, 14);
  const Ids slots = {0};
  const Ids counts = {5};
  Ids offsets(1);
  const auto run = [&] {
    m.set_namespace(0, 3);
    m.admit(0, prompt);
    m.reserve(slots, counts, offsets);
    m.evict(0);
    m.admit(0, prompt);
    m.reserve(slots, counts, offsets);
    m.abandon(0);
    m.release_quarantined();
    m.invalidate_namespace(3);
  };
  run();
  run();
  EXPECT_EQ(allocations_in(run), 0);
}

// --- When the heap fails ---

/// Calls `call` with the heap failing at its first, second, ... allocation until it succeeds. Each
/// failure must raise and leave `manager` as it was. Returns how many failures there were.
template <class Call>
int fail_every_allocation(const BlockManager& manager, Call&& call) {
  for (int failures = 0; failures < 1000; ++failures) {
    const std::uint64_t digest = manager.digest();
    bool raised = false;
    fail_allocations_after(failures);
    try {
      call();
    } catch (const std::bad_alloc&) {
      raised = true;
    } catch (const Error& error) {
      allow_allocations();
      EXPECT_EQ(to_string(error.code()), to_string(ErrorCode::ResourceExhausted)) << error.what();
      raised = true;
    }
    allow_allocations();
    if (!raised) {
      return failures;
    }
    EXPECT_EQ(manager.digest(), digest) << "at allocation " << failures;
    manager.audit();
  }
  ADD_FAILURE() << "does not succeed";
  return -1;
}

TEST(AllocationFailure, OfAnyVerbChangesNothing) {
  BlockManager m(small_config());
  const Lengths boundaries = {2, 5, 7};
  const Ids slots = {0};
  Ids offsets(1);
  for (int round = 0; round < 6; ++round) {
    const Tokens prompt = join(story(1, 3 + 2 * round), story(2 + round, 3 + 3 * round));
    const auto tenant = static_cast<std::uint64_t>(round % 3);
    fail_every_allocation(m, [&] { m.set_namespace(0, tenant); });
    std::int64_t served = 0;
    fail_every_allocation(m, [&] { served = m.admit(0, prompt); });
    const Ids counts = {
        static_cast<std::int32_t>(static_cast<std::int64_t>(prompt.size()) - served)};
    EXPECT_EQ(fail_every_allocation(m, [&] { m.reserve(slots, counts, offsets); }), 0);
    fail_every_allocation(m, [&] { m.retire(0, prompt, kAddressableAll, boundaries); });
    fail_every_allocation(m, [&] { m.invalidate_namespace(round == 4 ? tenant : 77); });
    EXPECT_EQ(m.free_blocks(), 16);
  }
}

TEST(AllocationFailure, OfTheConstructorLeaksNothing) {
  { BlockManager once(small_config()); }
  const std::int64_t before = live_heap_bytes();
  int failures = 0;
  for (; failures < 1000; ++failures) {
    fail_allocations_after(failures);
    try {
      BlockManager m(small_config());
      allow_allocations();
      break;
    } catch (const std::bad_alloc&) {
      allow_allocations();
    } catch (const Error&) {
      allow_allocations();
    }
    EXPECT_EQ(live_heap_bytes(), before) << "at allocation " << failures;
  }
  EXPECT_GT(failures, 0);
  EXPECT_LT(failures, 1000);
  EXPECT_EQ(live_heap_bytes(), before);
}

}  // namespace
}  // namespace octavo::testing
