// BlockManager::replay is a whole session in one call: beside a manager that is given the calls one
// by one, between sessions that come and go, nothing observable tells the two apart.
#include <cstring>
#include <string>
#include <vector>

#include "draw.h"
#include "octavo/block_manager.h"
#include "octavo/error.h"
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

namespace octavo::testkit {
namespace {

using Tokens = std::vector<std::int32_t>;

// Every event, flat, in order.
class EventList : public KVEventSink {
 public:
  void on_block_stored(const BlockStored& event) noexcept override {
    words.push_back(1);
    words.insert(words.end(), event.block_hashes.begin(), event.block_hashes.end());
    words.push_back(event.parent_block_hash.value_or(0));
    words.insert(words.end(), event.token_ids.begin(), event.token_ids.end());
    words.push_back(event.namespace_id);
  }
  void on_block_removed(const BlockRemoved& event) noexcept override {
    for (const std::uint64_t hash : event.block_hashes) {
      words.insert(words.end(), {2, hash});
    }
  }
  void on_all_blocks_cleared() noexcept override { words.push_back(3); }

  std::vector<std::uint64_t> words;
};

std::uint64_t same_for_all(std::uint64_t /*parent_hash*/,
                           std::span<const std::int32_t> /*tokens*/) {
  return 42;
}

BlockManagerConfig draw_replay_config() {
  BlockManagerConfig config;
  config.num_blocks = draw_int(3, 16);
  config.block_size = 1 << draw_int(0, 2);
  config.max_seqs = 3;
  config.partial_keys = draw_int(0, 2) == 0;
  config.prefix_caching = draw_int(0, 7) > 0;
  config.window = draw_int(0, 9) == 0 ? 5 : 0;
  config.block_hash = draw_int(0, 5) == 0 ? same_for_all : nullptr;
  if (draw_int(0, 2) == 0) {
    config.policy = static_cast<EvictionPolicy>(draw_int(0, static_cast<int>(EvictionPolicy::Hdq)));
  }
  return config;
}

// Few stems and few branches: prompts share prefixes, end inside blocks and at their edges.
Tokens draw_replay_prompt(int longest) {
  Tokens prompt(static_cast<std::size_t>(draw_int(1, longest)), 5);
  for (std::size_t i = 0; i < prompt.size(); ++i) {
    prompt[i] = static_cast<std::int32_t>(i);
  }
  if (draw_int(0, 1) == 0) {
    prompt[static_cast<std::size_t>(draw_int(0, static_cast<int>(prompt.size()) - 1))] = 99;
  }
  return prompt;
}

struct Prompt {
  Tokens tokens;
  std::int64_t addressable_len = kAddressableAll;
  std::int64_t output_tokens = 0;
};

// The calls that replay stands for.
std::int64_t one_by_one(BlockManager& manager, int slot, const Prompt& prompt) {
  const auto served =
      static_cast<std::int32_t>(manager.admit(slot, prompt.tokens, prompt.addressable_len));
  manager.note_output(slot, prompt.output_tokens);
  const std::int32_t step[] = {0, static_cast<std::int32_t>(prompt.tokens.size()) - served};
  (void)manager.prepare_step(step, {&served, 1}, {&slot, 1});
  manager.retire(slot, prompt.tokens, prompt.addressable_len);
  return served;
}

// Two managers of the same make that are told the same, but for who replays.
class Pair {
 public:
  explicit Pair(BlockManagerConfig config)
      : whole_(with_events(config, whole_events_)), parts_(with_events(config, parts_events_)) {}

  BlockManager& whole() { return whole_; }
  BlockManager& parts() { return parts_; }

  template <class Call>
  void both(Call&& call) {
    call(whole_);
    call(parts_);
  }

  void require_same() const {
    RC_ASSERT(whole_.digest() == parts_.digest());
    const BlockManagerStats a = whole_.stats();
    const BlockManagerStats b = parts_.stats();
    RC_ASSERT(std::memcmp(&a, &b, sizeof a) == 0);
    RC_ASSERT(whole_events_.words == parts_events_.words);
    whole_.audit();
  }

