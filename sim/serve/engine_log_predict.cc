// What a log's requests would have been served by Octavo's block manager.
//
// The log has ids of prompts, not of replies. A reply is known through the session's next prompt:
// the tokens of that prompt behind this one's are taken for the reply. Where the next prompt has
// rewritten it (a template drops the reasoning, a tool call is rendered anew), the engine serves
// less; how much the prompt repeats then can only be learnt from the record, and is, in a last
// replay that must give the record exactly.
#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <tuple>

#include "checked.h"
#include "octavo/block_manager.h"
#include "octavo/sim/serve/engine_log.h"

namespace octavo::sim {
namespace {

constexpr std::int64_t kNoCut = std::numeric_limits<std::int64_t>::max();

using Tokens = std::vector<std::int32_t>;

/// The turn before: the session's latest earlier request whose whole blocks this prompt repeats.
std::optional<std::size_t> find_previous(const EngineLog& log, std::size_t index) {
  const EngineRequest& request = log.requests[index];
  if (request.session.empty()) {
    return std::nullopt;
  }
  for (std::size_t i = index; i-- > 0;) {
    const EngineRequest& other = log.requests[i];
    if (other.session != request.session || other.input_tokens >= request.input_tokens) {
      continue;
    }
    const auto whole = other.input_tokens / log.block_size;
    if (std::equal(other.ids.begin(), other.ids.begin() + whole, request.ids.begin())) {
      return i;
    }
  }
  return std::nullopt;
}

/// Prompt and reply of every request as tokens: equal ones where the log says equal, or the next
/// prompt is taken to.
class Histories {
 public:
  /// `next[i]`: the request whose prompt goes on from i's reply. `cut[i]`: the position from which
  /// on it does not repeat i any more.
  Histories(const EngineLog& log,
            const std::vector<std::optional<std::size_t>>& next,
            const std::vector<std::int64_t>& cut)
      : block_size_(log.block_size), tokens_(log.requests.size()) {
    for (const EngineRequest& request : log.requests) {
      for (const std::uint64_t id : request.ids) {
        names_.emplace(id, static_cast<std::int64_t>(names_.size()));
      }
    }
    next_name_ = static_cast<std::int64_t>(names_.size());
    for (std::size_t i = log.requests.size(); i-- > 0;) {  // what follows is known first
      make(log.requests[i], next[i] ? &tokens_[*next[i]] : nullptr,
           next[i] ? log.requests[*next[i]].input_tokens : 0, cut[i], tokens_[i]);
    }
  }

  /// [input_tokens + output_tokens - 1], or [input_tokens] without output: what was ever fed.
  const Tokens& of(std::size_t index) const { return tokens_[index]; }

 private:
  std::int32_t token(std::int64_t name, std::int64_t position) const {
    const std::int64_t value = name * block_size_ + position % block_size_;
    if (value > std::numeric_limits<std::int32_t>::max()) {
      throw Error(ErrorCode::ResourceExhausted, "predict: the log has more than 2^31 tokens");
    }
    return static_cast<std::int32_t>(value);
  }

  void make(const EngineRequest& request,
            const Tokens* next,
            std::int64_t next_length,
            std::int64_t cut,
            Tokens& out) {
    const std::int64_t whole = request.input_tokens / block_size_ * block_size_;
    const std::int64_t length =
        request.input_tokens + std::max<std::int64_t>(request.output_tokens - 1, 0);
    out.resize(static_cast<std::size_t>(length));
    for (std::int64_t at = 0; at < length; ++at) {
      const auto place = static_cast<std::size_t>(at);
      if (next != nullptr && at >= whole && at < std::min(next_length, cut)) {
        out[place] = (*next)[place];
      } else if (at < request.input_tokens) {
        out[place] = token(names_.at(request.ids[static_cast<std::size_t>(at / block_size_)]), at);
      } else {
        if (at == request.input_tokens || at % block_size_ == 0 || at == cut || at == next_length) {
          ++next_name_;  // nobody else's
        }
        out[place] = token(next_name_, at);
      }
    }
  }

