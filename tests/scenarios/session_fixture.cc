#include "tests/scenarios/session_fixture.h"

#include <algorithm>
#include <set>

namespace octavo::testing {
namespace {

std::uint64_t mix(std::uint64_t state, std::uint64_t value) {
  state ^= value + 0x9E3779B97F4A7C15ULL + (state << 6) + (state >> 2);
  state *= 0xBF58476D1CE4E5B9ULL;
  return state ^ (state >> 31);
}

std::int64_t size_of(const Tokens& tokens) {
  return static_cast<std::int64_t>(tokens.size());
}

}  // namespace

Tokens story(int which, std::int64_t count, std::int64_t from) {
  Tokens tokens;
  tokens.reserve(static_cast<std::size_t>(count));
  for (std::int64_t i = from; i < from + count; ++i) {
    tokens.push_back(static_cast<std::int32_t>(which * 1'000'000 + i));
  }
  return tokens;
}

Tokens join(Tokens head, const Tokens& tail) {
  head.insert(head.end(), tail.begin(), tail.end());
  return head;
}

Tokens slice(const Tokens& tokens, std::int64_t from, std::int64_t to) {
  return Tokens(tokens.begin() + from, tokens.begin() + to);
}

Tokens changed_at(Tokens tokens, std::int64_t index) {
  tokens.at(static_cast<std::size_t>(index)) = -1 - tokens.at(static_cast<std::size_t>(index));
  return tokens;
}

BlockManagerConfig small_config() {
  BlockManagerConfig config;
  config.num_blocks = 16;
  config.block_size = 4;
  config.max_seqs = 4;
  return config;
}

BlockManagerConfig pool_of(std::int64_t num_blocks, EvictionPolicy policy) {
  BlockManagerConfig config = small_config();
  config.num_blocks = num_blocks;
  config.policy = policy;
  return config;
}

BlockManagerConfig blocks_of_8(std::int64_t num_blocks) {
  BlockManagerConfig config = small_config();
  config.block_size = 8;
  config.num_blocks = num_blocks;
  return config;
}

Tokens then(const Tokens& head, std::int64_t count) {
  return join(head, story(90, count));
}

Ids reserve(BlockManager& manager, const Ids& slots, const Ids& n_new) {
  Ids offsets(slots.size(), -7);
  manager.reserve(slots, n_new, offsets);
  return offsets;
}

Ids prepare(BlockManager& manager, const Ids& cu_seqlens_q, const Ids& past_len, const Ids& slots) {
  const StepPlan plan = manager.prepare_step(cu_seqlens_q, past_len, slots);
  return Ids(plan.cu_seqlens_k.begin(), plan.cu_seqlens_k.end());
}

Ids row(const BlockManager& manager, int slot) {
  const std::span<const std::int32_t> cells = manager.block_table(slot);
  return Ids(cells.begin(), cells.end());
}

Sessions::Sessions(const BlockManagerConfig& config)
    : config_(config), manager_(config), sessions_(static_cast<std::size_t>(config.max_seqs)) {}

std::int64_t Sessions::admit(int slot, const Tokens& prompt, std::int64_t addressable_len) {
  const std::int64_t served = manager_.admit(slot, prompt, addressable_len);
  perform_copies();
  Session& session = at(slot);
  session.prompt = prompt;
  settle_version(slot);
  append(slot, std::span(prompt).first(static_cast<std::size_t>(served)), false);
  session.committed = served;
  check();
  return served;
}

void Sessions::write(int slot, const Tokens& tokens) {
  write({{slot, tokens}});
}

void Sessions::write(const std::vector<std::pair<int, Tokens>>& batch) {
  Ids cu_seqlens_q = {0};
  Ids past_len;
  Ids slots;
  for (const auto& [slot, tokens] : batch) {
    cu_seqlens_q.push_back(cu_seqlens_q.back() + static_cast<std::int32_t>(tokens.size()));
    past_len.push_back(static_cast<std::int32_t>(at(slot).history.size()));
    slots.push_back(slot);
  }
  manager_.prepare_step(cu_seqlens_q, past_len, slots);
  perform_copies();
  for (const auto& [slot, tokens] : batch) {
    settle_version(slot);
    at(slot).committed = size_of(at(slot).history);
    append(slot, tokens, true);
  }
  check();
}

void Sessions::write_prompt(int slot, std::int64_t count) {
  const Session& session = at(slot);
  const std::int64_t from = size_of(session.history);
  const std::int64_t to = count < 0 ? size_of(session.prompt) : from + count;
  write(slot, slice(session.prompt, from, to));
}

void Sessions::commit(int slot) {
  rewind(slot, size_of(at(slot).history));
}

void Sessions::prefill(int slot, std::int64_t count) {
  write_prompt(slot, count);
  commit(slot);
}

void Sessions::decode(int slot, const Tokens& tokens) {
  for (const std::int32_t token : tokens) {
    write(slot, Tokens{token});
  }
}

void Sessions::rewind(int slot, std::int64_t position) {
  manager_.update_position(slot, position);
  truncate(slot, position);
  at(slot).committed = position;
  check();
}

void Sessions::retire(int slot, const Lengths& boundaries, std::int64_t addressable_len) {
  manager_.retire(slot, at(slot).history, addressable_len, boundaries);
  at(slot) = Session();
  check();
}

void Sessions::retire_accepted(int slot, std::int64_t count) {
  manager_.retire(slot, slice(at(slot).history, 0, count));
  at(slot) = Session();
  check();
}

void Sessions::evict(int slot) {
  manager_.evict(slot);
  at(slot) = Session();
  check();
}

void Sessions::abandon(int slot) {
  manager_.abandon(slot);
  at(slot) = Session();
  check();
}

std::int64_t Sessions::release_quarantined() {
  const std::int64_t released = manager_.release_quarantined();
  check();
  return released;
}

void Sessions::set_namespace(int slot, std::uint64_t namespace_id) {
  manager_.set_namespace(slot, namespace_id);
  at(slot).namespace_id = namespace_id;
  at(slot).version = versions_[namespace_id];
  at(slot).version_settled = true;
  check();
}

void Sessions::invalidate_namespace(std::uint64_t namespace_id) {
  manager_.invalidate_namespace(namespace_id);
  ++versions_[namespace_id];
  check();
}

void Sessions::reset() {
  manager_.reset();
  sessions_.assign(sessions_.size(), Session());
  for (auto& [block, values] : device_) {
    std::fill(values.begin(), values.end(), 0);
  }
  check();
}

std::int64_t Sessions::cache(const Tokens& tokens,
                             const Lengths& boundaries,
                             std::int64_t addressable_len) {
  const int slot = config_.max_seqs - 1;
  const std::int64_t served = admit(slot, tokens, addressable_len);
  prefill(slot);
  retire(slot, boundaries, addressable_len);
  return served;
}

std::int64_t Sessions::probe(const Tokens& prompt, std::int64_t addressable_len) {
  const int slot = config_.max_seqs - 1;
  const std::int64_t served = admit(slot, prompt, addressable_len);
  evict(slot);
  return served;
}

std::int64_t Sessions::probe_in(std::uint64_t namespace_id, const Tokens& prompt) {
  set_namespace(config_.max_seqs - 1, namespace_id);
  return probe(prompt);
}

void Sessions::show_picture(int slot, std::int64_t from, std::uint64_t picture) {
  at(slot).picture_from = from;
  at(slot).picture = picture;
}

Ids Sessions::row(int slot) const {
  return testing::row(manager_, slot);
}

void Sessions::append(int slot, std::span<const std::int32_t> tokens, bool write_rows) {
  Session& session = at(slot);
  const std::span<const std::int32_t> cells = manager_.block_table(slot);
  for (const std::int32_t token : tokens) {
    const std::int64_t position = size_of(session.history);
    std::uint64_t value =
        position == 0 ? mix(session.namespace_id, session.version) : session.values.back();
    value = mix(value, static_cast<std::uint64_t>(static_cast<std::uint32_t>(token)));
    if (session.picture != 0 && position >= session.picture_from) {
      value = mix(value, session.picture);
    }
    session.history.push_back(token);
    session.values.push_back(value);
    const std::int64_t cell = position / config_.block_size;
    ASSERT_LT(cell, static_cast<std::int64_t>(cells.size())) << "slot " << slot;
    if (write_rows) {
      row_value(cells[static_cast<std::size_t>(cell)], position % config_.block_size) = value;
    }
  }
}

void Sessions::settle_version(int slot) {
  Session& session = at(slot);
  if (!session.version_settled) {
    session.version = versions_[session.namespace_id];
    session.version_settled = true;
  }
}

void Sessions::truncate(int slot, std::int64_t length) {
  at(slot).history.resize(static_cast<std::size_t>(length));
  at(slot).values.resize(static_cast<std::size_t>(length));
}

void Sessions::perform_copies() {
  for (const BlockCopy& copy : manager_.copies()) {
    EXPECT_NE(copy.src, copy.dst);
    EXPECT_GT(copy.rows, 0);
    EXPECT_LT(copy.rows, config_.block_size);
    for (std::int64_t i = 0; i < config_.block_size; ++i) {
      row_value(copy.dst, i) = i < copy.rows ? row_value(copy.src, i) : 0;
    }
  }
}

std::uint64_t& Sessions::row_value(std::int32_t block, std::int64_t row) {
  EXPECT_GE(block, 0);
  EXPECT_LT(block, config_.num_blocks);
  std::vector<std::uint64_t>& values = device_[block];
  values.resize(static_cast<std::size_t>(config_.block_size));
  return values.at(static_cast<std::size_t>(row));
}

void Sessions::check() const {
  EXPECT_NO_THROW(manager_.audit());
  check_conservation();
  for (int slot = 0; slot < config_.max_seqs; ++slot) {
    check_slot(slot);
  }
}

void Sessions::check_slot(int slot) const {
  const Session& session = at(slot);
  ASSERT_EQ(manager_.reserved_len(slot), size_of(session.history)) << "slot " << slot;
  ASSERT_EQ(manager_.committed_len(slot), session.committed) << "slot " << slot;
  const std::span<const std::int32_t> cells = manager_.block_table(slot);
  for (std::int64_t position = 0; position < size_of(session.history); ++position) {
    const std::int64_t cell = position / config_.block_size;
    ASSERT_LT(cell, static_cast<std::int64_t>(cells.size())) << "slot " << slot;
    const std::int32_t block = cells[static_cast<std::size_t>(cell)];
    if (block < 0) {
      const std::int64_t first_seen = session.committed - config_.window + 1;
      ASSERT_GT(config_.window, 0) << "slot " << slot << " lost cell " << cell;
      ASSERT_LE((cell + 1) * config_.block_size, first_seen)
          << "slot " << slot << ": cell " << cell << " was released while a query sees it";
      continue;
    }
    const auto values = device_.find(block);
    ASSERT_TRUE(values != device_.end())
        << "slot " << slot << " reads block " << block << ", which nobody ever wrote";
    ASSERT_EQ(values->second.at(static_cast<std::size_t>(position % config_.block_size)),
              session.values.at(static_cast<std::size_t>(position)))
        << "slot " << slot << " reads a foreign row at position " << position << " (block " << block
        << ")";
  }
}

void Sessions::check_conservation() const {
  std::set<std::int32_t> bound;
  for (int slot = 0; slot < config_.max_seqs; ++slot) {
    for (const std::int32_t block : manager_.block_table(slot)) {
      if (block >= 0) {
        bound.insert(block);
      }
    }
  }
  EXPECT_EQ(static_cast<std::int64_t>(bound.size()) + manager_.free_blocks() +
                manager_.quarantined_blocks(),
            config_.num_blocks);
  EXPECT_LE(manager_.parked_blocks(), manager_.free_blocks());
}

void take(Sessions& sessions, std::int64_t count) {
  sessions.write(0, story(99, 4 * count));
}

}  // namespace octavo::testing
