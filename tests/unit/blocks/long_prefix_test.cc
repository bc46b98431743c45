// Long prefixes and many branches: what is served must not depend on how the prefix tree happens to
// be cut into pieces.
#include <algorithm>
#include <cstdint>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "tests/scenarios/session_fixture.h"

namespace octavo::testing {
namespace {

BlockManagerConfig long_config(int block_size, std::int64_t num_blocks) {
  BlockManagerConfig config;
  config.block_size = block_size;
  config.num_blocks = num_blocks;
  config.max_seqs = 4;
  return config;
}

std::int64_t draw(std::uint64_t& state, std::int64_t below) {
  state = state * 6364136223846793005ULL + 1442695040888963407ULL;
  return static_cast<std::int64_t>((state >> 33) % static_cast<std::uint64_t>(below));
}

TEST(LongPrefix, IsServedUpToEveryLength) {
  Sessions s(long_config(2, 600));
  const Tokens document = story(1, 1000);
  s.cache(document);
  std::uint64_t state = 1;
  for (int i = 0; i < 200; ++i) {
    const std::int64_t same = draw(state, 1001);
    ASSERT_EQ(s.probe(join(slice(document, 0, same), story(2, 5))), same / 2 * 2) << i;
  }
  EXPECT_EQ(s.parked_blocks(), 500);
}

// Holders of different lengths of one document, ended in a random order.
TEST(LongPrefix, IsHeldInPartsByManySessions) {
  BlockManagerConfig config = long_config(1, 700);
  config.max_seqs = 9;
  Sessions s(config);
  const Tokens document = story(1, 500);
  s.cache(document);
  std::uint64_t state = 2;
  for (int round = 0; round < 40; ++round) {
    std::int64_t longest = 0;
    for (int slot = 0; slot < 8; ++slot) {
      const std::int64_t same = draw(state, 501);
      ASSERT_EQ(s.admit(slot, join(slice(document, 0, same), story(2, 1))), same);
      longest = std::max(longest, same);
      ASSERT_EQ(s.free_blocks(), 700 - longest);
    }
    for (int i = 0; i < 8; ++i) {
      const auto slot = static_cast<int>((i * 3 + round) % 8);
      s.evict(slot);
    }
    ASSERT_EQ(s.parked_blocks(), 500);
  }
}

// The tail of a long run leaves block by block.
TEST(LongPrefix, LosesItsTailBlockByBlock) {
  Sessions s(long_config(1, 200));
  const Tokens document = story(1, 200);
  s.cache(document);
  for (std::int64_t taken = 1; taken < 200; ++taken) {
    s.write(0, story(3, 1, taken));
    ASSERT_EQ(s.probe(document), std::min<std::int64_t>(199, 200 - taken)) << taken;
  }
}

TEST(LongPrefix, GrowsAgainFromWhereItsTailWasEvicted) {
  Sessions s(long_config(1, 64));
  const Tokens document = story(1, 60);
  std::uint64_t state = 3;
  s.cache(document);
  for (int round = 0; round < 100; ++round) {
    const std::int64_t taken = 1 + draw(state, 50);
    s.write(0, story(10 + round, taken));
    const std::int64_t left = std::min<std::int64_t>(59, 64 - taken);
    ASSERT_EQ(s.probe(document), left) << round;
    s.evict(0);
    // Another end on what is left, then the old one again.
    const Tokens other = join(slice(document, 0, left), story(500 + round, 2));
    ASSERT_EQ(s.cache(other), left) << round;
    s.cache(document);
    ASSERT_EQ(s.probe(join(document, story(4, 1))), 60) << round;
  }
}

// A document in which every block is a branch point, then a long stretch without, then again.
TEST(LongPrefix, WithBranchesEverywhereIsServedUpToEveryLength) {
  Sessions s(long_config(1, 2000));
  const Tokens document = story(1, 400);
  for (std::int64_t end = 1; end <= 400; ++end) {
    if (end <= 150 || end >= 300) {
      s.cache(slice(document, 0, end));
      s.cache(join(slice(document, 0, end), story(5, 1, end)));
    }
  }
  for (std::int64_t same = 0; same <= 400; ++same) {
    ASSERT_EQ(s.probe(join(slice(document, 0, same), story(6, 3))), same);
    ASSERT_EQ(s.probe(slice(document, 0, std::max<std::int64_t>(1, same))),
              std::max<std::int64_t>(0, same - 1));
  }
}

// Against a set of prefixes, over two tokens only, so that everything branches.
TEST(LongPrefix, OfRandomTextIsServedAsFarAsAnybodyCachedIt) {
  for (const int size : {1, 2, 3}) {
    SCOPED_TRACE(size);
    Sessions s(long_config(size, 20'000));
    std::set<Tokens> cached;
    std::uint64_t state = 4;
    std::vector<Tokens> histories;
    for (int i = 0; i < 250; ++i) {
      // A piece of an earlier history, and something new behind it.
      Tokens prompt;
      if (!histories.empty() && draw(state, 4) > 0) {
        const auto pick =
            static_cast<std::size_t>(draw(state, static_cast<std::int64_t>(histories.size())));
        const auto length = static_cast<std::int64_t>(histories[pick].size());
        prompt = slice(histories[pick], 0, draw(state, length + 1));
      }
      const std::int64_t more = 1 + draw(state, draw(state, 5) == 0 ? 300 : 8);
      for (std::int64_t k = 0; k < more; ++k) {
        prompt.push_back(static_cast<std::int32_t>(draw(state, 2)));
      }
      if (prompt.size() > 900) {
        prompt.resize(900);
      }
      const auto length = static_cast<std::int64_t>(prompt.size());
      std::int64_t expected = 0;
      while (expected + size < length && cached.count(slice(prompt, 0, expected + size)) > 0) {
        expected += size;
      }
      const std::int64_t served = s.admit(0, prompt);
      ASSERT_EQ(served / size * size, expected) << i;
      s.prefill(0);
      s.evict(0);  // Whole blocks only.
      for (std::int64_t end = size; end <= length; end += size) {
        cached.insert(slice(prompt, 0, end));
      }
      histories.push_back(prompt);
    }
    EXPECT_EQ(s.parked_blocks(), static_cast<std::int64_t>(cached.size()));
  }
}

// --- A session goes on while others have come to stand on what it published so far ---

TEST(GrowingPrefix, IsNotHeldFurtherByThoseWhoHoldItsHead) {
  Sessions s(long_config(4, 16));
  s.admit(0, story(1, 16));
  s.prefill(0, 4);
  EXPECT_EQ(s.admit(1, join(story(1, 4), story(2, 4))), 4);
  s.prefill(0);
  s.evict(0);
  EXPECT_EQ(s.parked_blocks(), 3);
  EXPECT_EQ(s.free_blocks(), 15);
  s.write(2, story(3, 60));  // Takes them all, and not the one that is held.
  EXPECT_EQ(s.free_blocks(), 0);
}

TEST(GrowingPrefix, LeavesAKeyWhereItWasNamed) {
  Sessions s(long_config(4, 16));
  s.admit(0, story(1, 16));
  s.prefill(0, 4);
  s.cache(join(story(1, 4), story(2, 2)));
  s.prefill(0);
  EXPECT_EQ(s.probe(join(join(story(1, 4), story(2, 2)), story(3, 1))), 6);
  EXPECT_EQ(s.probe(join(join(story(1, 8), story(2, 2)), story(3, 1))), 8);
  EXPECT_EQ(s.probe(join(join(story(1, 16), story(2, 2)), story(3, 1))), 16);
}

TEST(GrowingPrefix, LeavesABranchWhereItGrew) {
  Sessions s(long_config(4, 16));
  s.admit(0, story(1, 16));
  s.prefill(0, 4);
  s.cache(join(story(1, 4), story(2, 4)));
  s.prefill(0);
  EXPECT_EQ(s.probe(join(join(story(1, 4), story(2, 4)), story(3, 1))), 8);
  EXPECT_EQ(s.probe(join(join(story(1, 8), story(2, 4)), story(3, 1))), 8);
  EXPECT_EQ(s.probe(join(join(story(1, 16), story(2, 4)), story(3, 1))), 16);
  s.evict(0);
  EXPECT_EQ(s.parked_blocks(), 5);
}

}  // namespace
}  // namespace octavo::testing