  std::int64_t block_size_;
  std::map<std::uint64_t, std::int64_t> names_;
  std::int64_t next_name_ = 0;
  std::vector<Tokens> tokens_;
};

/// The order matters where times are equal: what ends makes room, what is written can be served.
enum class What : std::uint8_t { End, Prefilled, Admit };

struct Event {
  std::int64_t time_ns;
  What what;
  std::size_t index;
  bool operator<(const Event& other) const {
    return std::tie(time_ns, what, index) < std::tie(other.time_ns, other.what, other.index);
  }
};

struct Pass {
  bool replies = true;  ///< Generated tokens are cached.
  bool in_time = true;  ///< false: each request is over before the next is received.
};

/// One worker of the engine.
class Worker {
 public:
  Worker(std::int64_t blocks, std::int64_t block_size, int slots)
      : manager_({.num_blocks = blocks,
                  .block_size = static_cast<int>(block_size),
                  .max_seqs = slots,
                  .partial_keys = false}) {
    for (int slot = slots; slot-- > 0;) {
      free_slots_.push_back(slot);
    }
  }

  std::int64_t admit(std::size_t index, std::span<const std::int32_t> prompt) {
    const int slot = free_slots_.back();
    const std::int64_t cached = manager_.admit(slot, prompt);
    free_slots_.pop_back();
    slots_[index] = slot;
    const auto past = static_cast<std::int32_t>(cached);
    const std::int32_t cu_seqlens_q[] = {0, static_cast<std::int32_t>(prompt.size()) - past};
    manager_.prepare_step(cu_seqlens_q, {&past, 1}, {&slot, 1});
    return cached;
  }

  void prefilled(std::size_t index, std::size_t length) {
    manager_.update_position(slots_.at(index), static_cast<std::int64_t>(length));
  }

  void end(std::size_t index, std::size_t prompt_length, std::span<const std::int32_t> history) {
    const int slot = slots_.at(index);
    const auto reply = static_cast<std::int32_t>(history.size() - prompt_length);
    std::int32_t offset = 0;
    manager_.reserve({&slot, 1}, {&reply, 1}, {&offset, 1});
    manager_.retire(slot, history);
    slots_.erase(index);
    free_slots_.push_back(slot);
  }

 private:
  BlockManager manager_;
  std::vector<int> free_slots_;
  std::map<std::size_t, int> slots_;  // By request.
};

class LogReplay {
 public:
  LogReplay(const EngineLog& log, std::int64_t blocks) : log_(log) {
    std::map<std::pair<std::uint64_t, std::int64_t>, std::size_t> numbers;
    std::vector<std::int64_t> all_blocks;
    for (const EngineRequest& request : log.requests) {
      const auto [place, is_new] =
          numbers.emplace(std::pair{request.worker_id, request.worker_rank}, numbers.size());
      if (is_new) {
        all_blocks.push_back(0);
        requests_.push_back(0);
      }
      worker_of_.push_back(place->second);
      all_blocks[place->second] +=
          ceil_div(request.input_tokens + request.output_tokens, log.block_size);
      ++requests_[place->second];
    }
    for (const std::int64_t count : all_blocks) {
      blocks_.push_back(blocks > 0 ? blocks : count);
    }
  }

  /// What each request was served.
  std::vector<std::int64_t> run(const Histories& histories, const Pass& pass) const {
    std::vector<std::unique_ptr<Worker>> workers;
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      const std::int64_t slots = std::min(requests_[i], std::int64_t{1} << 24);
      workers.push_back(
          std::make_unique<Worker>(blocks_[i], log_.block_size, static_cast<int>(slots)));
    }
    std::vector<std::int64_t> cached(log_.requests.size(), 0);
    for (const Event& event : events(pass)) {
      const EngineRequest& request = log_.requests[event.index];
      const std::span<const std::int32_t> history = histories.of(event.index);
      const auto length = static_cast<std::size_t>(request.input_tokens);
      Worker& worker = *workers[worker_of_[event.index]];
      try {
        switch (event.what) {
          case What::Admit:
            cached[event.index] = worker.admit(event.index, history.first(length));
            break;
          case What::Prefilled:
            worker.prefilled(event.index, length);
            break;
          case What::End:
            worker.end(event.index, length, pass.replies ? history : history.first(length));
            break;
        }
      } catch (const Error& error) {
        if (error.code() != ErrorCode::ResourceExhausted) {
          throw;
        }
        throw Error(ErrorCode::InvalidArgument,
                    "blocks: " + std::to_string(blocks_[worker_of_[event.index]]) +
                        " are too few for what the log says was there at once (line " +
                        std::to_string(request.line) + ")");
      }
    }
    return cached;
  }

