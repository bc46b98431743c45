#include "tests/cache/support/cache_testing.h"

#include <numeric>

namespace octavo::testing {
namespace {

constexpr std::int32_t kStoryIds = 1'000'000;

Ids cumulative(const Ids& counts) {
  Ids sums{0};
  for (const std::int32_t count : counts) {
    sums.push_back(sums.back() + count);
  }
  return sums;
}

}  // namespace

Tensor ids(const Ids& values, std::shared_ptr<Device> device) {
  return Tensor::from_values<std::int32_t>(DType::Int32, {static_cast<std::int64_t>(values.size())},
                                           values, std::move(device));
}

Ids story(int which, std::int64_t count, std::int64_t from) {
  Ids ids(static_cast<std::size_t>(count));
  std::iota(ids.begin(), ids.end(), which * kStoryIds + static_cast<std::int32_t>(from));
  return ids;
}

Ids join(Ids head, const Ids& tail) {
  head.insert(head.end(), tail.begin(), tail.end());
  return head;
}

Ids host(const Tensor& tensor) {
  if (tensor.device()->host_accessible() && tensor.is_contiguous() && tensor.num_elements() > 0) {
    const std::int32_t* data = tensor.data<std::int32_t>();  // A look is no call of the device.
    return {data, data + tensor.num_elements()};
  }
  return tensor.to_vector<std::int32_t>();
}

Indices step(KVCache& cache, const Ids& slots, const Ids& counts) {
  Ids past;
  for (const std::int32_t slot : slots) {
    past.push_back(static_cast<std::int32_t>(cache.reserved_len(slot)));
  }
  return step_at(cache, slots, past, counts);
}

Indices step_at(KVCache& cache, const Ids& slots, const Ids& past, const Ids& counts) {
  return cache.prepare_step(cumulative(counts), past, slots);
}

std::int64_t prefill(KVCache& cache, int slot, const Ids& prompt) {
  const std::int64_t served = cache.admit(slot, ids(prompt));
  const auto length = static_cast<std::int64_t>(prompt.size());
  step(cache, {slot}, {static_cast<std::int32_t>(length - served)});
  cache.update_position(slot, length);
  return served;
}

std::int64_t cache_prompt(KVCache& cache, int slot, const Ids& prompt) {
  const std::int64_t served = prefill(cache, slot, prompt);
  cache.retire(slot, ids(prompt));
  return served;
}

Ids table_row(const KVCache& cache, int slot) {
  Ids row = host(cache.paged_block_table().select(0, slot));
  while (!row.empty() && row.back() == -1) {
    row.pop_back();
  }
  return row;
}

KVCacheConfig continuous_config(int layers, std::shared_ptr<Device> device) {
  return {.num_layers = layers,
          .max_seqs = 4,
          .max_tokens_per_seq = 32,
          .kv_heads = 2,
          .head_dim = 8,
          .kv_dtype = DType::F32,
          .mode = KVCacheMode::Continuous,
          .device = std::move(device)};
}

KVCacheConfig paged_config(int layers, std::shared_ptr<Device> device) {
  KVCacheConfig config = continuous_config(layers, std::move(device));
  config.mode = KVCacheMode::Paged;
  config.paged = PagedParams{.num_blocks = 16, .block_size = 4};
  return config;
}

KVCache make_cache(const KVCacheConfig& config, const std::vector<KVLayerSpec>& specs) {
  return KVCache::make(config, specs);
}

}  // namespace octavo::testing
