#include "octavo/sim/kv_event_stats.h"

#include <algorithm>
#include <optional>
#include <unordered_set>

namespace octavo::sim {
namespace {

class Counter {
 public:
  explicit Counter(KvEventReader& log) : log_(log) {}

  KvEventStats run() {
    stats_.name = log_.name();
    stats_.framing = log_.framing();
    for (KvEventBatch batch; log_.next(batch);) {
      count(batch);
    }
    stats_.cached_blocks = static_cast<std::int64_t>(cached_.size());
    return std::move(stats_);
  }

 private:
  void count(const KvEventBatch& batch) {
    stats_.first_time_s = stats_.batches == 0 ? batch.time_s : stats_.first_time_s;
    stats_.last_time_s = batch.time_s;
    ++stats_.batches;
    const std::int64_t rank = batch.rank.value_or(-1);
    ++stats_.ranks[rank];
    if (batch.sequence) {
      count_sequence(rank, *batch.sequence);
    }
    for (const KvEvent& event : batch.events) {
      const std::string space =
          std::to_string(rank) + '/' + event.medium + '/' + std::to_string(event.group) + '/';
      switch (event.kind) {
        case KvEventKind::BlockStored:
          count_stored(event, space);
          break;
        case KvEventKind::BlockRemoved:
          ++stats_.removed_events;
          for (const KvBlockName& name : event.block_hashes) {
            ++stats_.removed_blocks;
            stats_.removed_unknown += cached_.erase(space + name) == 0 ? 1 : 0;
          }
          break;
        case KvEventKind::AllBlocksCleared:
          ++stats_.cleared_events;
          clear(rank);
          break;
      }
    }
  }

  // Every rank has a socket and a count of its own.
  void count_sequence(std::int64_t rank, std::uint64_t sequence) {
    const auto last = sequences_.find(rank);
    if (last != sequences_.end() && sequence != last->second + 1) {
      ++stats_.sequence_gaps;
      if (sequence > last->second) {
        stats_.missing_batches += static_cast<std::int64_t>(sequence - last->second - 1);
      }
    }
    sequences_[rank] = sequence;
  }

  void count_stored(const KvEvent& event, const std::string& space) {
    ++stats_.stored_events;
    stats_.without_tokens += event.token_ids.empty() ? 1 : 0;
    if (event.parent_block_hash && cached_.count(space + *event.parent_block_hash) == 0) {
      ++stats_.unknown_parents;
    }
    const auto blocks = static_cast<std::int64_t>(event.block_hashes.size());
    stats_.stored_blocks += blocks;
    stats_.media[event.medium] += blocks;
    stats_.groups[event.group] += blocks;
    stats_.block_sizes[event.block_size] += blocks;
    for (const KvBlockName& name : event.block_hashes) {
      stats_.stored_twice += cached_.insert(space + name).second ? 0 : 1;
    }
    stats_.cached_blocks_max =
        std::max(stats_.cached_blocks_max, static_cast<std::int64_t>(cached_.size()));
  }

  // A clearing is rare, and of one rank's pool.
  void clear(std::int64_t rank) {
    const std::string prefix = std::to_string(rank) + '/';
    std::erase_if(cached_, [&](const std::string& key) { return key.starts_with(prefix); });
  }

  KvEventReader& log_;
  KvEventStats stats_;
  // Never iterated but to erase a rank's blocks, where the order decides nothing.
  std::unordered_set<std::string> cached_;
  std::map<std::int64_t, std::uint64_t> sequences_;  // The last one, by rank.
};

}  // namespace

KvEventStats compute_event_stats(KvEventReader& log) {
  return Counter(log).run();
}

}  // namespace octavo::sim
