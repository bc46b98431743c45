#include "lockstep.h"

#include <algorithm>
#include <sstream>

namespace octavo::testkit {
namespace {

constexpr std::int64_t kStepsPerMove = 16;

template <typename... Parts>
void require(bool holds, const Parts&... parts) {
  if (!holds) {
    std::ostringstream text;
    (text << ... << parts);
    throw Mismatch(text.str());
  }
}

std::string codes(const std::set<ErrorCode>& refusals) {
  std::string text;
  for (const ErrorCode code : refusals) {
    text += (text.empty() ? "" : " or ") + std::string(to_string(code));
  }
  return text.empty() ? "success" : text;
}

BlockManagerConfig with_events(BlockManagerConfig config, EventTree* events) {
  config.events = events;
  return config;
}

}  // namespace

void EventTree::on_block_stored(const BlockStored& event) noexcept {
  block_size_ = event.block_size;
  Node node{.space = event.namespace_id, .tokens = {}, .count = 0};
  if (event.parent_block_hash) {
    const auto parent = nodes_.find(*event.parent_block_hash);
    if (parent == nodes_.end() || parent->second.count == 0) {
      fault_ = "a block was stored under a parent that is not there";
      return;
    }
    node.tokens = parent->second.tokens;
  }
  const auto size = static_cast<std::size_t>(event.block_size);
  if (event.token_ids.size() != event.block_hashes.size() * size) {
    fault_ = "a store event has tokens for another number of blocks";
    return;
  }
  for (std::size_t i = 0; i < event.block_hashes.size(); ++i) {
    const auto tokens = event.token_ids.subspan(i * size, size);
    node.tokens.insert(node.tokens.end(), tokens.begin(), tokens.end());
    Node& stored = nodes_.try_emplace(event.block_hashes[i], node).first->second;
    if (stored.tokens != node.tokens || stored.space != node.space) {
      fault_ = "one hash stands for two blocks";
    }
    ++stored.count;
  }
}

void EventTree::on_block_removed(const BlockRemoved& event) noexcept {
  for (const std::uint64_t hash : event.block_hashes) {
    const auto node = nodes_.find(hash);
    if (node == nodes_.end() || node->second.count == 0) {
      fault_ = "a block was removed that is not there";
      return;
    }
    --node->second.count;
  }
}

void EventTree::on_all_blocks_cleared() noexcept {
  nodes_.clear();
}

void EventTree::check(const NaiveModel& model) const {
  require(fault_.empty(), "events: ", fault_);
  // Generations of a namespace are told apart by the hash or not at all: count over both.
  using Counts = std::map<std::pair<std::uint64_t, Tokens>, int>;
  Counts expected;
  for (const auto& [node, block] : model.nodes()) {
    ++expected[{node.space, node.tokens}];
  }
  Counts stored;
  for (const auto& [hash, node] : nodes_) {
    if (node.count > 0) {
      stored[{node.space, node.tokens}] += node.count;
    }
  }
  require(stored == expected, "events: ", stored.size(), " prefixes are stored, expected ",
          expected.size(), ", or one of them not as often as it should be");
  require(block_size_ == 0 || block_size_ == model.config().block_size, "events: block size");
}

Lockstep::Lockstep(const BlockManagerConfig& config)
    : config_(config),
      events_(config.block_hash == nullptr ? std::make_unique<EventTree>() : nullptr),
      manager_(with_events(config, events_.get())),
      mirror_(config),
      digest_(manager_.digest()) {}

void Lockstep::restart() {
  manager_.reset();
  mirror_ = DeviceMirror(config_);
}

void Lockstep::step(const World& before,
                    const World& after,
                    const Call& call,
                    const Outcome& expected) {
  const BlockManagerStats stats_before = manager_.stats();
  const auto copies = manager_.copies();
  const std::vector<BlockCopy> copies_before(copies.begin(), copies.end());
  std::vector<std::vector<std::int32_t>> tables_before;
  for (int slot = 0; slot < config_.max_seqs; ++slot) {
    const auto table = manager_.block_table(slot);
    tables_before.emplace_back(table.begin(), table.end());
  }
  compare_checks(call, expected);
  if (!expected.refused()) {
    mirror_.before_call(before, call, manager_);
  }
  const CachedPrefix looked_up = look_up(before.model(), call);
  const std::int64_t free_before = manager_.free_blocks();
  const Outcome actual = perform(manager_, call);
  compare_outcome(call, expected, actual);
  if (call.verb == Verb::Admit && !expected.refused()) {
    compare_look_up(looked_up, actual.value, free_before);
  }
  const std::uint64_t digest = manager_.digest();
  const bool orders_copies =
      call.verb == Verb::Admit || call.verb == Verb::Reserve || call.verb == Verb::PrepareStep;
  if (expected.refused()) {
    require(digest == digest_, "a refused call changed the digest");
    expect_bad_slots_refused();
  }
  if (expected.refused() || (!orders_copies && call.verb != Verb::Reset)) {
    const auto now = manager_.copies();
    require(std::equal(now.begin(), now.end(), copies_before.begin(), copies_before.end()),
            "the call changed copies()");
  }
  compare_counts(after.model());
  compare_tables(before, after, tables_before);
  if (!expected.refused()) {
    mirror_.after_call(before, after, call, manager_);
  }
  compare_stats(before.model(), after.model(), stats_before);
  if (events_) {
    events_->check(after.model());
  }
  manager_.audit();
  digest_ = digest;
  if (++steps_ % kStepsPerMove == 0) {
    BlockManager moved = std::move(manager_);
    manager_ = std::move(moved);
    require(manager_.digest() == digest_, "a move changed the digest");
  }
}

/// A step's checks alone say what the step says, and change nothing.
void Lockstep::compare_checks(const Call& call, const Outcome& expected) {
  std::set<ErrorCode> raised;
  try {
    if (call.verb == Verb::PrepareStep) {
      manager_.check_step(call.counts, call.past, call.slots);
    } else if (call.verb == Verb::Reserve && !call.offsets_too_short) {
      manager_.check_reserve(call.slots, call.counts);
    } else {
      return;
    }
  } catch (const Error& error) {
    raised.insert(error.code());
  }
  require(raised.empty() != expected.refused() &&
              std::includes(expected.refusals.begin(), expected.refusals.end(), raised.begin(),
                            raised.end()),
          "the checks of ", to_string(call.verb), " gave ", codes(raised), ", expected ",
          codes(expected.refusals));
  require(manager_.digest() == digest_, "checks changed the digest");
}

/// What the cache says of the prompt that is about to be admitted; saying it changes nothing.
CachedPrefix Lockstep::look_up(const NaiveModel& model, const Call& call) const {
  if (call.verb != Verb::Admit || call.number < kAddressableAll || call.slot < 0 ||
      call.slot >= config_.max_seqs) {
    return {};
  }
  const ModelSlot& slot = model.slots()[static_cast<std::size_t>(call.slot)];
  if (model.stale(slot)) {
    return {};
  }
  const CachedPrefix found = manager_.cached_prefix(call.tokens, call.number, slot.space);
  require(manager_.digest() == digest_, "cached_prefix changed the digest");
  return found;
}

/// An admit serves what the cache said, and binds the parked blocks that it named, one more where a
/// partial key is served.
void Lockstep::compare_look_up(const CachedPrefix& looked_up,
                               std::int64_t served,
                               std::int64_t free_before) const {
  const std::int64_t whole = looked_up.tokens / config_.block_size * config_.block_size;
  const std::int64_t left = free_before - looked_up.parked_blocks;
  const bool copy_dropped = served == whole && looked_up.tokens > whole && left <= 1;
  require(served == looked_up.tokens || copy_dropped, "admit served ", served,
          " tokens, cached_prefix said ", looked_up.tokens);
  const std::int64_t bound = free_before - manager_.free_blocks();
  require(bound == looked_up.parked_blocks + (served > whole ? 1 : 0), "admit bound ", bound,
          " free blocks, cached_prefix said ", looked_up.parked_blocks);
}

/// Cells wholly before the lowest committed length stay what they were, but for a window's
/// releases.
void Lockstep::compare_tables(const World& before,
                              const World& after,
                              const std::vector<std::vector<std::int32_t>>& tables_before) const {
  for (int slot = 0; slot < config_.max_seqs; ++slot) {
    const auto index = static_cast<std::size_t>(slot);
    const ModelSlot& then = before.model().slots()[index];
    const ModelSlot& now = after.model().slots()[index];
    if (then.fresh || now.fresh) {
      continue;
    }
    const auto table = manager_.block_table(slot);
    const std::int64_t same = std::min(then.committed, now.committed) / config_.block_size;
    for (std::size_t k = 0; k < static_cast<std::size_t>(same); ++k) {
      require(table[k] == tables_before[index][k] || (config_.window > 0 && table[k] == -1),
              "slot ", slot, ": cell ", k, " before the committed length changed");
    }
  }
}

void Lockstep::compare_outcome(const Call& call,
                               const Outcome& expected,
                               const Outcome& actual) const {
  require(expected.refused() == actual.refused() &&
              (!actual.refused() || expected.refusals.contains(*actual.refusals.begin())),
          to_string(call.verb), " gave ", codes(actual.refusals), " (", actual.message,
          "), expected ", codes(expected.refusals));
  if (actual.refused()) {
    require(actual.message.starts_with(to_string(call.verb)), "the message \"", actual.message,
            "\" does not begin with the call, ", to_string(call.verb));
    return;
  }
  require(actual.value == expected.value, to_string(call.verb), " returned ", actual.value,
          ", expected ", expected.value);
  require(actual.numbers == expected.numbers && actual.decode == expected.decode,
          to_string(call.verb), " returned other offsets or lengths than expected");
}

void Lockstep::compare_counts(const NaiveModel& model) const {
  const std::int64_t parked = std::ssize(model.parked());
  const std::int64_t quarantined = std::ssize(model.quarantined());
  require(manager_.num_blocks() == config_.num_blocks, "num_blocks");
  require(manager_.free_blocks() == model.unused_blocks() + parked, "free_blocks is ",
          manager_.free_blocks(), ", expected ", model.unused_blocks() + parked);
  require(manager_.parked_blocks() == parked, "parked_blocks is ", manager_.parked_blocks(),
          ", expected ", parked);
  require(manager_.quarantined_blocks() == quarantined, "quarantined_blocks is ",
          manager_.quarantined_blocks(), ", expected ", quarantined);
  std::set<std::int32_t> bound;
  for (int s = 0; s < config_.max_seqs; ++s) {
    const ModelSlot& slot = model.slots()[static_cast<std::size_t>(s)];
    require(manager_.reserved_len(s) == slot.reserved, "slot ", s, ": reserved_len is ",
            manager_.reserved_len(s), ", expected ", slot.reserved);
    require(manager_.committed_len(s) == slot.committed, "slot ", s, ": committed_len is ",
            manager_.committed_len(s), ", expected ", slot.committed);
    require(manager_.is_fresh(s) == slot.fresh, "slot ", s, ": is_fresh");
    const auto table = manager_.block_table(s);
    bound.insert(table.begin(), table.end());
  }
  bound.erase(-1);
  const std::int64_t sum =
      std::ssize(bound) + manager_.free_blocks() + manager_.quarantined_blocks();
  require(sum == config_.num_blocks, "bound, free and quarantined blocks are ", sum, ", not ",
          config_.num_blocks);
}

/// The counters moved as the model's did; the high-water marks are at least what was seen.
void Lockstep::compare_stats(const NaiveModel& before,
                             const NaiveModel& after,
                             const BlockManagerStats& stats_before) const {
  const BlockManagerStats now = manager_.stats();
  const auto compare = [&](const char* name, auto counter) {
    const std::int64_t moved = counter(now) - counter(stats_before);
    const std::int64_t expected = counter(after.stats()) - counter(before.stats());
    require(moved == expected, "stats.", name, " moved by ", moved, ", expected ", expected);
  };
  using Stats = BlockManagerStats;
  compare("admits", [](const Stats& s) { return s.admits; });
  compare("prompt_tokens", [](const Stats& s) { return s.prompt_tokens; });
  compare("hit_tokens", [](const Stats& s) { return s.hit_tokens; });
  compare("hit_blocks", [](const Stats& s) { return s.hit_blocks; });
  compare("missed_blocks", [](const Stats& s) { return s.missed_blocks; });
  compare("partial_hits", [](const Stats& s) { return s.partial_hits; });
  compare("partial_takeovers", [](const Stats& s) { return s.partial_takeovers; });
  compare("copied_blocks", [](const Stats& s) { return s.copied_blocks; });
  compare("sealed_blocks", [](const Stats& s) { return s.sealed_blocks; });
  compare("duplicate_blocks", [](const Stats& s) { return s.duplicate_blocks; });
  // Which of a step's blocks came from the free list is nobody's business, so the two are summed.
  compare("evicted_blocks", [](const Stats& s) { return s.evicted_blocks(); });
  compare("dropped_keys", [](const Stats& s) { return s.dropped_keys; });
  compare("quarantined_blocks", [](const Stats& s) { return s.quarantined_blocks; });
  require(now.bound_blocks_max >= after.stats().bound_blocks_max, "stats.bound_blocks_max is ",
          now.bound_blocks_max, ", at least ", after.stats().bound_blocks_max, " was seen");
  require(now.parked_blocks_max >= after.stats().parked_blocks_max, "stats.parked_blocks_max is ",
          now.parked_blocks_max, ", at least ", after.stats().parked_blocks_max, " was seen");
  require(now.bound_blocks_max <= config_.num_blocks && now.parked_blocks_max <= config_.num_blocks,
          "a high-water mark is above the pool");
}

void Lockstep::expect_bad_slots_refused() const {
  const auto refused = [](const auto& query) {
    try {
      query();
    } catch (const Error& error) {
      return error.code() == ErrorCode::InvalidArgument;
    }
    return false;
  };
  for (const int slot : {-1, config_.max_seqs}) {
    require(refused([&] { (void)manager_.block_table(slot); }) &&
                refused([&] { (void)manager_.reserved_len(slot); }) &&
                refused([&] { (void)manager_.committed_len(slot); }) &&
                refused([&] { (void)manager_.is_fresh(slot); }),
            "a question about slot ", slot, " was answered");
  }
}

}  // namespace octavo::testkit
