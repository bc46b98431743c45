// What an eviction policy costs: block touches a CPU second through the block manager, a block of
// one token, one request live at a time, each one call of BlockManager::replay, as `octavo replay`
// makes it.
//
// `prompts` replays the whole blocks of a trace's prompts: a generated agent workload, or the file
// that OCTAVO_BENCH_TRACE names (a Mooncake trace, say); `prompts_by_calls` makes the calls of a
// serving session instead, from admit to retire, and so does `zipf_by_calls`. `zipf` has requests
// of a single block, of 100,000 with popularity 1 / rank, in a pool of 10,000; `zipf_floor` is what
// the memory of such a pool gives for the same requests. Arguments: policy (the number in
// octavo/eviction.h), pool in blocks.
//
// The prompts go through a new pool twice. The first time, off the clock, is the one that the hit
// rate is of; it touches the pool's memory. The second time is the one that counts.

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

constexpr int kTokensOfBlock = 512;  // What HDQ's classes are told: Mooncake's blocks.

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

using Prompt = std::span<const std::int32_t>;

// A session of one prompt; return the blocks that were served.
std::int64_t in_one(BlockManager& manager, Prompt prompt) {
  return manager.replay(0, prompt, std::ssize(prompt) - 1);
}
std::int64_t by_calls(BlockManager& manager, Prompt prompt) {
  const std::int32_t slot = 0;
  const std::int64_t shared = std::ssize(prompt) - 1;
  const auto past = static_cast<std::int32_t>(manager.admit(slot, prompt, shared));
  const std::int32_t step[] = {0, static_cast<std::int32_t>(std::ssize(prompt)) - past};
  manager.prepare_step(step, {&past, 1}, {&slot, 1});
  manager.update_position(slot, std::ssize(prompt));
  manager.retire(slot, prompt, shared);
  return past;
}

template <std::int64_t (*session)(BlockManager&, Prompt)>
std::int64_t serve(BlockManager& manager, const Prompts& prompts) {
  std::int64_t served = 0;
  std::size_t begin = 0;
  for (const std::size_t end : prompts.ends) {
    served += session(manager, {prompts.tokens.data() + begin, end - begin});
    begin = end;
  }
  return served;
}

double touches(const Prompts& prompts) {
  return static_cast<double>(prompts.tokens.size() - prompts.ends.size());
}

template <std::int64_t (*session)(BlockManager&, Prompt)>
void replay(benchmark::State& state, const Prompts& prompts) {
  BlockManagerConfig config;
  config.policy = static_cast<EvictionPolicy>(state.range(0));
  config.num_blocks = std::max(state.range(1), static_cast<std::int64_t>(prompts.longest));
  config.block_size = 1;
  config.policy_block_tokens = kTokensOfBlock;
  config.max_seqs = 1;
  config.partial_keys = false;
  std::int64_t served = 0;
  for (auto _ : state) {
    state.PauseTiming();
    auto manager = std::make_unique<BlockManager>(config);
    served = serve<session>(*manager, prompts);
    state.ResumeTiming();
    benchmark::DoNotOptimize(serve<session>(*manager, prompts));
    state.PauseTiming();
    manager.reset();
    state.ResumeTiming();
  }
  state.SetLabel(std::string(to_string(config.policy)));
  state.counters["touches"] =
      benchmark::Counter(touches(prompts), benchmark::Counter::kIsIterationInvariantRate);
  state.counters["hit_rate"] = static_cast<double>(served) / touches(prompts);
}

constexpr std::uint64_t kSpread = 0x9E3779B97F4A7C15ULL;

// A request reads an entry of an index and, where it leads, two lines of a record of the size of a
// run's, of which it writes one.
void zipf_floor(benchmark::State& state) {
  struct alignas(64) Record {
    std::uint64_t words[16];
  };
  const Prompts& prompts = zipf_prompts();
  const auto blocks = static_cast<std::uint64_t>(state.range(0));
  std::vector<Record> records(blocks);
  std::vector<std::uint32_t> index(4 * blocks);
  sim::Rng rng(11);
  for (std::uint32_t& entry : index) {
    entry = static_cast<std::uint32_t>(rng.below(blocks));
  }
  std::uint64_t sum = 0;
  for (auto _ : state) {
    for (std::size_t i = 0; i < prompts.tokens.size(); i += 2) {
      const std::uint64_t hash = static_cast<std::uint32_t>(prompts.tokens[i]) * kSpread;
      Record& record = records[index[(hash >> 32) % index.size()]];
      sum += record.words[8];
      ++record.words[0];
    }
  }
  benchmark::DoNotOptimize(sum);
  state.counters["touches"] =
      benchmark::Counter(touches(prompts), benchmark::Counter::kIsIterationInvariantRate);
}

void prompts(benchmark::State& state) {
  replay<in_one>(state, trace_prompts());
}
void prompts_by_calls(benchmark::State& state) {
  replay<by_calls>(state, trace_prompts());
}
void zipf(benchmark::State& state) {
  replay<in_one>(state, zipf_prompts());
}
void zipf_by_calls(benchmark::State& state) {
  replay<by_calls>(state, zipf_prompts());
}

void policies(benchmark::internal::Benchmark* each, std::initializer_list<std::int64_t> pools) {
  each->ArgNames({"policy", "blocks"})->Unit(benchmark::kMillisecond);
  for (int policy = 0; policy <= static_cast<int>(EvictionPolicy::Hdq); ++policy) {
    for (const std::int64_t blocks : pools) {
      each->Args({policy, blocks});
    }
  }
}

BENCHMARK(prompts)->Apply([](auto* each) { policies(each, {1953, 5859, 19531}); });
BENCHMARK(zipf)->Apply([](auto* each) { policies(each, {10'000}); });
BENCHMARK(prompts_by_calls)->Apply([](auto* each) {
  each->ArgNames({"policy", "blocks"})->Unit(benchmark::kMillisecond);
  each->Args({0, 1953})->Args({0, 5859})->Args({0, 19531});
});
BENCHMARK(zipf_by_calls)
    ->ArgNames({"policy", "blocks"})
    ->Args({0, 10'000})
    ->Unit(benchmark::kMillisecond);
BENCHMARK(zipf_floor)->ArgName("blocks")->Arg(10'000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace octavo::bench
