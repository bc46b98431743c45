#include "workload.h"

#include <algorithm>
#include <map>

#include "octavo/error.h"

namespace octavo::sim::check {
namespace {

// Ids in the order of their first appearance, and what a partial tail turned into later.
class Names {
 public:
  std::int32_t of(std::uint64_t id) {
    for (auto alias = aliases_.find(id); alias != aliases_.end(); alias = aliases_.find(id)) {
      id = alias->second;
    }
    return names_.try_emplace(id, next()).first->second;
  }
  std::int32_t fresh() {
    return names_.try_emplace(kFresh - static_cast<std::uint64_t>(names_.size()), next())
        .first->second;
  }
  // `tail` is the beginning of the block `whole`. The first to say so is believed; no circles.
  void alias(std::uint64_t tail, std::uint64_t whole) {
    for (auto at = aliases_.find(whole); at != aliases_.end(); at = aliases_.find(whole)) {
      whole = at->second;
    }
    if (tail != whole) {
      aliases_.try_emplace(tail, whole);
    }
  }

 private:
  static constexpr std::uint64_t kFresh = ~std::uint64_t{0};
  std::int32_t next() const { return static_cast<std::int32_t>(names_.size()); }

  std::map<std::uint64_t, std::int32_t> names_;
  std::map<std::uint64_t, std::uint64_t> aliases_;
};

struct Scale {
  std::int64_t block = 1;   ///< Tokens of the trace that an id stands for.
  std::int64_t tokens = 1;  ///< Tokens that it is given here.

  std::int64_t of(std::int64_t count) const {
    return std::max<std::int64_t>(1, count / block * tokens + count % block * tokens / block);
  }
};

std::vector<TraceRequest> read_requests(TraceReader& trace, std::int64_t limit) {
  std::vector<TraceRequest> requests;
  TraceRequest request;
  while ((limit <= 0 || std::ssize(requests) < limit) && trace.next(request)) {
    requests.push_back(request);
  }
  return requests;
}

// An average prompt gets half of the longest one's tokens.
Scale scale_of(const std::vector<TraceRequest>& requests,
               const TraceReader& trace,
               std::int64_t max_prompt) {
  std::int64_t mean = 0;
  std::int64_t rest = 0;
  const std::int64_t count = std::max<std::int64_t>(1, std::ssize(requests));
  for (const TraceRequest& request : requests) {
    mean += request.input_tokens / count;
    rest += request.input_tokens % count;
  }
  mean = std::max<std::int64_t>(1, mean + rest / count);
  if (!trace.traits().prefix_ids) {
    return {.block = std::max<std::int64_t>(1, 2 * mean / max_prompt), .tokens = 1};
  }
  const std::int64_t block = trace.block_size();
  const std::int64_t tokens =
      mean > kTraceBlockMax ? 1 : max_prompt * std::min(block, 2 * mean) / (2 * mean);
  return {.block = block, .tokens = std::clamp<std::int64_t>(tokens, 1, block)};
}

void append_run(std::vector<TokenRun>& runs, std::int32_t first, std::int64_t count) {
  if (count > 0) {
    runs.push_back({first, static_cast<std::int32_t>(count)});
  }
}

std::vector<TokenRun> prompt_of(const TraceRequest& request,
                                const Scale& scale,
                                std::int64_t max_prompt,
                                Names& names) {
  std::vector<TokenRun> runs;
  std::int64_t left = std::min(scale.of(request.input_tokens), max_prompt);
  const auto name_run = [&](std::int32_t name, std::int64_t count) {
    const std::int64_t first = std::int64_t{name} * scale.tokens;
    if (first + count >= kGeneratedTokens) {
      throw Error(ErrorCode::ResourceExhausted, "check: the trace has too many distinct ids");
    }
    append_run(runs, static_cast<std::int32_t>(first), count);
    left -= count;
  };
  for (const std::uint64_t id : request.block_ids) {
    if (left > 0) {
      name_run(names.of(id), std::min(left, scale.tokens));
    }
  }
  while (left > 0) {  // Without ids, and tails without one.
    name_run(names.fresh(), std::min(left, scale.tokens));
  }
  return runs;
}

// Where the session's next prompt holds all whole blocks of this one and another id in the place of
// its tail, that id names the same tokens and more of them.
void alias_tail(const TraceRequest& request,
                const TraceRequest& next,
                std::int64_t block,
                Names& names) {
  const auto whole = static_cast<std::size_t>(request.input_tokens / block);
  const auto& ids = request.block_ids;
  if (ids.size() == whole + 1 && next.block_ids.size() > whole &&
      next.input_tokens > request.input_tokens &&
      std::equal(ids.begin(), ids.end() - 1, next.block_ids.begin())) {
    names.alias(ids.back(), next.block_ids[whole]);
  }
}

// The tokens of `runs` behind the first `from`, at most `count`.
std::vector<TokenRun> part_of(const std::vector<TokenRun>& runs,
                              std::int64_t from,
                              std::int64_t count) {
  std::vector<TokenRun> part;
  for (const TokenRun& run : runs) {
    const std::int64_t skipped = std::min<std::int64_t>(from, run.count);
    const std::int64_t taken = std::min<std::int64_t>(run.count - skipped, count);
    append_run(part, run.first + static_cast<std::int32_t>(skipped), taken);
    from -= skipped;
    count -= taken;
  }
  return part;
}

bool begins_with(const std::vector<TokenRun>& runs, const std::vector<TokenRun>& head) {
  const std::int64_t length = token_count(head);
  std::vector<TokenRun> mine = part_of(runs, 0, length);
  return token_count(mine) == length && mine == head;
}

}  // namespace

std::int64_t token_count(const std::vector<TokenRun>& runs) {
  std::int64_t count = 0;
  for (const TokenRun& run : runs) {
    count += run.count;
  }
  return count;
}

std::vector<CheckRequest> scaled_requests(TraceReader& trace,
                                          std::int64_t max_prompt,
                                          std::int64_t max_output,
                                          std::int64_t limit) {
  const std::vector<TraceRequest> requests = read_requests(trace, limit);
  const Scale scale = scale_of(requests, trace, max_prompt);
  Names names;
  std::vector<std::size_t> next(requests.size(), requests.size());
  std::map<std::uint64_t, std::size_t> latest;
  for (std::size_t i = requests.size(); i-- > 0;) {
    if (requests[i].session) {
      const auto [entry, is_new] = latest.try_emplace(*requests[i].session, i);
      if (!is_new) {
        next[i] = entry->second;
        entry->second = i;
        alias_tail(requests[i], requests[next[i]], scale.block, names);
      }
    }
  }
  std::vector<CheckRequest> scaled;
  for (const TraceRequest& request : requests) {
    scaled.push_back({.prompt = prompt_of(request, scale, max_prompt, names),
                      .output = {},
                      .session = request.session});
  }
  std::int32_t generated = kGeneratedTokens;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const std::int64_t count = requests[i].output_tokens == 0
                                   ? 0
                                   : std::min(scale.of(requests[i].output_tokens), max_output);
    CheckRequest& request = scaled[i];
    if (next[i] < requests.size() && begins_with(scaled[next[i]].prompt, request.prompt)) {
      request.output = part_of(scaled[next[i]].prompt, token_count(request.prompt), count);
    }
    const std::int64_t left = count - token_count(request.output);
    append_run(request.output, generated, left);
    generated += static_cast<std::int32_t>(std::max<std::int64_t>(0, left));
  }
  return scaled;
}

}  // namespace octavo::sim::check
