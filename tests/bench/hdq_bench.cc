// HDQ on whole traces through the production block manager: block touches a CPU second, from admit
// to retire, beside LRU on the same trace. One token stands for a block, so that the time is the
// manager's and the policy's and not that of comparing tokens.
//
// OCTAVO_BENCH_TRACE names the trace (Mooncake's blocks are of 512 tokens), else a generated chat
// workload is replayed. Arguments: 0 = LRU, 1 = HDQ; pool size in blocks.

#include <cstdlib>
#include <vector>

#include "octavo/sim/replay.h"
#include "octavo/sim/trace_generate.h"
#include <benchmark/benchmark.h>

namespace octavo::bench {
namespace {

class LoadedTrace final : public sim::TraceReader {
 public:
  explicit LoadedTrace(sim::TraceReader& source)
      : TraceReader(source.name(), source.format(), source.block_size()) {
    sim::TraceRequest request;
    while (source.next(request)) {
      touches_ += request.input_tokens / block_size();
      requests_.push_back(request);
    }
  }
  void rewind() { next_ = 0; }
  std::int64_t touches() const { return touches_; }

 private:
  bool read(sim::TraceRequest& request) override {
    if (next_ == requests_.size()) {
      return false;
    }
    request = requests_[next_++];
    return true;
  }

  std::vector<sim::TraceRequest> requests_;
  std::size_t next_ = 0;
  std::int64_t touches_ = 0;
};

LoadedTrace& trace() {
  static LoadedTrace loaded = [] {
    const char* file = std::getenv("OCTAVO_BENCH_TRACE");
    if (file != nullptr) {
      return LoadedTrace(*sim::open_trace(file));
    }
    sim::WorkloadOptions options;
    options.kind = sim::WorkloadKind::Chat;
    options.requests = 20000;
    return LoadedTrace(*sim::make_workload(options));
  }();
  return loaded;
}

void touch_blocks(benchmark::State& state) {
  sim::ReplayOptions options;
  options.block_size = trace().block_size();
  options.blocks = {state.range(1)};
  options.full_blocks_only = true;
  options.policies = {state.range(0) == 0 ? EvictionPolicy::Lru : EvictionPolicy::Hdq};
  sim::ReplayResult result;
  for (auto _ : state) {
    trace().rewind();
    result = sim::replay(trace(), options);
  }
  state.SetItemsProcessed(state.iterations() * trace().touches());
  state.counters["hit_rate"] = result.runs[0].hit_rate();
}

BENCHMARK(touch_blocks)
    ->ArgNames({"hdq", "blocks"})
    ->ArgsProduct({{0, 1}, {1953, 5859, 19531}})
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace octavo::bench
