// The public face: a cache that was moved from says so, everything else is Impl's.

#include "octavo/kv_cache.h"

#include <string>
#include <utility>

#include "cache/errors.h"
#include "cache/kv_cache_impl.h"

namespace octavo {

KVCache::KVCache(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
KVCache::~KVCache() = default;
KVCache::KVCache(KVCache&&) noexcept = default;
KVCache& KVCache::operator=(KVCache&&) noexcept = default;

KVCache::Impl& KVCache::whole(const char* call) const {
  if (impl_ == nullptr) {
    cache::refuse(ErrorCode::FailedPrecondition, call, "the cache was moved from");
  }
  return *impl_;
}

KVCache KVCache::make(const KVCacheConfig& config, std::span<const KVLayerSpec> layer_specs) {
  return KVCache(std::make_unique<Impl>(make_kv_plan(config, layer_specs), config));
}

KVCacheFootprint KVCache::footprint(const KVCacheConfig& config,
                                    std::span<const KVLayerSpec> layer_specs) {
  return octavo::footprint(config, layer_specs);
}

Tensor KVCache::keys(int layer) const {
  return whole("keys").storage().keys(layer);
}
Tensor KVCache::values(int layer) const {
  return whole("values").storage().values(layer);
}
Tensor KVCache::conv_state(int layer, int index) const {
  return whole("conv_state").storage().conv_state(layer, index);
}
Tensor KVCache::recurrent_state(int layer) const {
  return whole("recurrent_state").storage().recurrent_state(layer);
}
Tensor KVCache::seq_lens() const {
  return whole("seq_lens").seq_lens();
}
Tensor KVCache::cross_seq_lens(int layer) const {
  return whole("cross_seq_lens").cross_seq_lens(layer);
}
Tensor KVCache::paged_block_table() const {
  return whole("paged_block_table").block_table();
}
KVCacheMode KVCache::mode() const {
  return whole("mode").plan().mode;
}
int KVCache::num_layers() const {
  return static_cast<int>(whole("num_layers").plan().rows.size());
}
std::int64_t KVCache::paged_free_blocks() const {
  const BlockManager* manager = whole("paged_free_blocks").blocks();
  return manager == nullptr ? -1 : manager->free_blocks();
}
std::int64_t KVCache::paged_num_blocks() const {
  const BlockManager* manager = whole("paged_num_blocks").blocks();
  return manager == nullptr ? -1 : manager->num_blocks();
}
std::int64_t KVCache::paged_parked_blocks() const {
  const BlockManager* manager = whole("paged_parked_blocks").blocks();
  return manager == nullptr ? -1 : manager->parked_blocks();
}
std::int64_t KVCache::paged_quarantined_blocks() const {
  const BlockManager* manager = whole("paged_quarantined_blocks").blocks();
  return manager == nullptr ? -1 : manager->quarantined_blocks();
}
std::int64_t KVCache::reserved_len(int batch_idx) const {
  return whole("reserved_len").reserved_len("reserved_len", batch_idx);
}
std::int64_t KVCache::committed_len(int batch_idx) const {
  return whole("committed_len").committed_len("committed_len", batch_idx);
}

void KVCache::set_namespace(int batch_idx, std::uint64_t namespace_id) {
  whole("set_namespace").set_namespace(batch_idx, namespace_id);
}
std::int64_t KVCache::admit(int batch_idx, Tensor prompt_ids, std::int64_t addressable_len) {
  return whole("admit").admit(batch_idx, std::move(prompt_ids), addressable_len);
}
Tensor KVCache::reserve(Tensor slot_ids, std::span<const std::int32_t> n_new_per_seq) {
  return whole("reserve").reserve(std::move(slot_ids), n_new_per_seq);
}
KVCache::StepIndices KVCache::prepare_step(std::span<const std::int32_t> cu_seqlens_q,
                                           std::span<const std::int32_t> past_len,
                                           std::span<const std::int32_t> slot_ids) {
  return whole("prepare_step").prepare_step(cu_seqlens_q, past_len, slot_ids);
}
void KVCache::update_position(int batch_idx, std::int64_t new_pos) {
  whole("update_position").update_position(batch_idx, new_pos);
}
void KVCache::retire(int batch_idx,
                     Tensor full_token_ids,
                     std::int64_t addressable_len,
                     std::span<const std::int64_t> boundaries) {
  whole("retire").retire(batch_idx, std::move(full_token_ids), addressable_len, boundaries);
}
void KVCache::note_output(int batch_idx, std::int64_t output_tokens) {
  whole("note_output").note_output(batch_idx, output_tokens);
}
void KVCache::evict_batch(int batch_idx) {
  whole("evict_batch").evict(batch_idx);
}
void KVCache::abandon_batch(int batch_idx) {
  whole("abandon_batch").abandon(batch_idx);
}
std::int64_t KVCache::release_quarantined() {
  BlockManager* manager = whole("release_quarantined").blocks();
  return manager == nullptr ? 0 : manager->release_quarantined();
}
void KVCache::invalidate_namespace(std::uint64_t namespace_id) {
  whole("invalidate_namespace").invalidate_namespace(namespace_id);
}
void KVCache::reset() {
  whole("reset").reset();
}
void KVCache::set_retention(int batch_idx, int priority, std::int64_t ttl_ticks) {
  whole("set_retention").set_retention(batch_idx, priority, ttl_ticks);
}
void KVCache::advance_clock(std::int64_t now_ticks) {
  whole("advance_clock").advance_clock(now_ticks);
}
// The contract passes handles by value: a fill may be the last to hold them.
// NOLINTNEXTLINE(performance-unnecessary-value-param)
void KVCache::fill(int layer, int batch_idx, Tensor k, Tensor v) {
  whole("fill").fill(layer, batch_idx, k, v);
}
KVCache::StepIndices KVCache::prepare_cross(int layer,
                                            std::span<const std::int32_t> cu_seqlens_q,
                                            std::span<const std::int32_t> slot_ids) {
  return whole("prepare_cross").prepare_cross(layer, cu_seqlens_q, slot_ids);
}

CachedPrefix KVCache::cached_prefix(std::span<const std::int32_t> prompt,
                                    std::int64_t addressable_len,
                                    std::uint64_t namespace_id) const {
  return whole("cached_prefix").cached_prefix(prompt, addressable_len, namespace_id);
}
KVCacheCounters KVCache::counters() const {
  return whole("counters").counters();
}
BlockManagerStats KVCache::stats() const {
  const BlockManager* manager = whole("stats").blocks();
  return manager == nullptr ? BlockManagerStats{} : manager->stats();
}
void KVCache::audit() const {
  whole("audit").audit();
}
std::uint64_t KVCache::digest() const {
  return whole("digest").digest();
}

}  // namespace octavo
