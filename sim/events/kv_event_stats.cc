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
    stats_.cached_blocks = cached();
    return std::move(stats_);
  }

 private:
  // Never iterated, only looked up.
  using Names = std::unordered_set<std::string>;

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
      // Not said is the GPU, of which a removal need not speak as the store did.
      const std::string space =
          (event.medium.empty() ? "GPU" : event.medium) + '/' + std::to_string(event.group) + '/';
      switch (event.kind) {
        case KvEventKind::BlockStored:
          count_stored(event, cached_[rank], space);
          break;
        case KvEventKind::BlockRemoved:
          ++stats_.removed_events;
          for (const KvBlockName& name : event.block_hashes) {
            ++stats_.removed_blocks;
            stats_.removed_unknown += cached_[rank].erase(space + name) == 0 ? 1 : 0;
          }
          break;
        case KvEventKind::AllBlocksCleared:
          ++stats_.cleared_events;
          cached_[rank].clear();
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

  void count_stored(const KvEvent& event, Names& names, const std::string& space) {
    ++stats_.stored_events;
    stats_.without_tokens += event.token_ids.empty() ? 1 : 0;
    if (event.parent_block_hash && names.count(space + *event.parent_block_hash) == 0) {
      ++stats_.unknown_parents;
    }
    const auto blocks = static_cast<std::int64_t>(event.block_hashes.size());
    stats_.stored_blocks += blocks;
    stats_.media[event.medium] += blocks;
    stats_.groups[event.group] += blocks;
    stats_.block_sizes[event.block_size] += blocks;
    for (const KvBlockName& name : event.block_hashes) {
      stats_.stored_twice += names.insert(space + name).second ? 0 : 1;
    }
    stats_.cached_blocks_max = std::max(stats_.cached_blocks_max, cached());
  }

  std::int64_t cached() const {
    std::size_t sum = 0;
    for (const auto& [rank, names] : cached_) {
      sum += names.size();
    }
    return static_cast<std::int64_t>(sum);
  }

  KvEventReader& log_;
  KvEventStats stats_;
  std::map<std::int64_t, Names> cached_;             // By rank; medium, group and name.
  std::map<std::int64_t, std::uint64_t> sequences_;  // The last one, by rank.
};

}  // namespace

KvEventStats compute_event_stats(KvEventReader& log) {
  return Counter(log).run();
}

}  // namespace octavo::sim
