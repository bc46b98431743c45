// A hash over everything an observer is told, in order: two runs that agree in it told the same.
#pragma once

#include <bit>
#include <cstdint>

#include "octavo/sim/serve/serving_observer.h"

namespace octavo::sim {

class EventDigest final : public ServingObserver {
 public:
  std::uint64_t value() const noexcept { return hash_; }

  void on_arrival(std::int64_t request, int replica, std::int64_t now_ns) override {
    add(1, request, replica, now_ns);
  }
  void on_preempted(std::int64_t request, int replica, std::int64_t now_ns) override {
    add(2, request, replica, now_ns);
  }
  void on_step(const ServingStep& step) override {
    const StepShape& shape = step.shape;
    add(3, step.replica, step.begin_ns, step.end_ns, shape.prefill_sequences, shape.prefill_tokens,
        shape.decode_sequences, shape.decode_tokens, step.waiting_requests, step.running_requests,
        step.live_blocks, step.parked_blocks, step.free_blocks);
    for (std::size_t i = 0; i < shape.read_tokens.size(); ++i) {
      add(shape.read_tokens[i], shape.attended_pairs[i]);
    }
  }
  void on_request_end(const ServedRequest& request) override {
    add(4, request.request, request.session ? *request.session + 1 : 0, request.replica,
        static_cast<int>(request.outcome), request.arrival_ns, request.scheduled_ns,
        request.first_token_ns, request.end_ns, request.input_tokens, request.output_tokens,
        request.cached_tokens, request.later_cached_tokens, request.computed_tokens,
        request.recomputed_tokens, request.draft_tokens, request.rejected_draft_tokens,
        request.preemptions, request.priority, request.recorded_cached_tokens);
  }

 private:
  template <typename... Values>
  void add(Values... values) noexcept {
    (mix(static_cast<std::uint64_t>(values)), ...);
  }
  void mix(std::uint64_t value) noexcept {
    hash_ = std::rotl((hash_ ^ value) * 0x9E3779B97F4A7C15ULL, 29);
  }

  std::uint64_t hash_ = 0x6F637461766F2E73ULL;
};

}  // namespace octavo::sim
