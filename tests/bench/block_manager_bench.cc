// A prompt of 4,096 tokens through a full pool: admit, one step, commit, retire. Block 16; every
// new block evicts a parked one. Identity is decided by the tokens, hashing included.
//
// Arguments: blocks in the pool; 1 = the ids lie scattered in the pool.

#include <cstring>
#include <memory>
#include <numeric>

#include "prompt_workload.h"
#include <benchmark/benchmark.h>

namespace octavo::bench {
namespace {

constexpr int kSharedTokens = 3696;  // 231 blocks: 90.2 % of the prompt.

std::unique_ptr<BlockManager> full_pool(const benchmark::State& state) {
  BlockManagerConfig config;
  config.num_blocks = state.range(0);
  config.block_size = kBlockSize;
  config.max_seqs = 64;
  auto manager = std::make_unique<BlockManager>(config);
  if (state.range(1) != 0) {
    scatter_free_list(*manager);
  }
  fill_pool(*manager);
  return manager;
}

// Prompts are made outside the measured time, a batch at a time.
class PromptBatch {
 public:
  static constexpr std::size_t kPrompts = 64;

  template <class Fill>
  const std::vector<std::int32_t>& next(benchmark::State& state, Fill&& fill) {
    if (used_ == prompts_.size()) {
      state.PauseTiming();
      prompts_.resize(kPrompts);
      for (auto& prompt : prompts_) {
        prompt.resize(kPromptTokens);
        fill(prompt);
      }
      used_ = 0;
      state.ResumeTiming();
    }
    return prompts_[used_++];
  }

 private:
  std::vector<std::vector<std::int32_t>> prompts_;
  std::size_t used_ = 0;
};

void expect_served(benchmark::State& state, std::int64_t served, std::int64_t expected) {
  if (served != expected) {
    state.SkipWithError("an unexpected part of the prompt was served");
  }
}

void prompt_without_hit(benchmark::State& state) {
  auto manager = full_pool(state);
  std::uint64_t stream = std::uint64_t{1} << 40;
  PromptBatch batch;
  for (auto _ : state) {
    const auto& prompt = batch.next(state, [&](std::vector<std::int32_t>& tokens) {
      TokenStream(++stream).fill(tokens.data(), kPromptTokens);
    });
    expect_served(state, serve(*manager, 0, prompt), 0);
  }
}

// 90 % of the prompt is cached: always the same prefix (hot), or prefixes in turn that are spread
// over the pool (cold).
void prompt_with_hit(benchmark::State& state, bool cold) {
  auto manager = full_pool(state);
  const std::int64_t prefixes = cold ? std::max<std::int64_t>(1, state.range(0) / 320) : 1;
  std::vector<std::uint64_t> order(static_cast<std::size_t>(prefixes));
  std::iota(order.begin(), order.end(), std::uint64_t{1} << 50);
  TokenStream random(3);
  for (std::size_t i = order.size() - 1; i > 0; --i) {
    std::swap(order[i], order[random.next() % (i + 1)]);
  }

  std::uint64_t stream = std::uint64_t{1} << 40;
  std::size_t turn = 0;
  const auto fill = [&](std::vector<std::int32_t>& tokens) {
    TokenStream(order[turn]).fill(tokens.data(), kSharedTokens);
    turn = (turn + 1) % order.size();
    TokenStream(++stream).fill(tokens.data() + kSharedTokens, kPromptTokens - kSharedTokens);
  };
  std::vector<std::int32_t> prompt(kPromptTokens);
  for (std::int64_t i = 0; i < 2 * prefixes; ++i) {
    fill(prompt);
    serve(*manager, 0, prompt);
  }
  PromptBatch batch;
  for (auto _ : state) {
    expect_served(state, serve(*manager, 0, batch.next(state, fill)), kSharedTokens);
  }
}

void prompt_hot_prefix(benchmark::State& state) {
  prompt_with_hit(state, false);
}
void prompt_cold_prefixes(benchmark::State& state) {
  prompt_with_hit(state, true);
}

// The worst case for runs: every block of the shared prefix is a branch point.
void prompt_all_branches(benchmark::State& state) {
  auto manager = full_pool(state);
  std::vector<std::int32_t> prompt(kPromptTokens);
  std::uint64_t stream = std::uint64_t{1} << 40;
  const auto fill = [&](std::vector<std::int32_t>& tokens) {
    TokenStream(7).fill(tokens.data(), kSharedTokens);
    TokenStream(++stream).fill(tokens.data() + kSharedTokens, kPromptTokens - kSharedTokens);
  };
  for (int blocks = kSharedTokens / kBlockSize; blocks > 0; --blocks) {
    fill(prompt);
    const int shared = blocks * kBlockSize;
    TokenStream(++stream).fill(prompt.data() + shared, kBlockSize);
    prompt.resize(static_cast<std::size_t>(shared + kBlockSize));
    serve(*manager, 0, prompt);
    prompt.resize(kPromptTokens);
  }
  PromptBatch batch;
  std::int64_t iterations = 0;
  for (auto _ : state) {
    expect_served(state, serve(*manager, 0, batch.next(state, fill)), kSharedTokens);
    ++iterations;
  }
}

// What the memory alone costs: the tokens of 256 blocks written to their rows, and read back.
void token_traffic_floor(benchmark::State& state) {
  const auto rows = static_cast<std::size_t>(state.range(0));
  std::vector<std::int32_t> store(rows * kBlockSize);
  std::vector<std::uint32_t> order(rows);
  std::iota(order.begin(), order.end(), 0U);
  TokenStream random(5);
  if (state.range(1) != 0) {
    for (std::size_t i = rows - 1; i > 0; --i) {
      std::swap(order[i], order[random.next() % (i + 1)]);
    }
  }
  std::vector<std::int32_t> prompt(kPromptTokens);
  TokenStream(1).fill(prompt.data(), kPromptTokens);
  std::size_t next = 0;
  for (auto _ : state) {
    for (int block = 0; block < kPromptTokens / kBlockSize; ++block) {
      std::int32_t* row = store.data() + std::size_t{order[next]} * kBlockSize;
      if (++next == rows) {
        next = 0;
      }
      std::memcpy(row, prompt.data() + block * kBlockSize, kBlockSize * sizeof(std::int32_t));
    }
    benchmark::ClobberMemory();
  }
}

void pools(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"blocks", "scattered"});
  for (const std::int64_t blocks : {4096, 65536, 1048576, 4194304}) {
    bench->Args({blocks, 1});
  }
  bench->Args({65536, 0});
  bench->Unit(benchmark::kMicrosecond);
}

BENCHMARK(token_traffic_floor)->Apply(pools);
BENCHMARK(prompt_without_hit)->Apply(pools);
BENCHMARK(prompt_hot_prefix)->Apply(pools);
BENCHMARK(prompt_cold_prefixes)->Apply(pools);
BENCHMARK(prompt_all_branches)->Apply(pools);

}  // namespace
}  // namespace octavo::bench
