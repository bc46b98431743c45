// The serving simulation: requests a second of CPU time, from the trace to the last event, on one
// thread.
//
// Requests of 1,000 prompt tokens and 200 output tokens that share nothing arrive as a Poisson
// process. A step costs 8 ms, 20 us a sequence that generates and 60 us a prompt token. Arguments:
// requests, requests a second, 1 = with speculation of 3 tokens that are accepted in 7 of 10 cases.
// `alive_max` says how many requests were there at once.

#include <cstdint>

#include "octavo/sim/rng.h"
#include "octavo/sim/serve/serving.h"
#include <benchmark/benchmark.h>

namespace octavo::bench {
namespace {

constexpr std::int64_t kInputTokens = 1000;
constexpr std::int64_t kOutputTokens = 200;
constexpr std::int64_t kTraceBlock = 512;

class PoissonTrace final : public sim::TraceReader {
 public:
  PoissonTrace(std::int64_t requests, std::int64_t per_second)
      : TraceReader("poisson", sim::TraceFormat::Octavo, kTraceBlock),
        left_(requests),
        mean_gap_ns_(1'000'000'000 / per_second) {}

 private:
  bool read(sim::TraceRequest& request) override {
    if (left_-- == 0) {
      return false;
    }
    now_ns_ += rng_.exponential(mean_gap_ns_);
    request.arrival_ns = now_ns_;
    request.input_tokens = kInputTokens;
    request.output_tokens = kOutputTokens;
    request.block_ids.clear();
    for (std::int64_t done = 0; done < kInputTokens; done += kTraceBlock) {
      request.block_ids.push_back(next_id_++);
    }
    return true;
  }

  sim::Rng rng_{1};
  std::int64_t left_;
  std::int64_t mean_gap_ns_;
  std::int64_t now_ns_ = 0;
  std::uint64_t next_id_ = 0;
};

class LinearCost final : public sim::StepCost {
 public:
  std::int64_t step_time_ns(const sim::StepShape& shape) const override {
    return 8'000'000 + 20'000 * shape.decode_sequences + 60'000 * shape.prefill_tokens;
  }
  std::span<const std::int64_t> spans() const noexcept override { return kSpans; }

 private:
  static constexpr std::int64_t kSpans[] = {0, 4096};
};

void simulate_poisson(benchmark::State& state) {
  sim::ServingConfig config;
  config.num_blocks = 65536;
  config.draft_tokens = state.range(2) != 0 ? 3 : 0;
  config.accept_millionths = 700'000;
  sim::ServingResult result;
  for (auto _ : state) {
    PoissonTrace trace(state.range(0), state.range(1));
    result = sim::simulate(trace, config, LinearCost());
    benchmark::DoNotOptimize(result.digest);
  }
  const auto requests = static_cast<double>(state.range(0) * state.iterations());
  state.counters["requests/s"] = benchmark::Counter(requests, benchmark::Counter::kIsRate);
  state.counters["steps"] = static_cast<double>(result.counters.steps);
  state.counters["alive_max"] = static_cast<double>(result.requests_alive_max);
  state.counters["mean_batch"] = static_cast<double>(result.counters.finished * kOutputTokens) /
                                 static_cast<double>(result.counters.steps);
}

BENCHMARK(simulate_poisson)
    ->ArgNames({"requests", "per_second", "speculation"})
    ->Args({1'000'000, 4, 0})
    ->Args({1'000'000, 8, 0})
    ->Args({100'000, 8, 1})
    ->Iterations(1)
    ->Unit(benchmark::kSecond);

}  // namespace
}  // namespace octavo::bench