 private:
  std::vector<Event> events(const Pass& pass) const {
    std::vector<Event> events;
    for (std::size_t i = 0; i < log_.requests.size(); ++i) {
      const EngineRequest& request = log_.requests[i];
      if (pass.in_time) {
        events.push_back({request.admitted_ns, What::Admit, i});
        events.push_back({request.prefilled_ns, What::Prefilled, i});
        events.push_back({request.ended_ns, What::End, i});
      } else {
        const auto turn = static_cast<std::int64_t>(3 * i);
        events.push_back({turn, What::Admit, i});
        events.push_back({turn + 1, What::Prefilled, i});
        events.push_back({turn + 2, What::End, i});
      }
    }
    if (pass.in_time) {
      order_phases(events);
    }
    return events;
  }

  /// By time; of one request's events at one instant, admission comes first all the same.
  void order_phases(std::vector<Event>& events) const {
    for (std::size_t i = 0; i + 2 < events.size(); i += 3) {
      events[i + 1].time_ns = std::max(events[i + 1].time_ns, events[i].time_ns + 1);
      events[i + 2].time_ns = std::max(events[i + 2].time_ns, events[i + 1].time_ns + 1);
    }
    std::sort(events.begin(), events.end());
  }

  const EngineLog& log_;
  std::vector<std::size_t> worker_of_;
  std::vector<std::int64_t> requests_;  // Of each worker.
  std::vector<std::int64_t> blocks_;
};

/// Takes the record's word for where a prompt stops repeating the reply before it, where that would
/// explain it.
void explain_by_reply(const EngineLog& log,
                      std::size_t index,
                      LogPrediction& row,
                      std::vector<std::int64_t>& cut) {
  if (!row.previous || row.recorded >= row.predicted || row.recorded < row.prompts_only) {
    return;
  }
  const EngineRequest& before = log.requests[*row.previous];
  const std::int64_t whole = before.input_tokens / log.block_size * log.block_size;
  const bool same_worker = before.worker_id == log.requests[index].worker_id &&
                           before.worker_rank == log.requests[index].worker_rank;
  if (!same_worker || row.recorded < whole || row.recorded % log.block_size != 0) {
    return;
  }
  cut[*row.previous] = row.recorded;
  row.repeated_min = std::max<std::int64_t>(row.recorded - before.input_tokens, 0);
  row.repeated_max = row.recorded + log.block_size - 1 - before.input_tokens;
}

void judge(EngineLogPrediction& prediction, const std::vector<std::int64_t>& cut) {
  for (LogPrediction& row : prediction.requests) {
    prediction.recorded_tokens += row.recorded;
    prediction.predicted_tokens += row.predicted;
    if (row.predicted == row.recorded) {
      ++prediction.equal_requests;
    } else if (row.previous && cut[*row.previous] == row.recorded &&
               row.explained == row.recorded) {
      row.difference = LogDifference::ReplyRewritten;
      ++prediction.rewritten_requests;
    } else {
      row.difference = LogDifference::Unexplained;
      ++prediction.unexplained_requests;
    }
  }
}

}  // namespace

EngineLogPrediction predict_cached_tokens(const EngineLog& log, std::int64_t blocks) {
  const std::size_t count = log.requests.size();
  EngineLogPrediction prediction;
  prediction.requests.resize(count);
  std::vector<std::optional<std::size_t>> next(count);
  std::vector<std::int64_t> cut(count, kNoCut);
  for (std::size_t i = 0; i < count; ++i) {
    LogPrediction& row = prediction.requests[i];
    row.recorded = log.requests[i].cached_tokens;
    row.previous = find_previous(log, i);
    if (row.previous && !next[*row.previous]) {
      next[*row.previous] = i;
    }
    prediction.input_tokens += log.requests[i].input_tokens;
  }
  const LogReplay replay(log, blocks);
  const Histories repeated(log, next, cut);
  const auto predicted = replay.run(repeated, {});
  const auto prompts_only = replay.run(repeated, {.replies = false});
  const auto at_once = replay.run(repeated, {.replies = false, .in_time = false});
  for (std::size_t i = 0; i < count; ++i) {
    LogPrediction& row = prediction.requests[i];
    row.predicted = predicted[i];
    row.prompts_only = prompts_only[i];
    row.at_once = at_once[i];
    explain_by_reply(log, i, row, cut);
  }
  const auto explained = replay.run(Histories(log, next, cut), {});
  for (std::size_t i = 0; i < count; ++i) {
    prediction.requests[i].explained = explained[i];
  }
  judge(prediction, cut);
  return prediction;
}

}  // namespace octavo::sim
