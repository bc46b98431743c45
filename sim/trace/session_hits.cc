#include "session_hits.h"

#include <algorithm>

#include "prefix_chain.h"

namespace octavo::sim {

void SessionHitCounter::add(const TraceRequest& request) {
  if (!request.session || request.parent_session || request.block_ids.empty()) {
    return;
  }
  const auto [entry, fresh] = sessions_.try_emplace(*request.session, counts_.size());
  if (fresh) {
    counts_.emplace_back();
  }
  HitCount& count = counts_[entry->second];
  bool hit = true;
  for (const std::uint64_t id : request.block_ids) {
    hit &= !seen_.insert(chain_id(*request.session, id)).second;
    count.hits += hit ? 1 : 0;
  }
  count.total += static_cast<std::int64_t>(request.block_ids.size());
}

SessionHits SessionHitCounter::finish() const {
  SessionHits result;
  if (counts_.empty()) {
    return result;
  }
  std::vector<double> rates;
  for (const HitCount& count : counts_) {
    rates.push_back(count.rate());
    result.mean += count.rate();
  }
  std::sort(rates.begin(), rates.end());
  // The rank is ceil(percent * size / 100), from 1.
  const auto percentile = [&](std::size_t percent) {
    return rates[(percent * rates.size() + 99) / 100 - 1];
  };
  result.sessions = static_cast<std::int64_t>(rates.size());
  result.mean /= static_cast<double>(rates.size());
  result.min = rates.front();
  result.p25 = percentile(25);
  result.p50 = percentile(50);
  result.p75 = percentile(75);
  result.max = rates.back();
  return result;
}

}  // namespace octavo::sim
