#include "cache/storage_ops.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "cache/errors.h"

namespace octavo::cache {
namespace {

bool is_plain_host(const Device& device) {
  return dynamic_cast<const HostDevice*>(&device) != nullptr;
}

void copy_rows(const BlockArrayArg& array, const BlockCopy& copy) {
  auto* data = static_cast<std::byte*>(array.data);
  const std::size_t size_bytes = at(array.row_bytes * copy.rows);
  for (std::int64_t member = 0; member < array.members; ++member) {
    for (std::int64_t head = 0; head < array.heads; ++head) {
      std::byte* base = data + member * array.member_stride_bytes + head * array.head_stride_bytes;
      std::memcpy(base + copy.dst * array.block_stride_bytes,
                  base + copy.src * array.block_stride_bytes, size_bytes);
    }
  }
}

// [members, num_blocks, heads, block_size, ...]: data and scales alike.
BlockArrayArg block_array(const Tensor& tensor) {
  const std::int64_t element_bytes = bytes_per_element(tensor.dtype());
  BlockArrayArg array;
  array.data = tensor.address();
  array.members = tensor.size(0);
  array.heads = tensor.size(2);
  array.row_bytes = tensor.strides()[3] * element_bytes;
  array.member_stride_bytes = tensor.strides()[0] * element_bytes;
  array.block_stride_bytes = tensor.strides()[1] * element_bytes;
  array.head_stride_bytes = tensor.strides()[2] * element_bytes;
  return array;
}

SlotArrayArg slot_array(const Tensor& tensor) {
  const std::int64_t slot_bytes = tensor.strides()[0] * bytes_per_element(tensor.dtype());
  return {.data = tensor.address(), .slot_bytes = slot_bytes, .slot_stride_bytes = slot_bytes};
}

}  // namespace

StorageOps::StorageOps(const KVStorage& storage) {
  for (const KVPoolPlan& pool : storage.plan().pools) {
    for (const int allocation : {pool.allocation, pool.scale_allocation}) {
      if (allocation >= 0) {
        pools_.push_back(block_array(storage.table(allocation)));
      }
    }
  }
  for (const KVRowPlan& row : storage.plan().rows) {
    for (const int allocation : row.conv_allocations) {
      states_.push_back(slot_array(storage.table(allocation)));
    }
    if (row.recurrent_allocation >= 0) {
      states_.push_back(slot_array(storage.table(row.recurrent_allocation)));
    }
  }
}

void StorageOps::copy_blocks(std::span<const BlockCopy> copies, Uploader& uploader) const {
  if (copies.empty()) {
    return;
  }
  if (is_plain_host(uploader.device())) {
    for (const BlockCopy& copy : copies) {
      for (const BlockArrayArg& array : pools_) {
        copy_rows(array, copy);
      }
    }
  } else {
    uploader.device().copy_blocks({.arrays = pools_.data(),
                                   .num_arrays = static_cast<std::int64_t>(pools_.size()),
                                   .copies = copies.data(),
                                   .num_copies = static_cast<std::int64_t>(copies.size())});
  }
  uploader.counters().copied_blocks.add(static_cast<std::int64_t>(copies.size()));
}

void StorageOps::zero_states(std::span<const std::int32_t> slots, Uploader& uploader) const {
  if (slots.empty() || states_.empty()) {
    return;
  }
  if (is_plain_host(uploader.device())) {
    for (const SlotArrayArg& array : states_) {
      for (const std::int32_t slot : slots) {
        std::memset(static_cast<std::byte*>(array.data) + slot * array.slot_stride_bytes, 0,
                    at(array.slot_bytes));
      }
    }
  } else {
    uploader.device().zero_slots({.arrays = states_.data(),
                                  .num_arrays = static_cast<std::int64_t>(states_.size()),
                                  .slots = slots.data(),
                                  .num_slots = static_cast<std::int64_t>(slots.size())});
  }
  uploader.counters().zeroed_slots.add(static_cast<std::int64_t>(slots.size()));
}

void gather_rows(const Tensor& table,
                 const Tensor& slot_ids,
                 const Tensor& gathered,
                 const GatherRange& range,
                 Uploader& uploader) {
  const std::int64_t stride = table.size(1);
  const auto* source = static_cast<const std::int32_t*>(table.address());
  const auto* slots = static_cast<const std::int32_t*>(slot_ids.address());
  auto* target = static_cast<std::int32_t*>(gathered.address());
  if (target != nullptr) {  // A device without memory has no addresses to offset.
    slots += range.first;
    target += range.first * stride;
  }
  if (is_plain_host(uploader.device())) {
    for (std::int64_t i = 0; i < range.count; ++i) {
      std::copy_n(source + slots[i] * stride, range.columns, target + i * stride);
    }
  } else {
    uploader.device().gather_block_table({.table = source,
                                          .slot_ids = slots,
                                          .gathered = target,
                                          .table_stride = stride,
                                          .gathered_stride = stride,
                                          .columns = range.columns,
                                          .batch = range.count});
  }
  uploader.counters().table_gathers.add(1);
}

}  // namespace octavo::cache
