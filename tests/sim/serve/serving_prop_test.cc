// Random engines under random little traces, event by event against the naive simulation.

#include <algorithm>

#include "naive_serving.h"
#include "serving_testing.h"
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace octavo::sim {
namespace {

constexpr std::int64_t kTraceBlock = 4;

std::int64_t draw(std::int64_t low, std::int64_t high) {
  // The whole range from the first case on: small cases alone would preempt nobody.
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange<std::int64_t>(low, high + 1));
}

bool coin() {
  return draw(0, 1) == 1;
}

// Stories: block b of story s has the id 1000 s + b; a tail's id tells where it ends. A request
// sends the beginning of a story, so that all of one story share prefixes and a longer one of the
// same session continues a shorter one.
std::vector<TraceRequest> random_trace(bool closed_loop) {
  std::vector<TraceRequest> trace;
  const std::int64_t count = draw(1, 14);
  std::int64_t time_ns = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    TraceRequest request;
    time_ns += draw(0, 3) * draw(0, 200);
    request.arrival_ns = coin() ? time_ns : draw(0, 1000);
    request.input_tokens = draw(1, 30);
    request.output_tokens = draw(0, 12);
    request.priority = draw(0, 2);
    const auto story = static_cast<std::uint64_t>(draw(0, 2));
    if (coin()) {
      request.session = story;
    }
    for (std::int64_t b = 0; b < request.input_tokens / kTraceBlock; ++b) {
      request.block_ids.push_back(1000 * story + static_cast<std::uint64_t>(b));
    }
    if (request.input_tokens % kTraceBlock != 0) {
      request.block_ids.push_back(1000 * story + 500 +
                                  static_cast<std::uint64_t>(request.input_tokens));
    }
    if (closed_loop && coin()) {
      request.delay_ns = draw(0, 300);
    }
    if (closed_loop && i > 0 && draw(0, 3) == 0) {
      request.wait_for.push_back(draw(0, i - 1));
    }
    trace.push_back(request);
  }
  return trace;
}

ServingConfig random_config(bool closed_loop) {
  ServingConfig config;
  config.replicas = static_cast<int>(draw(1, 3));
  config.router = static_cast<RouterKind>(draw(0, 3));
  config.prefix_weight = draw(0, 3);
  config.order = coin() ? QueueOrder::Fcfs : QueueOrder::Priority;
  config.max_num_seqs = static_cast<int>(draw(1, 5));
  config.max_num_batched_tokens = draw(1, 40);
  config.max_prefill_chunk = coin() ? 0 : draw(1, 9);
  config.max_model_len = coin() ? 0 : draw(20, 40);
  config.block_size = static_cast<int>(draw(1, 6));
  config.num_blocks = draw(2, 20) + 16 / config.block_size;
  config.prefix_caching = draw(0, 3) > 0;
  config.full_blocks_only = coin();
  config.cache_outputs = coin();
  config.draft_tokens = coin() ? 0 : static_cast<int>(draw(1, 4));
  config.accept_millionths = draw(0, 10) * kMillion / 10;
  config.cancel_millionths = coin() ? 0 : draw(0, 4) * kMillion / 4;
  config.cancel_mean_ns = draw(0, 400);
  config.timeout_ns = draw(0, 3) > 0 ? 0 : draw(1, 1500);
  config.closed_loop = closed_loop;
  if (closed_loop && draw(0, 3) == 0) {
    config.think_mean_ns = draw(0, 300);
  }
  config.warm_requests = draw(0, 3) > 0 ? 0 : draw(0, 4);
  config.warm_ns = draw(0, 5) > 0 ? 0 : draw(0, 300);
  config.seed = static_cast<std::uint64_t>(draw(0, 1000));
  config.audit_every = 1;
  return config;
}

// Costs that make instants coincide now and then.
LinearCost random_cost() {
  LinearCost cost(draw(1, 20), draw(0, 5), draw(0, 5));
  cost.set_spans({0, draw(1, 9), draw(10, 40)});
  return cost;
}

struct Coverage {
  std::int64_t runs = 0, preempted = 0, cancelled = 0, rejected = 0, cached = 0, rewound = 0,
               recomputed = 0, later_cached = 0;
};

RC_GTEST_PROP(ServingProperty, TellsWhatTheNaiveSimulationTells, ()) {
  static Coverage coverage;
  const bool closed_loop = coin();
  const std::vector<TraceRequest> trace = random_trace(closed_loop);
  const ServingConfig config = random_config(closed_loop);
  const LinearCost cost = random_cost();

  Requests reader(kTraceBlock, trace);
  Log log;
  const ServingResult result = simulate(reader, config, cost, &log);
  const std::vector<std::string> expected = NaiveServing(trace, kTraceBlock, config, cost).run();
  for (std::size_t i = 0; i < std::min(log.lines.size(), expected.size()); ++i) {
    RC_ASSERT(log.lines[i] == expected[i]);
  }
  RC_ASSERT(log.lines.size() == expected.size());

  // Conservation, from the outside.
  RC_ASSERT(result.counters.arrived + result.warm_requests == std::ssize(trace));
  RC_ASSERT(std::ssize(log.ends) == result.counters.arrived);
  RC_ASSERT(result.counters.late_arrivals == 0);
  for (const ServedRequest& end : log.ends) {
    const std::int64_t held = end.cached_tokens + end.later_cached_tokens + end.computed_tokens;
    if (end.outcome == RequestOutcome::Finished) {
      RC_ASSERT(held == end.input_tokens + std::max<std::int64_t>(end.output_tokens, 1) - 1);
    }
  }
  for (const ServingStep& step : log.steps) {
    RC_ASSERT(step.live_blocks + step.parked_blocks + step.free_blocks == config.num_blocks);
    RC_ASSERT(step.shape.prefill_tokens + step.shape.decode_tokens <=
              config.max_num_batched_tokens);
  }
  for (const ServingReplica& replica : result.replicas) {
    RC_ASSERT(replica.free_blocks == config.num_blocks);
  }

  ++coverage.runs;
  coverage.preempted += result.counters.preemptions > 0 ? 1 : 0;
  coverage.cancelled += result.counters.cancelled > 0 ? 1 : 0;
  coverage.rejected += result.counters.rejected > 0 ? 1 : 0;
  coverage.cached += result.counters.cached_tokens > 0 ? 1 : 0;
  coverage.rewound += result.counters.rejected_draft_tokens > 0 ? 1 : 0;
  coverage.recomputed += result.counters.recomputed_tokens > 0 ? 1 : 0;
  coverage.later_cached += result.counters.later_cached_tokens > 0 ? 1 : 0;
  if (coverage.runs == 100 || coverage.runs == 1000) {
    std::cout << coverage.runs << " runs: preempted " << coverage.preempted << ", cancelled "
              << coverage.cancelled << ", rejected " << coverage.rejected << ", cached "
              << coverage.cached << ", rewound " << coverage.rewound << ", recomputed "
              << coverage.recomputed << ", later cached " << coverage.later_cached << std::endl;
  }
}

}  // namespace
}  // namespace octavo::sim
