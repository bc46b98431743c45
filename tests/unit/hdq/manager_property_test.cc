// HDQ behind the production block manager: random sessions, with a device played beside them.
//
// After every verb the fixture reads back every row by value, checks conservation and runs
// audit(), in which HDQ recomputes all it counts and links. That a reservation of everything that
// free_blocks() promises succeeds is part of the game: no parked block may be stranded.
#include <algorithm>
#include <string>

#include "octavo/sim/rng.h"
#include <gtest/gtest.h>

#include "tests/scenarios/session_fixture.h"

namespace octavo::testing {
namespace {

class RandomServer {
 public:
  RandomServer(std::uint64_t seed, std::int64_t num_blocks, bool partial_keys)
      : rng_(seed), sessions_(config(num_blocks, partial_keys)), slots_(4) {
    for (int i = 0; i < 5; ++i) {
      library_.push_back(story(i % 3, rng_.between(1, 24)));
    }
  }

  void act() {
    const int index = static_cast<int>(rng_.below(slots_.size()));
    char& active = slots_[static_cast<std::size_t>(index)];
    if (active == 0) {
      begin(index);
      return;
    }
    switch (rng_.below(9)) {
      case 0:
        sessions_.evict(index);
        active = 0;
        return;
      case 1:
        sessions_.abandon(index);
        sessions_.release_quarantined();
        active = 0;
        return;
      case 2:
        rewind(index);
        return;
      case 3:
      case 4:
        end(index);
        active = 0;
        return;
      case 5:
        if (rng_.chance(1, 6)) {
          sessions_.invalidate_namespace(rng_.below(2));
        }
        return;
      default:
        grow(index);
    }
  }

  // Everything that is not bound can be had at once.
  void take_everything() {
    for (int i = 0; i < 4; ++i) {
      if (slots_[static_cast<std::size_t>(i)] != 0) {
        sessions_.evict(i);
        slots_[static_cast<std::size_t>(i)] = 0;
      }
    }
    sessions_.write(0, story(77, 4 * sessions_.free_blocks()));
    EXPECT_EQ(sessions_.parked_blocks(), 0);
    sessions_.evict(0);
  }

  std::int64_t evicted() { return sessions_.manager().stats().evicted_blocks(); }
  void reset() {
    sessions_.reset();
    slots_.assign(4, 0);
  }
  BlockManager& manager() { return sessions_.manager(); }

 private:
  static BlockManagerConfig config(std::int64_t num_blocks, bool partial_keys) {
    BlockManagerConfig config = small_config();
    config.num_blocks = num_blocks;
    config.partial_keys = partial_keys;
    config.policy = EvictionPolicy::Hdq;
    config.policy_block_tokens = 512;
    return config;
  }

  void begin(int index) {
    Tokens prompt = library_[rng_.below(library_.size())];
    if (rng_.chance(1, 3)) {
      prompt = slice(prompt, 0, rng_.between(1, std::ssize(prompt)));
    }
    if (rng_.chance(1, 2)) {
      prompt = join(prompt, story(100 + static_cast<int>(rng_.below(1000)), rng_.between(1, 9)));
    }
    const std::int64_t longest = 4 * sessions_.manager().num_blocks();
    prompt = slice(prompt, 0, std::min<std::int64_t>(std::ssize(prompt), longest));
    if (rng_.chance(1, 4)) {
      sessions_.set_namespace(index, rng_.below(2));
    }
    sessions_.admit(index, prompt);
    if (rng_.chance(1, 2)) {
      sessions_.manager().note_output(index, rng_.between(0, 300));
    }
    slots_[static_cast<std::size_t>(index)] = 1;
    prompt_end(index) = std::ssize(prompt);
    if (rng_.chance(2, 3) && room_for(index, std::ssize(prompt))) {
      sessions_.prefill(index);
    }
  }

  std::int64_t& prompt_end(int index) { return prompt_ends_[static_cast<std::size_t>(index)]; }

  // Enough free blocks for the slot to reach `length`, even if all of its cells were given up.
  bool room_for(int index, std::int64_t length) {
    (void)index;
    return sessions_.free_blocks() * 4 >= length + 8;
  }

