// StoryModel: a model in miniature whose keys, values, queries and state inputs are functions of
// the whole token history.
//
// Token p of a sequence has a *chain*: a hash of everything up to it and of the sequence's seed.
// Whatever the token writes or asks is drawn from its chain, its layer and its head. So a row that
// was served to the wrong sequence, overwritten, copied badly or read when stale gives other
// outputs, and a sequence's outputs are the same however it was cut into steps.
//
// Pure functions; usable from any thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "octavo/kv_cache.h"

#include "tests/cache/support/cache_testing.h"

namespace octavo::testing {

using Chain = std::uint64_t;
using Bits = std::vector<std::uint32_t>;

/// The chains of `tokens`, behind `before`.
std::vector<Chain> chains(Chain before, std::span<const std::int32_t> tokens);

struct Stack {
  const char* name = "";
  KVCacheConfig config;
  std::vector<KVLayerSpec> specs;

  bool has_kind(KVLayerKind kind) const;
  bool has_rings() const;  ///< A continuous row with a window.
};

/// Query heads a KV head.
inline constexpr std::int64_t kGroup = 2;

/// One step's tokens, one chain each, and where they belong.
struct StoryStep {
  std::vector<Chain> chains;  ///< [T]
  Ids cu_seqlens_q;
  Ids slots;
  KVCache::StepIndices indices;
};

/// Performs all layers of a step. Returns what every token saw: all layers' outputs, as bits.
std::vector<Bits> run_layers(KVCache& cache, const Stack& stack, const StoryStep& step);

/// Fills all cross-attention layers of a slot with encoder output number `encoder`, whose length
/// differs from layer to layer.
void fill_layers(KVCache& cache, const Stack& stack, int slot, int encoder);
std::int64_t encoder_length(int encoder, int layer);

}  // namespace octavo::testing
