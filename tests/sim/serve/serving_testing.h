// Helpers of the serving tests: traces in memory, plain costs, and what an observer was told.
#pragma once

#include <cstdint>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "octavo/sim/serve/serving.h"
#include "octavo/sim/trace.h"

namespace octavo::sim {

/// A trace in memory.
class Requests final : public TraceReader {
 public:
  Requests(std::int64_t block_size,
           std::vector<TraceRequest> requests,
           const TraceTraits& traits = {})
      : TraceReader("test", TraceFormat::Octavo, block_size, traits),
        requests_(std::move(requests)) {}
  const std::vector<TraceRequest>& all() const { return requests_; }

 private:
  bool read(TraceRequest& request) override {
    if (next_ == requests_.size()) {
      return false;
    }
    request = requests_[next_++];
    return true;
  }
  std::vector<TraceRequest> requests_;
  std::size_t next_ = 0;
};

/// A request with ids of its own, `first_id` on.
inline TraceRequest request_of(std::int64_t arrival_ns,
                               std::int64_t input_tokens,
                               std::int64_t output_tokens,
                               std::uint64_t first_id,
                               std::int64_t block_size = 16) {
  TraceRequest request;
  request.arrival_ns = arrival_ns;
  request.input_tokens = input_tokens;
  request.output_tokens = output_tokens;
  for (std::int64_t done = 0; done < input_tokens; done += block_size) {
    request.block_ids.push_back(first_id++);
  }
  return request;
}

/// A step takes `base_ns` and so much a token and a sequence.
class LinearCost final : public StepCost {
 public:
  LinearCost(std::int64_t base_ns, std::int64_t prefill_ns, std::int64_t decode_ns)
      : base_ns_(base_ns), prefill_ns_(prefill_ns), decode_ns_(decode_ns) {}
  std::int64_t step_time_ns(const StepShape& shape) const override {
    return base_ns_ + prefill_ns_ * shape.prefill_tokens + decode_ns_ * shape.decode_tokens;
  }
  std::span<const std::int64_t> spans() const noexcept override { return spans_; }
  void set_spans(std::vector<std::int64_t> spans) { spans_ = std::move(spans); }

 private:
  std::int64_t base_ns_;
  std::int64_t prefill_ns_;
  std::int64_t decode_ns_;
  std::vector<std::int64_t> spans_ = {0};
};

/// One line of text for everything that an observer can be told.
inline std::string line_of(const ServingStep& step) {
  std::ostringstream text;
  const StepShape& shape = step.shape;
  text << step.end_ns << ": step of replica " << step.replica << " from " << step.begin_ns
       << ", prefill " << shape.prefill_sequences << "/" << shape.prefill_tokens << ", decode "
       << shape.decode_sequences << "/" << shape.decode_tokens << ", waiting "
       << step.waiting_requests << ", running " << step.running_requests << ", live "
       << step.live_blocks << ", parked " << step.parked_blocks << ", free " << step.free_blocks;
  for (std::size_t i = 0; i < shape.read_tokens.size(); ++i) {
    text << ", span " << shape.read_tokens[i] << "/" << shape.attended_pairs[i];
  }
  return text.str();
}

inline std::string line_of(const ServedRequest& request) {
  std::ostringstream text;
  text << request.end_ns << ": end of " << request.request << " on " << request.replica << ", "
       << (request.outcome == RequestOutcome::Finished    ? "finished"
           : request.outcome == RequestOutcome::Cancelled ? "cancelled"
                                                          : "rejected")
       << ", arrived " << request.arrival_ns << ", scheduled " << request.scheduled_ns
       << ", first token " << request.first_token_ns << ", in " << request.input_tokens << ", out "
       << request.output_tokens << ", cached " << request.cached_tokens << " and "
       << request.later_cached_tokens << ", computed " << request.computed_tokens << ", recomputed "
       << request.recomputed_tokens << ", drafts " << request.draft_tokens << "-"
       << request.rejected_draft_tokens << ", preemptions " << request.preemptions;
  return text.str();
}

inline std::string arrival_line(std::int64_t request, int replica, std::int64_t now_ns) {
  return std::to_string(now_ns) + ": arrival of " + std::to_string(request) + " at " +
         std::to_string(replica);
}

inline std::string preempted_line(std::int64_t request, int replica, std::int64_t now_ns) {
  return std::to_string(now_ns) + ": preempted " + std::to_string(request) + " on " +
         std::to_string(replica);
}

/// Keeps everything.
class Log final : public ServingObserver {
 public:
  void on_arrival(std::int64_t request, int replica, std::int64_t now_ns) override {
    lines.push_back(arrival_line(request, replica, now_ns));
    arrivals[request] = {now_ns, replica};
  }
  void on_preempted(std::int64_t request, int replica, std::int64_t now_ns) override {
    lines.push_back(preempted_line(request, replica, now_ns));
    preempted.push_back(request);
  }
  void on_step(const ServingStep& step) override {
    lines.push_back(line_of(step));
    steps.push_back(step);
  }
  void on_request_end(const ServedRequest& request) override {
    lines.push_back(line_of(request));
    ends.push_back(request);
  }

  /// The end of a request; it must have ended.
  const ServedRequest& end_of(std::int64_t request) const {
    for (const ServedRequest& end : ends) {
      if (end.request == request) {
        return end;
      }
    }
    throw std::out_of_range("request " + std::to_string(request) + " has not ended");
  }

  std::vector<std::string> lines;
  std::map<std::int64_t, std::pair<std::int64_t, int>> arrivals;
  std::vector<std::int64_t> preempted;
  std::vector<ServingStep> steps;
  std::vector<ServedRequest> ends;
};

/// A small engine: blocks of 16 tokens, everything audited.
inline ServingConfig small_engine(std::int64_t num_blocks) {
  ServingConfig config;
  config.num_blocks = num_blocks;
  config.max_num_seqs = 8;
  config.max_num_batched_tokens = 64;
  config.audit_every = 1;
  return config;
}

struct Served {
  Log log;
  ServingResult result;
};

inline Served serve(std::vector<TraceRequest> requests,
                    const ServingConfig& config,
                    const StepCost& cost = LinearCost(1000, 10, 100),
                    const TraceTraits& traits = {}) {
  Requests trace(16, std::move(requests), traits);
  Served served;
  served.result = simulate(trace, config, cost, &served.log);
  return served;
}

}  // namespace octavo::sim
