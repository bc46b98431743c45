#include "octavo/sim/trace_stats.h"

#include <algorithm>
#include <limits>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "octavo/sim/input_error.h"
#include "session_hits.h"

namespace octavo::sim {
namespace {

// All values of one column; percentiles need every one of them.
class Column {
 public:
  void add(std::int64_t value, const TraceReader& reader, std::string_view field) {
    if (__builtin_add_overflow(summary_.sum, value, &summary_.sum)) {
      throw InputError(reader.name(), reader.line(), field,
                       "the sum over the trace exceeds 64 bits (at " + std::to_string(value) +
                           "), expected a sum of at most 9223372036854775807");
    }
    values_.push_back(value);
  }

  Summary finish() {
    if (values_.empty()) {
      return summary_;
    }
    std::sort(values_.begin(), values_.end());
    summary_.mean = static_cast<double>(summary_.sum) / static_cast<double>(values_.size());
    summary_.p50 = percentile(50);
    summary_.p90 = percentile(90);
    summary_.p99 = percentile(99);
    summary_.min = values_.front();
    summary_.max = values_.back();
    return summary_;
  }

 private:
  std::int64_t percentile(std::size_t percent) const {
    // The rank is ceil(percent * size / 100), from 1.
    return values_[(percent * values_.size() + 99) / 100 - 1];
  }

  std::vector<std::int64_t> values_;
  Summary summary_;
};

// What is known of one id. Never iterated over, so the order of the map decides nothing.
struct Seen {
  std::uint64_t parent = 0;  // The id before it at its first occurrence; unused at position 0.
  std::int64_t position = 0;
  bool full = false;       // It has stood for a whole block.
  bool again = false;      // It has occurred more than once.
  bool unchained = false;  // It has occurred elsewhere, or behind another id.
};

class Counter {
 public:
  explicit Counter(const TraceReader& reader) : reader_(reader) {
    stats_.name = reader.name();
    stats_.format = reader.format();
    stats_.block_size = reader.block_size();
    stats_.traits = reader.traits();
    stats_.first_arrival_ns = std::numeric_limits<std::int64_t>::max();
  }

  void add(const TraceRequest& request) {
    ++stats_.requests;
    input_tokens_.add(request.input_tokens, reader_, "input tokens");
    output_tokens_.add(request.output_tokens, reader_, "output tokens");
    blocks_.add(static_cast<std::int64_t>(request.block_ids.size()), reader_, "block ids");
    add_arrival(request);
    add_extras(request);
    if (stats_.traits.prefix_ids) {
      session_hits_.add(request);
      add_hits(request);
      add_ids(request);
    }
  }

  TraceStats finish() {
    stats_.input_tokens = input_tokens_.finish();
    stats_.output_tokens = output_tokens_.finish();
    stats_.blocks = blocks_.finish();
    stats_.session_hits = session_hits_.finish();
    stats_.skipped = reader_.skipped();
    stats_.sessions = static_cast<std::int64_t>(sessions_.size());
    stats_.distinct_arrivals = static_cast<std::int64_t>(arrivals_.size());
    stats_.distinct_blocks = static_cast<std::int64_t>(seen_.size());
    if (stats_.requests == 0) {
      stats_.first_arrival_ns = 0;
    } else {
      const auto requests = static_cast<double>(stats_.requests);
      stats_.ideal.mean_request_blocks /= requests;
      stats_.ideal.mean_request_tokens /= requests;
    }
    return stats_;
  }

 private:
  void add_arrival(const TraceRequest& request) {
    const std::int64_t arrival_ns = request.arrival_ns;
    if (stats_.requests > 1 && arrival_ns < previous_arrival_ns_) {
      ++stats_.unsorted_requests;
    }
    previous_arrival_ns_ = arrival_ns;
    stats_.first_arrival_ns = std::min(stats_.first_arrival_ns, arrival_ns);
    stats_.last_arrival_ns = std::max(stats_.last_arrival_ns, arrival_ns);
    arrivals_.insert(arrival_ns);
    if (request.session) {
      sessions_.insert(*request.session);
    }
  }

