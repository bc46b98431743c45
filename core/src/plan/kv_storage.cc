#include "plan/kv_storage.h"

#include <span>
#include <string>
#include <utility>

#include "octavo/error.h"
#include "octavo/kv_row_info.h"

namespace octavo {

KVStorage::KVStorage(KVPlan plan, std::shared_ptr<Device> device) : plan_(std::move(plan)) {
  if (device == nullptr) {
    device = host_device();
  }
  tensors_.reserve(plan_.allocations.size());
  for (const KVAllocation& allocation : plan_.allocations) {
    tensors_.push_back(Tensor::zeros(allocation.dtype, allocation.shape, device));
  }
  for (const KVRowPlan& row : plan_.rows) {
    if (row.kind == KVLayerKind::State) {
      keys_.emplace_back();
      values_.emplace_back();
      continue;
    }
    for (const KVHalfPlan* half : {&row.keys, &row.values}) {
      if (!half->static_scales.empty()) {
        const Tensor scales = view(half->scales);
        device->copy_from_host(scales.address(), half->static_scales.data(), scales.size_bytes());
      }
    }
    keys_.push_back(make_handle(row, row.keys));
    values_.push_back(make_handle(row, row.values));
  }
}

Tensor KVStorage::view(const KVPlace& place) const {
  if (place.allocation < 0) {
    return {};
  }
  const Tensor& tensor = tensors_[static_cast<std::size_t>(place.allocation)];
  return place.member < 0 ? tensor : tensor.select(0, place.member);
}

Tensor KVStorage::make_handle(const KVRowPlan& row, const KVHalfPlan& half) const {
  auto info = std::make_shared<KVRowInfo>();
  info->kind = row.kind;
  info->layout = row.layout;
  info->capacity = row.capacity;
  info->block_size = row.layout == Layout::Paged ? plan_.block_size : 0;
  info->window = row.window;
  info->codec = half.quant.codec;
  info->scale = half.quant.scale;
  info->scales = view(half.scales);
  return view(half.place).with_row_info(std::move(info));
}

const KVRowPlan& KVStorage::checked_row(int layer, const char* call) const {
  if (layer < 0 || static_cast<std::size_t>(layer) >= plan_.rows.size()) {
    throw Error(ErrorCode::InvalidArgument, std::string(call) + ": layer " + std::to_string(layer) +
                                                " is outside [0, " +
                                                std::to_string(plan_.rows.size()) + ")");
  }
  return plan_.rows[static_cast<std::size_t>(layer)];
}

const KVRowPlan& KVStorage::checked_state_row(int layer, const char* call) const {
  const KVRowPlan& row = checked_row(layer, call);
  if (row.kind != KVLayerKind::State) {
    throw Error(ErrorCode::InvalidArgument, std::string(call) + ": layer " + std::to_string(layer) +
                                                " has kind " + std::string(to_string(row.kind)) +
                                                "; it must be a State row");
  }
  return row;
}

void KVStorage::check_attention_row(int layer, const char* call) const {
  if (checked_row(layer, call).kind == KVLayerKind::State) {
    throw Error(ErrorCode::InvalidArgument,
                std::string(call) + ": layer " + std::to_string(layer) +
                    " is a State row; it must be an AttentionKV or CrossAttentionKV row");
  }
}

Tensor KVStorage::keys(int layer) const {
  check_attention_row(layer, "keys");
  return keys_[static_cast<std::size_t>(layer)];
}

Tensor KVStorage::values(int layer) const {
  check_attention_row(layer, "values");
  return values_[static_cast<std::size_t>(layer)];
}

Tensor KVStorage::conv_state(int layer, int index) const {
  const KVRowPlan& row = checked_state_row(layer, "conv_state");
  const std::size_t windows = row.conv_allocations.size();
  if (index < 0 || static_cast<std::size_t>(index) >= windows) {
    throw Error(ErrorCode::InvalidArgument, "conv_state: index " + std::to_string(index) +
                                                " is outside [0, " + std::to_string(windows) +
                                                ") of layer " + std::to_string(layer));
  }
  return table(row.conv_allocations[static_cast<std::size_t>(index)]);
}

Tensor KVStorage::recurrent_state(int layer) const {
  const KVRowPlan& row = checked_state_row(layer, "recurrent_state");
  if (row.recurrent_allocation < 0) {
    throw Error(ErrorCode::InvalidArgument, "recurrent_state: layer " + std::to_string(layer) +
                                                " is a State row that declared no recurrent slab");
  }
  return table(row.recurrent_allocation);
}

Tensor KVStorage::table(int allocation) const {
  return view({.allocation = allocation});
}

}  // namespace octavo