 private:
  static BlockManagerConfig with_events(BlockManagerConfig config, EventList& events) {
    config.events = &events;
    return config;
  }

  EventList whole_events_;
  EventList parts_events_;
  BlockManager whole_;
  BlockManager parts_;
};

// Sessions that live beside the replays, each in its slot.
struct Live {
  bool active = false;
  Prompt prompt;
};

// Whether the pool has the blocks that are not cached; binding the parked ones takes them too.
bool fits(const BlockManager& manager, const Prompt& prompt, std::uint64_t namespace_id) {
  const CachedPrefix cached =
      manager.cached_prefix(prompt.tokens, prompt.addressable_len, namespace_id);
  const std::int64_t size = manager.config().block_size;
  const std::int64_t blocks = (std::ssize(prompt.tokens) + size - 1) / size;
  return blocks - cached.tokens / size <= manager.free_blocks() - cached.parked_blocks;
}

RC_GTEST_PROP(Replay, IsTheCallsOfASession, ()) {
  const BlockManagerConfig config = draw_replay_config();
  Pair pair(config);
  std::vector<Live> live(3);
  const int longest = static_cast<int>(config.num_blocks) * config.block_size;
  const int operations = draw_int(5, 80);
  for (int i = 0; i < operations; ++i) {
    const int slot = draw_int(0, 2);
    Live& session = live[static_cast<std::size_t>(slot)];
    if (session.active) {
      const int end = draw_int(0, 3);
      pair.both([&](BlockManager& manager) {
        if (end == 0) {
          manager.evict(slot);
        } else {
          manager.retire(slot, session.prompt.tokens, session.prompt.addressable_len);
        }
      });
      session.active = false;
      pair.require_same();
      continue;
    }
    const std::uint64_t namespace_id = draw_int(0, 4) == 0 ? 7 : 0;
    if (namespace_id != 0 || draw_int(0, 3) == 0) {
      pair.both([&](BlockManager& manager) { manager.set_namespace(slot, namespace_id); });
    }
    if (draw_int(0, 9) == 0) {  // The slot may be stale by now.
      pair.both([&](BlockManager& manager) { manager.invalidate_namespace(namespace_id); });
      pair.both([&](BlockManager& manager) { manager.evict(slot); });
      continue;
    }
    const Prompt prompt{draw_replay_prompt(longest),
                        draw_int(0, 1) == 0 ? kAddressableAll : draw_int(0, longest),
                        draw_int(0, 50)};
    const bool fit = fits(pair.parts(), prompt, namespace_id);
    if (!fit) {
      const std::uint64_t before = pair.whole().digest();
      try {
        (void)pair.whole().replay(slot, prompt.tokens, prompt.addressable_len);
        RC_FAIL("nothing was raised");
      } catch (const Error& error) {
        RC_ASSERT(error.code() == ErrorCode::ResourceExhausted);
      }
      RC_ASSERT(pair.whole().digest() == before);
      pair.both([&](BlockManager& manager) { manager.evict(slot); });  // Its namespace goes.
    } else if (draw_int(0, 2) == 0) {                                  // A session that stays.
      pair.both([&](BlockManager& manager) {
        const auto past =
            static_cast<std::int32_t>(manager.admit(slot, prompt.tokens, prompt.addressable_len));
        const std::int32_t step[] = {0, static_cast<std::int32_t>(prompt.tokens.size()) - past};
        (void)manager.prepare_step(step, {&past, 1}, {&slot, 1});
      });
      session = {true, prompt};
    } else {
      const std::int64_t served =
          pair.whole().replay(slot, prompt.tokens, prompt.addressable_len, prompt.output_tokens);
      RC_ASSERT(served == one_by_one(pair.parts(), slot, prompt));
    }
    pair.require_same();
  }
}

}  // namespace
}  // namespace octavo::testkit