  void add_extras(const TraceRequest& request) {
    stats_.sub_requests += request.parent_session ? 1 : 0;
    stats_.delayed_requests += request.delay_ns ? 1 : 0;
    stats_.empty_outputs += stats_.traits.outputs && request.output_tokens == 0 ? 1 : 0;
    if (__builtin_add_overflow(stats_.media, request.media, &stats_.media)) {
      throw InputError(reader_.name(), reader_.line(), "media",
                       "the sum over the trace exceeds 64 bits (at " +
                           std::to_string(request.media) + "), expected a smaller one");
    }
    if (request.cached_tokens) {
      ++stats_.recorded_requests;
      stats_.recorded_tokens.hits += std::min(*request.cached_tokens, request.input_tokens);
      stats_.recorded_tokens.total += request.input_tokens;
    }
  }

  // Must come before `add_ids`: a request does not hit its own blocks.
  void add_hits(const TraceRequest& request) {
    const std::int64_t block_size = stats_.block_size;
    const std::int64_t tokens = request.input_tokens;
    const auto blocks = static_cast<std::int64_t>(request.block_ids.size());
    const std::int64_t full_blocks = tokens / block_size;
    std::int64_t hits = 0;
    std::int64_t full_hits = 0;
    for (const std::uint64_t id : request.block_ids) {
      const auto found = seen_.find(id);
      if (found == seen_.end()) {
        break;
      }
      if (full_hits == hits && full_hits < full_blocks && found->second.full) {
        ++full_hits;
      }
      ++hits;
    }
    // hits blocks of block_size tokens, unless the last one is the partial tail.
    const std::int64_t hit_tokens = hits > full_blocks ? tokens : hits * block_size;
    IdealHits& ideal = stats_.ideal;
    ideal.blocks.hits += hits;
    ideal.blocks.total += blocks;
    ideal.full_blocks.hits += full_hits;
    ideal.full_blocks.total += full_blocks;
    ideal.tokens.hits += hit_tokens;
    ideal.tokens.total += tokens;
    ideal.servable_tokens.hits += std::min(full_hits, (tokens - 1) / block_size) * block_size;
    ideal.servable_tokens.total += tokens;
    ideal.whole_requests += hit_tokens == tokens ? 1 : 0;
    if (blocks > 0) {
      ideal.mean_request_blocks += static_cast<double>(hits) / static_cast<double>(blocks);
    }
    ideal.mean_request_tokens += static_cast<double>(hit_tokens) / static_cast<double>(tokens);
  }

  void add_ids(const TraceRequest& request) {
    const std::int64_t full_blocks = request.input_tokens / stats_.block_size;
    std::int64_t position = 0;
    std::uint64_t parent = 0;
    for (const std::uint64_t id : request.block_ids) {
      const auto [entry, fresh] =
          seen_.try_emplace(id, Seen{.parent = parent, .position = position});
      Seen& seen = entry->second;
      if (fresh) {
        ++stats_.blocks_used_once;
        stats_.max_block_id = std::max(stats_.max_block_id, id);
      } else {
        stats_.blocks_used_once -= seen.again ? 0 : 1;
        seen.again = true;
        if (!seen.unchained &&
            (seen.position != position || (position > 0 && seen.parent != parent))) {
          seen.unchained = true;
          ++stats_.unchained_blocks;
        }
      }
      seen.full |= position < full_blocks;
      parent = id;
      ++position;
    }
  }

  const TraceReader& reader_;
  TraceStats stats_;
  Column input_tokens_;
  Column output_tokens_;
  Column blocks_;
  SessionHitCounter session_hits_;
  std::int64_t previous_arrival_ns_ = 0;
  // Never iterated, looked up by key: hundreds of thousands of ids, one at a time.
  std::unordered_map<std::uint64_t, Seen> seen_;
  // Never iterated, only counted.
  std::unordered_set<std::int64_t> arrivals_;
  // Never iterated, only counted.
  std::unordered_set<std::uint64_t> sessions_;
};

}  // namespace

TraceStats compute_trace_stats(TraceReader& reader, std::int64_t limit) {
  if (limit < 0) {
    throw Error(ErrorCode::InvalidArgument,
                "compute_trace_stats: limit " + std::to_string(limit) + " is negative");
  }
  Counter counter(reader);
  TraceRequest request;
  for (std::int64_t count = 0; (limit == 0 || count < limit) && reader.next(request); ++count) {
    counter.add(request);
  }
  return counter.finish();
}

}  // namespace octavo::sim
