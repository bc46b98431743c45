// StoryServer: a server in miniature around one KVCache. It runs the story model over it as real
// steps, ruins everything that the cache may not read any more, and compares what every token saw,
// bit by bit, with what it sees when its whole history is computed afresh, alone, in one step, in a
// plain continuous cache.
//
// Single-threaded, for tests only.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/cache/support/story_model.h"

namespace octavo::testing {

/// What tokens see when their history is computed afresh; remembers its answers.
class Recomputation {
 public:
  explicit Recomputation(const Stack& stack);

  /// For every token of the history.
  const std::vector<Bits>& of(Chain seed, int encoder, const Ids& tokens);

 private:
  Stack stack_;
  std::shared_ptr<Device> device_;
  std::map<std::tuple<Chain, int, Ids>, std::vector<Bits>> known_;
};

class StoryServer {
 public:
  static constexpr int kNoEncoder = -1;

  struct Session {
    Ids tokens;  ///< What is in the cache, as far as it counts.
    Ids prompt;
    Chain seed = 0;
    int encoder = kNoEncoder;
    std::int64_t addressable_len = KVCache::kAddressableAll;
    std::int64_t committed = 0;
    std::int64_t written_end = 0;  ///< Of everything since the sequence began.
    std::uint64_t namespace_id = 0;
    bool is_active = false;
    bool is_admitted = false;
    bool has_namespace = false;
  };

  /// `device` null: a CPU device of one thread.
  explicit StoryServer(const Stack& stack, std::shared_ptr<Device> device = nullptr);

  KVCache& cache() { return cache_; }
  const Stack& stack() const { return stack_; }
  const Session& session(int slot) const { return sessions_.at(static_cast<std::size_t>(slot)); }
  int slots() const { return stack_.config.max_seqs; }

  std::int64_t admit(int slot,
                     const Ids& prompt,
                     std::int64_t addressable_len = KVCache::kAddressableAll);
  /// One step that appends tokens to slots; checks what they saw.
  void run(const std::vector<std::pair<int, Ids>>& batch);
  /// A step that is prepared and then never computed.
  void prepare_only(const std::vector<std::pair<int, Ids>>& batch);
  /// The rest of the prompt, in steps of at most `chunk` tokens (0: one step).
  void run_prompt(int slot, std::int64_t chunk = 0);
  /// A bare reservation behind what is written.
  void reserve(int slot, std::int32_t count);
  void rewind(int slot, std::int64_t position);
  /// Retires under the first `length` tokens (-1: all).
  void retire(int slot, std::int64_t length = -1, const std::vector<std::int64_t>& boundaries = {});
  void evict(int slot);
  void abandon(int slot) { abandon(std::vector<int>{slot}); }
  void abandon(const std::vector<int>& slots);
  void release_quarantined();
  void reset();
  void set_namespace(int slot, std::uint64_t namespace_id);
  void invalidate_namespace(std::uint64_t namespace_id);
  void fill(int slot, int encoder);

  /// Admits, runs and retires; returns what was served.
  std::int64_t cache_story(int slot, const Ids& tokens);

  /// Whether the device failed while the slot's K/V was being arranged; changes nothing.
  bool is_failed(int slot);
  /// Compares what seq_lens and the block table show with the sessions.
  void look();

  /// Tokens whose outputs were compared so far.
  std::int64_t compared() const { return compared_; }

 private:
  struct Prepared {
    StoryStep step;
    Ids past;
  };

  Session& at(int slot) { return sessions_.at(static_cast<std::size_t>(slot)); }
  Prepared prepare(const std::vector<std::pair<int, Ids>>& batch);
  void begin(Session& session);
  Chain seed_of(std::uint64_t namespace_id);
  void end(int slot);
  void check();
  void ruin_unwritten(int slot, std::int64_t past);
  void ruin_paged(const Tensor& rows, int slot, std::int64_t past);
  void ruin_continuous(const Tensor& rows, int slot, const Session& session, std::int64_t past);
  void ruin_states(int slot);
  void ruin_row(const Tensor& rows, std::int64_t block, std::int64_t row) const;
  void haunt();

  Stack stack_;
  KVCache cache_;
  Recomputation recomputation_;
  std::vector<Session> sessions_;
  std::map<std::uint64_t, std::uint64_t> versions_;          ///< Of a namespace's weights.
  std::set<std::pair<std::int32_t, std::int64_t>> haunted_;  ///< Rows a failed device writes.
  std::int64_t compared_ = 0;
  bool ruin_is_nan_ = false;
};

/// Row mixes over all kinds, layouts, windows and codecs: small enough for everything to happen
/// soon.
std::vector<Stack> all_stacks();
Stack stack_named(const char* name);

}  // namespace octavo::testing
