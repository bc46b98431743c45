// Cache studies by block touches a CPU second: a plain LRU replay with a pseudo-token a block, the
// curve of all sizes, a sampled one, and Belady's bound.
//
// The trace is a generated agent workload at its own block size; OCTAVO_BENCH_TRACE names a file
// instead. `touches` are the whole blocks of all prompts.

#include <cstdlib>
#include <memory>

#include "octavo/sim/belady.h"
#include "octavo/sim/loaded_trace.h"
#include "octavo/sim/mrc.h"
#include "octavo/sim/replay.h"
#include "octavo/sim/trace_generate.h"
#include <benchmark/benchmark.h>

namespace octavo::bench {
namespace {

sim::LoadedTrace& trace() {
  static sim::LoadedTrace loaded = [] {
    const char* file = std::getenv("OCTAVO_BENCH_TRACE");
    if (file != nullptr) {
      return sim::LoadedTrace(*sim::open_trace(file));
    }
    sim::WorkloadOptions options;
    options.kind = sim::WorkloadKind::Agent;
    options.requests = 4000;
    return sim::LoadedTrace(*sim::make_workload(options));
  }();
  loaded.rewind();
  return loaded;
}

void count_touches(benchmark::State& state) {
  double touches = 0;
  for (const sim::TraceRequest& request : trace().requests()) {
    touches += static_cast<double>(request.input_tokens / trace().block_size());
  }
  state.counters["touches_per_s"] =
      benchmark::Counter(touches, benchmark::Counter::kIsIterationInvariantRate);
}

void lru_replay(benchmark::State& state) {
  sim::ReplayOptions options;
  options.block_size = trace().block_size();
  options.blocks = {state.range(0) / options.block_size};
  options.full_blocks_only = true;
  for (auto _ : state) {
    benchmark::DoNotOptimize(sim::replay(trace(), options));
  }
  count_touches(state);
}

void exact_curve(benchmark::State& state) {
  for (auto _ : state) {
    benchmark::DoNotOptimize(sim::compute_mrc(trace(), {trace().block_size(), {}, 0}));
  }
  count_touches(state);
}

void sampled_curve(benchmark::State& state) {
  sim::SampledMrcOptions options;
  options.block_size = trace().block_size();
  options.rate = 1.0 / static_cast<double>(state.range(0));
  for (auto _ : state) {
    benchmark::DoNotOptimize(sim::compute_sampled_mrc(trace(), options));
  }
  count_touches(state);
}

// The trace prepared and one pool run.
void belady(benchmark::State& state) {
  const std::int64_t blocks = state.range(0) / trace().block_size();
  for (auto _ : state) {
    const sim::Belady belady(trace(), trace().block_size());
    benchmark::DoNotOptimize(belady.run(blocks, sim::BeladyBound::Dropping));
  }
  count_touches(state);
}

BENCHMARK(lru_replay)->Arg(1000000)->Arg(3000000)->Arg(10000000)->Unit(benchmark::kMillisecond);
BENCHMARK(exact_curve)->Unit(benchmark::kMillisecond);
BENCHMARK(sampled_curve)->Arg(10)->Arg(50)->Unit(benchmark::kMillisecond);
BENCHMARK(belady)->Arg(3000000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace octavo::bench
