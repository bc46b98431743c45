// Random engines under random little traces, event by event against the naive simulation.
//
// By default the same cases run every time. OCTAVO_CAMPAIGN=20 runs twenty times as many with a new
// seed, which is printed on failure; RC_PARAMS="seed=... max_success=..." brings a run back.

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "naive_serving.h"
#include "serving_testing.h"
#include <gtest/gtest.h>
#include <rapidcheck.h>

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
  const std::int64_t count = draw(1, 24);
  std::int64_t time_ns = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    TraceRequest request;
    time_ns += draw(0, 3) * draw(0, 60);
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

// In how many cases something happened.
struct Coverage {
  int cases = 0;
  int preempted = 0;
  int cancelled = 0;
  int rejected = 0;
  int cached = 0;
  int rewound = 0;
  int recomputed = 0;
  int later_cached = 0;

  void add(const ServingCounters& counters) {
    cases += 1;
    preempted += counters.preemptions > 0 ? 1 : 0;
    cancelled += counters.cancelled > 0 ? 1 : 0;
    rejected += counters.rejected > 0 ? 1 : 0;
    cached += counters.cached_tokens > 0 ? 1 : 0;
    rewound += counters.rejected_draft_tokens > 0 ? 1 : 0;
    recomputed += counters.recomputed_tokens > 0 ? 1 : 0;
    later_cached += counters.later_cached_tokens > 0 ? 1 : 0;
  }
};

// What holds whatever was decided.
void check_conservation(const ServingConfig& config,
                        const ServingResult& result,
                        const Log& log,
                        std::int64_t requests) {
  RC_ASSERT(result.counters.arrived + result.warm_requests == requests);
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
}

void run_case(Coverage& coverage) {
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
  check_conservation(config, result, log, std::ssize(trace));
  coverage.add(result.counters);
}

TEST(ServingProperty, TellsWhatTheNaiveSimulationTells) {
  const char* campaign = std::getenv("OCTAVO_CAMPAIGN");
  const bool own_seed = std::getenv("RC_PARAMS") == nullptr;
  rc::detail::TestParams params = rc::detail::configuration().testParams;
  if (own_seed) {
    params.maxSuccess = 2000 * (campaign == nullptr ? 1 : std::max(1, std::atoi(campaign)));
    params.seed = campaign == nullptr ? 20 : params.seed;
  }
  Coverage coverage;
  const auto result =
      rc::detail::checkTestable([&] { run_case(coverage); }, rc::detail::TestMetadata{}, params);
  std::ostringstream text;
  rc::detail::printResultMessage(result, text);
  ASSERT_TRUE(result.template is<rc::detail::SuccessResult>()) << "seed " << params.seed << "\n"
                                                               << text.str();
  if (own_seed) {
    EXPECT_GT(coverage.preempted, coverage.cases / 20);
    EXPECT_GT(coverage.recomputed, coverage.cases / 20);
    EXPECT_GT(coverage.cancelled, coverage.cases / 10);
    EXPECT_GT(coverage.rejected, coverage.cases / 10);
    EXPECT_GT(coverage.cached, coverage.cases / 10);
    EXPECT_GT(coverage.rewound, coverage.cases / 10);
    EXPECT_GT(coverage.later_cached, 0);
  }
}

}  // namespace
}  // namespace octavo::sim
