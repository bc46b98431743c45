// A cache from its making to a prefix hit: one session is prefilled, decodes and retires; the next
// one, whose prompt begins with the first one's whole conversation, is served what is known of it.
//
// What a model would compute (queries, keys, values of one attention layer) is made up here from
// the token ids; everything else is what a server does.
#include <cmath>
#include <cstdint>
#include <iostream>
#include <vector>

#include "octavo/kv_cache.h"
#include "octavo/kv_ops.h"
#include "octavo/ref_cpu/cpu_device.h"

namespace {

using octavo::DType;
using octavo::KVCache;
using octavo::Tensor;
using Ids = std::vector<std::int32_t>;

constexpr int kHeads = 2;  // KV heads
constexpr int kGroup = 4;  // query heads a KV head
constexpr int kHeadDim = 64;

// [tokens, heads, head_dim]: a projection of the tokens, in place of a model's.
Tensor project(const Ids& tokens,
               int heads,
               float phase,
               const std::shared_ptr<octavo::Device>& on) {
  std::vector<float> values;
  for (const std::int32_t token : tokens) {
    for (int i = 0; i < heads * kHeadDim; ++i) {
      values.push_back(std::sin(phase + static_cast<float>(token) * 0.7F + static_cast<float>(i)));
    }
  }
  return Tensor::from_values<float>(
      DType::F32, {static_cast<std::int64_t>(tokens.size()), heads, kHeadDim}, values, on);
}

// One step of one sequence: its new tokens are appended and attend over all before them.
Tensor forward(KVCache& cache, int slot, const Ids& tokens) {
  const auto past = static_cast<std::int32_t>(cache.reserved_len(slot));
  const Ids cu_seqlens_q = {0, static_cast<std::int32_t>(tokens.size())};
  // [readme] step
  const KVCache::StepIndices step =
      cache.prepare_step(cu_seqlens_q, /*past_len=*/Ids{past}, /*slot_ids=*/Ids{slot});
  const auto& device = cache.keys(0).device();
  octavo::GroupQueryAttentionArgs args;
  args.query = project(tokens, kHeads * kGroup, 0.1F, device);
  args.key = project(tokens, kHeads, 0.2F, device);
  args.value = project(tokens, kHeads, 0.3F, device);
  args.key_cache = cache.keys(0);
  args.value_cache = cache.values(0);
  args.step.cu_seqlens_q = step.cu_seqlens_q;
  args.step.cu_seqlens_k = step.cu_seqlens_k;
  args.step.kvcache_start = step.kvcache_start;
  return octavo::group_query_attention_varlen(args);  // [tokens, q_heads, head_dim]
  // [readme] end
}

Tensor ids_of(const Ids& ids) {
  return Tensor::from_values<std::int32_t>(DType::Int32, {static_cast<std::int64_t>(ids.size())},
                                           ids);
}

}  // namespace

int main() {
  // [readme] session
  const octavo::KVCacheConfig config{
      .num_layers = 1,
      .max_seqs = 4,
      .max_tokens_per_seq = 1024,
      .kv_heads = kHeads,
      .head_dim = kHeadDim,
      .kv_dtype = DType::BF16,
      .k_quant = {.codec = octavo::KVCodec::Int8},
      .mode = octavo::KVCacheMode::Paged,
      .paged = octavo::PagedParams{.num_blocks = 128, .block_size = 16},
      .device = octavo::make_cpu_device(),
  };
  KVCache cache = KVCache::make(config, std::vector<octavo::KVLayerSpec>(1));

  // A session: its prompt in one step, then a token a step.
  Ids history;
  for (std::int32_t token = 0; token < 100; ++token) {
    history.push_back(token * 7 % 50);
  }
  cache.admit(/*batch_idx=*/0, ids_of(history));
  forward(cache, 0, history);
  for (std::int32_t token = 0; token < 20; ++token) {
    forward(cache, 0, {token});
    history.push_back(token);
  }
  cache.retire(0, ids_of(history));  // 120 tokens stay servable: 7 blocks and half of an eighth.

  // The next turn of the same conversation.
  Ids prompt = history;
  prompt.insert(prompt.end(), {3, 1, 4, 1, 5});
  const std::int64_t cached = cache.admit(1, ids_of(prompt));
  forward(cache, 1, Ids(prompt.begin() + cached, prompt.end()));
  std::cout << cached << " of " << prompt.size() << " tokens were in the cache\n";
  // [readme] end

  cache.evict_batch(1);
  return cached == 120 && cache.paged_free_blocks() == 128 ? 0 : 1;
}
