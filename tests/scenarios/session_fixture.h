// A server in miniature around one BlockManager, and the small language the tests are written in.
//
// `Sessions` drives a manager as a server would, and beside it plays the device: it keeps what
// every token row of every block holds, performs the copies it is told to, writes the rows of each
// step and, after every verb, reads back every row of every session. What a row holds is a function
// of everything its key and value depend on: all tokens up to there, the namespace with its weight
// version, and the pictures behind placeholder ids. So a block served to the wrong session, too
// early, too late or after it was overwritten shows as a wrong value, whatever the counters say.
// After every verb the lengths, the conservation of blocks and BlockManager::audit() are checked.
//
// Single-threaded, for tests only.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "octavo/block_manager.h"
#include "octavo/error.h"
#include <gtest/gtest.h>

namespace octavo::testing {

using Tokens = std::vector<std::int32_t>;
using Ids = std::vector<std::int32_t>;
using Lengths = std::vector<std::int64_t>;

/// `count` tokens of story `which`, from position `from` on. Two stories share no token.
Tokens story(int which, std::int64_t count, std::int64_t from = 0);
Tokens join(Tokens head, const Tokens& tail);
Tokens slice(const Tokens& tokens, std::int64_t from, std::int64_t to);
/// The same tokens but another one at `index`.
Tokens changed_at(Tokens tokens, std::int64_t index);

/// The usual small pool: 16 blocks of 4 tokens, 4 slots.
BlockManagerConfig small_config();
/// That with other numbers of blocks, or under a policy.
BlockManagerConfig pool_of(std::int64_t num_blocks, EvictionPolicy policy = EvictionPolicy::Lru);
/// Blocks of 8 tokens, so that several partial keys stand inside one.
BlockManagerConfig blocks_of_8(std::int64_t num_blocks = 16);
/// `head`, and then `count` tokens that no story has.
Tokens then(const Tokens& head, std::int64_t count = 3);

/// The three verbs that take spans, for braces: return offsets, return the lengths of the plan.
Ids reserve(BlockManager& manager, const Ids& slots, const Ids& n_new);
Ids prepare(BlockManager& manager, const Ids& cu_seqlens_q, const Ids& past_len, const Ids& slots);
Ids row(const BlockManager& manager, int slot);

class Sessions {
 public:
  explicit Sessions(const BlockManagerConfig& config);

  BlockManager& manager() { return manager_; }

  std::int64_t admit(int slot,
                     const Tokens& prompt,
                     std::int64_t addressable_len = kAddressableAll);
  /// One step that appends `tokens` behind what is reserved. Commits what was there before.
  void write(int slot, const Tokens& tokens);
  /// One step over several sessions.
  void write(const std::vector<std::pair<int, Tokens>>& batch);
  /// One step over the next `count` tokens of the prompt; -1: all that are left.
  void write_prompt(int slot, std::int64_t count = -1);
  /// update_position to everything written.
  void commit(int slot);
  /// write_prompt and commit.
  void prefill(int slot, std::int64_t count = -1);
  /// One step a token.
  void decode(int slot, const Tokens& tokens);
  void rewind(int slot, std::int64_t position);
  /// Retires under what was written.
  void retire(int slot,
              const Lengths& boundaries = {},
              std::int64_t addressable_len = kAddressableAll);
  /// Retires with only the first `count` written tokens accepted.
  void retire_accepted(int slot, std::int64_t count);
  void evict(int slot);
  void abandon(int slot);
  std::int64_t release_quarantined();
  void set_namespace(int slot, std::uint64_t namespace_id);
  void invalidate_namespace(std::uint64_t namespace_id);
  void reset();

  /// A whole session in the last slot: admit, prefill, retire. Returns the tokens served.
  std::int64_t cache(const Tokens& tokens,
                     const Lengths& boundaries = {},
                     std::int64_t addressable_len = kAddressableAll);
  /// What a prompt is served now: admit and evict in the last slot. What it is served becomes the
  /// most recently used.
  std::int64_t probe(const Tokens& prompt, std::int64_t addressable_len = kAddressableAll);
  /// As probe, for a session of a namespace.
  std::int64_t probe_in(std::uint64_t namespace_id, const Tokens& prompt);

  /// Before the slot is admitted: what it writes from `from` on depends on picture `picture` too.
  void show_picture(int slot, std::int64_t from, std::uint64_t picture);

  const Tokens& written(int slot) const { return at(slot).history; }
  Ids row(int slot) const;
  std::int64_t free_blocks() const { return manager_.free_blocks(); }
  std::int64_t parked_blocks() const { return manager_.parked_blocks(); }

  /// Reads everything back. Every verb does.
  void check() const;

 private:
  struct Session {
    Tokens prompt;
    Tokens history;                     // One token a reserved position.
    std::vector<std::uint64_t> values;  // What the row of each of them must hold.
    std::int64_t committed = 0;
    std::uint64_t namespace_id = 0;
    std::uint64_t version = 0;
    bool version_settled = false;
    std::int64_t picture_from = 0;
    std::uint64_t picture = 0;
  };

  Session& at(int slot) { return sessions_.at(static_cast<std::size_t>(slot)); }
  const Session& at(int slot) const { return sessions_.at(static_cast<std::size_t>(slot)); }
  void append(int slot, std::span<const std::int32_t> tokens, bool write_rows);
  void settle_version(int slot);
  void truncate(int slot, std::int64_t length);
  void perform_copies();
  std::uint64_t& row_value(std::int32_t block, std::int64_t row);
  void check_slot(int slot) const;
  void check_conservation() const;

  BlockManagerConfig config_;
  BlockManager manager_;
  std::vector<Session> sessions_;
  std::map<std::int32_t, std::vector<std::uint64_t>> device_;  // Rows of each block ever written.
  std::map<std::uint64_t, std::uint64_t> versions_;            // Of a namespace's weights.
};

/// Runs `call`, which must raise `code` with a message that holds all of `words`, and leave
/// everything observable as it was.
template <class Call>
void expect_error(const BlockManager& manager,
                  ErrorCode code,
                  std::initializer_list<std::string_view> words,
                  Call&& call) {
  const std::uint64_t digest = manager.digest();
  try {
    call();
    ADD_FAILURE() << "nothing was raised";
  } catch (const Error& error) {
    EXPECT_EQ(to_string(error.code()), to_string(code)) << error.what();
    const std::string_view message = error.what();
    for (const std::string_view word : words) {
      EXPECT_NE(message.find(word), std::string_view::npos)
          << "\"" << message << "\" does not say " << word;
    }
  }
  EXPECT_EQ(manager.digest(), digest) << "a call that raised changed something";
  EXPECT_NO_THROW(manager.audit());
}

/// Takes `count` more blocks of small_config's size for good, in slot 0.
void take(Sessions& sessions, std::int64_t count);

}  // namespace octavo::testing

/// EXPECT_ERROR(manager, InvalidArgument, manager.evict(9), "evict", "9"): the code, then the call,
/// then what the message must name.
#define EXPECT_ERROR(manager, code, call, ...)                                         \
  do {                                                                                 \
    SCOPED_TRACE(#call);                                                               \
    ::octavo::testing::expect_error(manager, ::octavo::ErrorCode::code, {__VA_ARGS__}, \
                                    [&] { call; });                                    \
  } while (false)
