// What an eviction policy costs: block touches a CPU second through the block manager, a block of
// one token, one request live at a time, from admit to retire.
//
// `prompts` replays the whole blocks of a trace's prompts: a generated agent workload, or the file
// that OCTAVO_BENCH_TRACE names (a Mooncake trace, say). `zipf` has requests of a single block, of
// 100,000 with popularity 1 / rank, in a pool of 10,000. Arguments: policy (the number in
// octavo/eviction.h), pool in blocks.

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "octavo/block_manager.h"
#include "octavo/sim/rng.h"
#include "octavo/sim/trace_generate.h"
#include <benchmark/benchmark.h>

namespace octavo::bench {
namespace {

constexpr std::int32_t kPrivate =
    -1;  // The token behind a prompt, so that all of it can be served.

// Prompts of one token a block, one after the other.
struct Prompts {
  std::vector<std::int32_t> tokens;
  std::vector<std::size_t> ends;
  std::size_t longest = 0;

  void add(const std::vector<std::int32_t>& prompt) {
    tokens.insert(tokens.end(), prompt.begin(), prompt.end());
    tokens.push_back(kPrivate);
    ends.push_back(tokens.size());
    longest = std::max(longest, prompt.size() + 1);
  }
};

const Prompts& trace_prompts() {
  static const Prompts loaded = [] {
    const char* file = std::getenv("OCTAVO_BENCH_TRACE");
    sim::WorkloadOptions options;
    options.kind = sim::WorkloadKind::Agent;
    options.requests = 4000;
    const auto reader = file != nullptr ? sim::open_trace(file) : sim::make_workload(options);
    Prompts prompts;
    sim::TraceRequest request;
    std::vector<std::int32_t> blocks;
    while (reader->next(request)) {
      blocks.clear();
      const auto whole = static_cast<std::size_t>(request.input_tokens / reader->block_size());
      for (std::size_t i = 0; i < std::min(whole, request.block_ids.size()); ++i) {
        blocks.push_back(static_cast<std::int32_t>(request.block_ids[i]));
      }
      prompts.add(blocks);
    }
    return prompts;
  }();
  return loaded;
}

const Prompts& zipf_prompts() {
  static const Prompts drawn = [] {
    constexpr std::size_t kObjects = 100'000;
    constexpr std::size_t kRequests = 2'000'000;
    std::vector<std::uint64_t> sums;
    std::uint64_t sum = 0;
    for (std::size_t rank = 1; rank <= kObjects; ++rank) {
      sums.push_back(sum += (std::uint64_t{1} << 40) / rank);
    }
    sim::Rng rng(7);
    Prompts prompts;
    for (std::size_t i = 0; i < kRequests; ++i) {
      const auto rank = std::upper_bound(sums.begin(), sums.end(), rng.below(sum)) - sums.begin();
      prompts.add({static_cast<std::int32_t>(rank)});
    }
    return prompts;
  }();
  return drawn;
}

void replay(benchmark::State& state, const Prompts& prompts) {
  BlockManagerConfig config;
  config.policy = static_cast<EvictionPolicy>(state.range(0));
  config.num_blocks = std::max(state.range(1), static_cast<std::int64_t>(prompts.longest));
  config.block_size = 1;
  config.max_seqs = 1;
  config.partial_keys = false;
  std::int64_t served = 0;
  std::int64_t touched = 0;
  const std::int32_t slot = 0;
  for (auto _ : state) {
    state.PauseTiming();
    auto manager = std::make_unique<BlockManager>(config);
    state.ResumeTiming();
    std::size_t begin = 0;
    for (const std::size_t end : prompts.ends) {
      const std::span<const std::int32_t> prompt(prompts.tokens.data() + begin, end - begin);
      const std::int64_t shared = std::ssize(prompt) - 1;
      const auto past = static_cast<std::int32_t>(manager->admit(slot, prompt, shared));
      const std::int32_t step[] = {0, static_cast<std::int32_t>(std::ssize(prompt)) - past};
      manager->prepare_step(step, {&past, 1}, {&slot, 1});
      manager->update_position(slot, std::ssize(prompt));
      manager->retire(slot, prompt, shared);
      served += past;
      touched += shared;
      begin = end;
    }
    state.PauseTiming();
    manager.reset();
    state.ResumeTiming();
  }
  state.SetLabel(std::string(to_string(config.policy)));
  state.counters["touches"] =
      benchmark::Counter(static_cast<double>(touched), benchmark::Counter::kIsRate);
  state.counters["hit_rate"] = static_cast<double>(served) / static_cast<double>(touched);
}

void prompts(benchmark::State& state) {
  replay(state, trace_prompts());
}
void zipf(benchmark::State& state) {
  replay(state, zipf_prompts());
}

void policies(benchmark::internal::Benchmark* each, std::initializer_list<std::int64_t> pools) {
  each->ArgNames({"policy", "blocks"})->Unit(benchmark::kMillisecond);
  for (int policy = 0; policy < static_cast<int>(EvictionPolicy::Hdq); ++policy) {
    for (const std::int64_t blocks : pools) {
      each->Args({policy, blocks});
    }
  }
}

BENCHMARK(prompts)->Apply([](auto* each) { policies(each, {1953, 5859, 19531}); });
BENCHMARK(zipf)->Apply([](auto* each) { policies(each, {10'000}); });

}  // namespace
}  // namespace octavo::bench
