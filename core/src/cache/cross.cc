// Cross-attention rows: written once by `fill`, read by steps of prepare_cross.

#include <algorithm>
#include <string>

#include "cache/errors.h"
#include "cache/kv_cache_impl.h"
#include "ops/cache_rows.h"

namespace octavo {

using cache::at;
using cache::refuse;
using cache::refuse_outside;

const KVRowPlan& KVCache::Impl::cross_row(const char* call, int layer) const {
  const std::size_t layers = plan().rows.size();
  if (layer < 0 || at(layer) >= layers) {
    refuse(ErrorCode::InvalidArgument, call,
           "layer " + std::to_string(layer) + " is outside [0, " + std::to_string(layers) + ")");
  }
  const KVRowPlan& row = plan().rows[at(layer)];
  if (row.kind != KVLayerKind::CrossAttentionKV) {
    refuse(ErrorCode::InvalidArgument, call,
           "layer " + std::to_string(layer) + " has kind " + std::string(to_string(row.kind)) +
               "; it must be a CrossAttentionKV row");
  }
  return row;
}

Tensor KVCache::Impl::cross_seq_lens(int layer) {
  const std::int64_t seqs = plan().max_seqs;
  const std::int64_t begin = cross_row("cross_seq_lens", layer).cross_index * seqs;
  on_device([&] {
    cross_lens_buffer_.write(begin, {cross_lens_.data() + begin, at(seqs)}, uploader_);
  });
  return cross_lens_buffer_.tensor().slice(0, begin, begin + seqs);
}

void KVCache::Impl::fill(int layer, int slot, const Tensor& k, const Tensor& v) {
  const KVRowPlan& row = cross_row("fill", layer);
  require_slot("fill", slot);
  require_healthy("fill", slot);
  OpCheck check("fill");
  const CacheRows rows = check_rows(check, storage_.keys(layer), storage_.values(layer));
  check.require_operand("k", k, {OpCheck::kAny, row.kv_heads, row.head_dim});
  const std::int64_t length = k.size(0);
  check.require_operand("v", v, {length, row.kv_heads, row.v_head_dim});
  if (length < 1 || length > row.capacity) {
    refuse_outside("fill", "t_enc", length, 1, row.capacity);
  }
  std::int32_t& held = cross_lens_[at(row.cross_index * plan().max_seqs + slot)];
  if (held != 0 && held != length) {
    refuse(ErrorCode::FailedPrecondition, "fill",
           "layer " + std::to_string(layer) + " of slot " + std::to_string(slot) + " holds " +
               std::to_string(held) + " positions and t_enc is " + std::to_string(length) +
               "; it must be the same until the slot is evicted");
  }
  try {
    on_device([&] {
      uploader_.device().store_cross({.keys = rows.keys,
                                      .values = rows.values,
                                      .key = step_operand(k),
                                      .value = step_operand(v),
                                      .kv_heads = row.kv_heads,
                                      .slot = slot,
                                      .tokens = length});
    });
  } catch (const Error& error) {
    // What was there may be half overwritten; a device without the kernel has done nothing.
    notes_[at(slot)].is_failed = held != 0 && error.code() == ErrorCode::DeviceError;
    throw;
  }
  held = static_cast<std::int32_t>(length);
}

KVCache::StepIndices KVCache::Impl::prepare_cross(int layer, Ids cu_seqlens_q, Ids slots) {
  constexpr const char* kCall = "prepare_cross";
  const KVRowPlan& row = cross_row(kCall, layer);
  const std::size_t batch = slots.size();
  if (cu_seqlens_q.size() != batch + 1) {
    refuse(ErrorCode::InvalidArgument, kCall,
           "cu_seqlens_q has " + std::to_string(cu_seqlens_q.size()) + " entries; " +
               std::to_string(batch) + " slots need " + std::to_string(batch + 1));
  }
  if (cu_seqlens_q[0] != 0) {
    refuse_outside(kCall, "cu_seqlens_q[0]", cu_seqlens_q[0], 0, 0);
  }
  if (++batch_ == 0) {  // After 2^32 batches the old marks are wiped.
    for (std::int64_t slot = 0; slot < plan().max_seqs; ++slot) {
      notes_[at(slot)].batch = 0;
    }
    batch_ = 1;
  }
  for (std::size_t i = 0; i < batch; ++i) {
    require_slot(kCall, slots[i]);
    require_healthy(kCall, slots[i]);
    if (notes_[at(slots[i])].batch == batch_) {
      refuse(ErrorCode::InvalidArgument, kCall,
             "slot " + std::to_string(slots[i]) + " is named twice in the batch");
    }
    notes_[at(slots[i])].batch = batch_;
    const std::int64_t count = std::int64_t{cu_seqlens_q[i + 1]} - cu_seqlens_q[i];
    if (count < 1) {
      refuse_outside(kCall, "query length of sequence " + std::to_string(i), count, 1,
                     kMaxTokensPerSeq);
    }
  }
  const std::int32_t* lens = cross_lens_.data() + row.cross_index * plan().max_seqs;
  for (std::size_t i = 0; i < batch; ++i) {
    staged_[i] = lens[slots[i]];
  }
  on_device([&] {
    cross_cu_seqlens_q_.write(0, cu_seqlens_q, uploader_);
    cross_cu_seqlens_k_.write(0, {staged_.data(), batch}, uploader_);
    cross_slot_ids_.write(0, slots, uploader_);
  });
  const auto count = static_cast<std::int64_t>(batch);
  const Tensor ids = cross_slot_ids_.head(count);
  return {.cu_seqlens_q = cross_cu_seqlens_q_.head(count + 1),
          .kvcache_start = ids,
          .cu_seqlens_k = cross_cu_seqlens_k_.head(count),
          .slot_ids = ids};
}

}  // namespace octavo