  // A rewind into the prompt ends it there.
  void rewind(int index) {
    const std::int64_t written = std::ssize(sessions_.written(index));
    const std::int64_t position = rng_.between(0, written);
    sessions_.rewind(index, position);
    if (position < written) {
      prompt_end(index) = std::min(prompt_end(index), position);
    }
  }

  void grow(int index) {
    const std::int64_t written = std::ssize(sessions_.written(index));
    const std::int64_t left = prompt_end(index) - written;
    const std::int64_t count = left > 0 ? rng_.between(1, left) : rng_.between(1, 9);
    if (room_for(index, written + count)) {
      if (left > 0) {
        sessions_.write_prompt(index, count);
      } else {
        sessions_.write(index, story(50 + static_cast<int>(rng_.below(4)), count));
      }
      if (rng_.chance(1, 2)) {
        sessions_.commit(index);
      }
    }
  }

  void end(int index) {
    const std::int64_t length = std::ssize(sessions_.written(index));
    Lengths boundaries;
    for (std::uint64_t i = rng_.below(8); i > 0 && length > 0; --i) {
      boundaries.push_back(rng_.between(0, length));
    }
    const Tokens history = sessions_.written(index);
    sessions_.retire(index, boundaries);
    if (!history.empty() && rng_.chance(1, 2)) {
      library_.push_back(history);
      if (library_.size() > 12) {
        library_.erase(library_.begin());
      }
    }
  }

  sim::Rng rng_;
  Sessions sessions_;
  std::vector<char> slots_;
  std::vector<std::int64_t> prompt_ends_ = std::vector<std::int64_t>(4);
  std::vector<Tokens> library_;
};

TEST(HdqManager, ServesOnlyWhatIsThereAndKeepsItsBooks) {
  std::int64_t evicted = 0;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomServer server(seed, 3 + static_cast<std::int64_t>(seed % 5) * 7, seed % 3 != 0);
    for (int i = 0; i < 1500; ++i) {
      ASSERT_NO_THROW(server.act()) << "call " << i;
      if (i % 100 == 99) {
        ASSERT_NO_THROW(server.take_everything()) << "call " << i;
      }
    }
    evicted += server.evicted();
  }
  EXPECT_GT(evicted, 1000);
}

// What a session wrote, whatever the prompt had said that it was admitted with: the prompt is
// rewound to `position` and goes on as `history`.
std::uint64_t digest_after(const Tokens& prompt, std::int32_t position, const Tokens& history) {
  BlockManagerConfig config = small_config();
  config.policy = EvictionPolicy::Hdq;
  BlockManager manager(config);
  manager.admit(0, prompt);
  prepare(manager, {0, static_cast<std::int32_t>(std::ssize(prompt))}, {0}, {0});
  prepare(manager, {0, static_cast<std::int32_t>(std::ssize(history)) - position}, {position}, {0});
  manager.update_position(0, std::ssize(history));
  manager.retire(0, history);
  manager.audit();
  return manager.digest();
}

TEST(HdqManager, NamesBlocksByWhatWasWrittenNotByWhatWasAsked) {
  const Tokens history = story(1, 16);
  Tokens other = history;
  other.back() += 1;
  EXPECT_NE(digest_after(history, 0, history), digest_after(other, 0, other));
  for (std::int32_t position = 0; position < 16; ++position) {
    SCOPED_TRACE(position);
    const std::uint64_t digest = digest_after(history, position, history);
    EXPECT_EQ(digest_after(other, position, history), digest);
    for (std::size_t i = static_cast<std::size_t>(position); i < other.size(); ++i) {
      Tokens prompt = history;
      prompt[i] += 1;
      EXPECT_EQ(digest_after(prompt, position, history), digest) << i;
    }
  }
}

TEST(HdqManager, IsAsNewAfterAReset) {
  RandomServer used(3, 20, true);
  RandomServer fresh(3, 20, true);
  for (int i = 0; i < 200; ++i) {
    used.act();
  }
  EXPECT_NE(used.manager().digest(), fresh.manager().digest());
  used.reset();
  EXPECT_EQ(used.manager().digest(), fresh.manager().digest());
}

}  // namespace
}  // namespace octavo::testing
