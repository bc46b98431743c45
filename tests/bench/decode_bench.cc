// One decode step of 256 running sequences: commit what the last step wrote and bind blocks for the
// next token of each, host part only. Block 16, a full pool.

#include <memory>
#include <numeric>

#include "prompt_workload.h"
#include <benchmark/benchmark.h>

namespace octavo::bench {
namespace {

constexpr int kSlots = 256;

// How the sequences' lengths lie to each other modulo the block size.
enum Phase { kSpread, kTogether };

struct Batch {
  std::unique_ptr<BlockManager> manager;
  std::vector<std::int32_t> slots, past, cu_seqlens_q;
};

Batch running_batch(std::int64_t blocks, Phase phase) {
  BlockManagerConfig config;
  config.num_blocks = blocks;
  config.block_size = kBlockSize;
  config.max_seqs = kSlots;
  config.max_tokens_per_seq = 1 << 20;
  Batch batch;
  batch.manager = std::make_unique<BlockManager>(config);
  scatter_free_list(*batch.manager);
  fill_pool(*batch.manager);
  const int prompt_blocks = static_cast<int>(std::min<std::int64_t>(256, blocks / (2 * kSlots)));
  std::vector<std::int32_t> prompt;
  for (int slot = 0; slot < kSlots; ++slot) {
    prompt.resize(static_cast<std::size_t>(prompt_blocks * kBlockSize -
                                           (phase == kSpread ? slot % kBlockSize : 0)));
    TokenStream((std::uint64_t{1} << 45) + static_cast<std::uint64_t>(slot))
        .fill(prompt.data(), static_cast<int>(prompt.size()));
    const std::int32_t past = static_cast<std::int32_t>(batch.manager->admit(slot, prompt));
    const std::int32_t count[] = {0, static_cast<std::int32_t>(prompt.size()) - past};
    batch.manager->prepare_step(count, {&past, 1}, {&slot, 1});
    batch.slots.push_back(slot);
  }
  TokenStream random(1);
  for (std::size_t i = kSlots - 1; i > 0; --i) {
    std::swap(batch.slots[i], batch.slots[random.next() % (i + 1)]);
  }
  for (const std::int32_t slot : batch.slots) {
    batch.past.push_back(static_cast<std::int32_t>(batch.manager->reserved_len(slot)));
  }
  batch.cu_seqlens_q.resize(kSlots + 1);
  std::iota(batch.cu_seqlens_q.begin(), batch.cu_seqlens_q.end(), 0);
  return batch;
}

// One call does both: prepare_step commits `past_len`.
void decode_step(benchmark::State& state, Phase phase) {
  Batch batch = running_batch(state.range(0), phase);
  std::int64_t steps_left = batch.manager->free_blocks() / kSlots * kBlockSize;
  for (auto _ : state) {
    if (--steps_left < kBlockSize) {  // The pool is used up: start over, outside the clock.
      state.PauseTiming();
      batch = running_batch(state.range(0), phase);
      steps_left = batch.manager->free_blocks() / kSlots * kBlockSize;
      state.ResumeTiming();
    }
    benchmark::DoNotOptimize(
        batch.manager->prepare_step(batch.cu_seqlens_q, batch.past, batch.slots));
    for (std::int32_t& past : batch.past) {
      ++past;
    }
  }
}

// The same with an update_position call for each sequence before the step.
void decode_step_and_update_calls(benchmark::State& state) {
  Batch batch = running_batch(state.range(0), kSpread);
  std::int64_t steps_left = batch.manager->free_blocks() / kSlots * kBlockSize;
  for (auto _ : state) {
    if (--steps_left < kBlockSize) {
      state.PauseTiming();
      batch = running_batch(state.range(0), kSpread);
      steps_left = batch.manager->free_blocks() / kSlots * kBlockSize;
      state.ResumeTiming();
    }
    for (int i = 0; i < kSlots; ++i) {
      batch.manager->update_position(batch.slots[static_cast<std::size_t>(i)],
                                     batch.past[static_cast<std::size_t>(i)]);
    }
    benchmark::DoNotOptimize(
        batch.manager->prepare_step(batch.cu_seqlens_q, batch.past, batch.slots));
    for (std::int32_t& past : batch.past) {
      ++past;
    }
  }
}

// Every sixteenth step crosses a block in all sequences at once: this is that step's mean share.
void decode_step_spread(benchmark::State& state) {
  decode_step(state, kSpread);
}
void decode_step_together(benchmark::State& state) {
  decode_step(state, kTogether);
}

void pools(benchmark::internal::Benchmark* bench) {
  bench->ArgName("blocks")->Arg(65536)->Arg(1048576)->Arg(4194304);
}

BENCHMARK(decode_step_spread)->Apply(pools);
BENCHMARK(decode_step_together)->Apply(pools);
BENCHMARK(decode_step_and_update_calls)->Apply(pools);

}  // namespace
}  // namespace octavo::bench
