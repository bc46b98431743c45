// Faults that other caches really had and that show only in what is read back: hits of several
// pools, windows, stale rows, states, quantization. (Those of bookkeeping alone: ../scenarios.)
#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include "octavo/kv_row_info.h"
#include "octavo/ref_cpu/cpu_device.h"

#include "tests/cache/support/story_server.h"

namespace octavo::testing {
namespace {

Stack with_blocks(Stack stack, std::int64_t num_blocks) {
  stack.config.paged->num_blocks = num_blocks;
  return stack;
}

// Every byte of every pool and continuous row, and of their scales.
void ruin_everything(StoryServer& server, int byte) {
  const KVCache& cache = server.cache();
  for (int layer = 0; layer < cache.num_layers(); ++layer) {
    if (server.stack().specs[static_cast<std::size_t>(layer)].kind == KVLayerKind::State) {
      continue;  // The server does that by itself.
    }
    for (const Tensor& rows : {cache.keys(layer), cache.values(layer)}) {
      std::memset(rows.address(), byte, static_cast<std::size_t>(rows.size_bytes()));
      const KVRowInfo& info = *rows.row_info();
      if (info.codec != KVCodec::None && info.scale == KVScale::PerTokenHead) {
        std::memset(info.scales.address(), byte,
                    static_cast<std::size_t>(info.scales.size_bytes()));
      }
    }
  }
}

// B12: the only blocks that could be evicted are the hit's own, in both pools.
TEST(Scenarios, AnAllocationDoesNotEvictAHitsOwnBlocks) {
  StoryServer server(with_blocks(stack_named("paged, two pools"), 4));
  server.cache_story(0, story(0, 12));
  EXPECT_EQ(server.cache().paged_parked_blocks(), 3);
  EXPECT_EQ(server.admit(1, join(story(0, 12), story(1, 4))), 12);
  server.run({{1, story(1, 4)}});
  EXPECT_REFUSED(server.cache(), ResourceExhausted, server.run({{1, {5}}}), "1 blocks", "0 of 4");
  EXPECT_REFUSED(server.cache(), ResourceExhausted, server.run({{0, {5}}}), "0 of 4");
  server.rewind(1, 15);
  server.run({{1, {6}}});
}

// B14: reserved and never written, abandoned, and the same prompt once more in the same slot.
TEST(Scenarios, AnAbandonedPromptIsComputedAfresh) {
  for (const Stack& stack : all_stacks()) {
    SCOPED_TRACE(stack.name);
    StoryServer server(stack);
    ruin_everything(server, 0xFF);
    const Ids prompt = story(0, 4);
    EXPECT_EQ(server.admit(1, prompt), 0);
    server.prepare_only({{1, prompt}});
    server.abandon(1);
    EXPECT_EQ(server.admit(1, prompt), 0);
    server.run_prompt(1);
    server.evict(1);
    server.release_quarantined();
    server.cache_story(0, prompt);
  }
}

// B16: a chain and two branches, released in all orders.
TEST(Scenarios, BranchesMayEndInAnyOrder) {
  std::array<int, 3> order = {0, 1, 2};
  do {
    StoryServer server(stack_named("paged"));
    const Ids trunk = story(0, 4);
    server.cache_story(0, trunk);
    for (const int slot : {0, 1, 2}) {
      server.admit(slot, join(trunk, story(slot < 2 ? 1 : 2, slot == 0 ? 1 : 4)));
      server.run_prompt(slot);
    }
    for (const int slot : order) {
      server.evict(slot);
      EXPECT_EQ(server.admit(slot, join(trunk, {7})), 4);
      server.run_prompt(slot);
      server.evict(slot);
    }
    EXPECT_EQ(server.cache().paged_free_blocks(), 12);
  } while (std::next_permutation(order.begin(), order.end()));
}

// B18: a draft is rejected behind the edge of a block that a window could have released.
TEST(Scenarios, ARejectedDraftStillSeesItsWindow) {
  Stack stack = stack_named("paged, releasing window");
  stack.config.paged->window = 8;
  stack.specs[0].window = 8;
  StoryServer server(stack);
  server.run({{0, story(0, 16)}});
  server.run({{0, {1, 2, 3, 4}}});
  server.rewind(0, 17);
  server.run({{0, {5}}});
  server.run({{0, {6, 7}}});
}

// B19: rings that have wrapped to every offset.
TEST(Scenarios, ARingIsReadRightAtEveryOffset) {
  Stack stack = stack_named("rings");
  stack.config.max_step_tokens = 2;
  stack.specs[0].window = 8;
  for (const std::int64_t length : {7, 8, 9, 15, 16, 17, 21}) {
    StoryServer server(stack);
    server.admit(1, story(0, length));
    server.run_prompt(1);
    server.run({{1, {1}}, {0, {2}}});
    server.rewind(1, length - 1);
    server.run({{1, {3, 4}}});
  }
}

// B20: the longest correct prefix where windows stand among full rows.
TEST(Scenarios, WindowsAmongFullRowsShareWhatIsEqual) {
  StoryServer server(stack_named("paged, windows among full rows"));
  server.cache_story(0, story(0, 14));
  Ids other = story(0, 14);
  other[11] = 5;
  EXPECT_EQ(server.admit(1, other), 8);
  server.run_prompt(1);
  server.run({{1, {1}}});
}

// B22, B23: a prefix that attention could serve and the state could not.
TEST(Scenarios, AHybridServesNothingThatItsStatesHaveNotSeen) {
  StoryServer server(stack_named("hybrid"));
  server.cache_story(0, story(0, 12));
  EXPECT_EQ(server.admit(0, story(0, 12)), 0);
  EXPECT_EQ(server.admit(1, story(0, 12)), 0);
  server.run({{0, story(0, 12)}, {1, story(0, 5)}});
  server.evict(0);
  EXPECT_EQ(server.admit(0, story(1, 3)), 0);
  server.run({{1, story(0, 7, 5)}, {0, story(1, 3)}});
}

// B25: memory of another type's making, NaN in every float.
TEST(Scenarios, WhatStandsInFreshBlocksIsNeverSeen) {
  for (const Stack& stack : all_stacks()) {
    for (const int byte : {0x7F, 0xFF}) {
      SCOPED_TRACE(stack.name);
      StoryServer server(stack);
      ruin_everything(server, byte);
      server.run({{2, {1}}});
      server.run({{2, {2}}, {0, {1, 2, 3}}});
    }
  }
}

// B31: a preempted session comes back while others hold what it had.
TEST(Scenarios, APreemptedSessionResumesInOtherBlocks) {
  for (const char* name : {"paged", "paged, quantized", "paged beside rings", "hybrid"}) {
    StoryServer server(stack_named(name));
    Ids history = story(0, 7);
    server.admit(0, history);
    server.run_prompt(0);
    server.run({{0, {1, 2, 3}}});
    history = join(history, {1, 2, 3});
    server.evict(0);
    server.admit(1, story(1, 9));
    server.run_prompt(1);
    server.admit(0, history);
    server.run_prompt(0);
    server.run({{0, {4}}, {1, {4}}});
  }
}

// B34: the bytes of a token do not depend on how its prompt was cut.
TEST(Scenarios, StoredBytesDoNotDependOnChunks) {
  Stack stack = with_blocks(stack_named("paged, quantized"), 16);
  stack.config.max_tokens_per_seq = 64;
  const Ids prompt = story(0, 64);
  std::vector<std::vector<std::uint8_t>> first;
  for (const std::int64_t chunk : {64, 16, 1}) {
    StoryServer server(stack);
    server.admit(0, prompt);
    server.run_prompt(0, chunk);
    const Ids row = table_row(server.cache(), 0);
    std::vector<std::vector<std::uint8_t>> stored;
    const auto collect = [&](const Tensor& rows) {
      for (const std::int32_t block : row) {
        const Tensor part = rows.select(0, block);
        const auto* bytes = static_cast<const std::uint8_t*>(part.address());
        stored.emplace_back(bytes, bytes + part.size_bytes());
      }
    };
    for (int layer = 0; layer < server.cache().num_layers(); ++layer) {
      for (const Tensor& rows : {server.cache().keys(layer), server.cache().values(layer)}) {
        collect(rows);
        if (rows.row_info()->scales.defined()) {
          collect(rows.row_info()->scales);
        }
      }
    }
    if (first.empty()) {
      first = stored;
    }
    EXPECT_EQ(stored, first) << "chunks of " << chunk;
  }
}

// Boundaries and copies carry the scales with the rows.
TEST(Scenarios, ScalesTravelWithTheirBlocks) {
  StoryServer server(stack_named("paged, quantized"));
  server.admit(0, story(0, 7));
  server.run_prompt(0);
  server.retire(0, -1, {5});
  for (const int slot : {0, 1, 2}) {
    EXPECT_EQ(server.admit(slot, join(story(0, 5), story(slot + 1, 2))), 5);
    server.run_prompt(slot);
  }
  EXPECT_GE(server.cache().counters().copied_blocks, 2);
}

}  // namespace
}  // namespace octavo::testing
