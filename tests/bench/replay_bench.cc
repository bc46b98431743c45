// Whole traces through the block manager, every token hashed or compared: nanoseconds a prompt
// token, from admit to retire, one request live at a time, blocks of 16 tokens.
//
// The trace is a generated agent workload; OCTAVO_BENCH_TRACE names a file to replay instead.
// Arguments: pool size in tokens; 1 = every token, 0 = one pseudo-token a block where that
// suffices.

#include <cstdlib>
#include <memory>
#include <vector>

#include "octavo/sim/loaded_trace.h"
#include "octavo/sim/replay.h"
#include "octavo/sim/trace_generate.h"
#include <benchmark/benchmark.h>

namespace octavo::bench {
namespace {

using sim::LoadedTrace;

// In memory, so that reading it is nobody's time.
LoadedTrace& trace() {
  static LoadedTrace loaded = [] {
    const char* file = std::getenv("OCTAVO_BENCH_TRACE");
    if (file != nullptr) {
      return LoadedTrace(*sim::open_trace(file));
    }
    sim::WorkloadOptions options;
    options.kind = sim::WorkloadKind::Agent;
    options.requests = 4000;
    return LoadedTrace(*sim::make_workload(options));
  }();
  return loaded;
}

void replay_trace(benchmark::State& state) {
  sim::ReplayOptions options;
  options.block_size = 16;
  options.blocks = {state.range(0) / options.block_size};
  options.full_blocks_only = true;
  options.expand_tokens = state.range(1) != 0;
  sim::ReplayResult result;
  double seconds = 0;
  double tokens = 0;
  for (auto _ : state) {
    trace().rewind();
    result = sim::replay(trace(), options);
    state.SetIterationTime(result.runs[0].seconds);
    seconds += result.runs[0].seconds;
    tokens += static_cast<double>(result.runs[0].prompt_tokens);
  }
  state.counters["ns_per_token"] = seconds * 1e9 / tokens;
  state.counters["hit_rate"] = result.runs[0].hit_rate();
}

BENCHMARK(replay_trace)
    ->ArgNames({"pool_tokens", "expanded"})
    ->Args({1000000, 1})
    ->Args({3000000, 1})
    ->Args({10000000, 1})
    ->Args({3000000, 0})
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace octavo::bench
