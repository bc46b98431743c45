// KVStorage: the memory of a cache, allocated as its plan lists it, and the views of its rows.
//
// Owns the tensors; the handles it gives out share them and stay valid after it is gone. Move-only;
// a moved-from storage has no rows.
//
// Threads: immutable after construction, readable from any thread.
#pragma once

#include <memory>
#include <vector>

#include "octavo/tensor.h"
#include "plan/kv_plan.h"

namespace octavo {

class KVStorage {
 public:
  /// Allocates plan.allocations in order, each by one call of the device, and uploads the static
  /// scales. A null device is the host. Memory already taken is returned when a later one fails.
  /// Raises what the device raises.
  KVStorage(KVPlan plan, std::shared_ptr<Device> device);

  KVStorage(KVStorage&&) noexcept = default;
  KVStorage& operator=(KVStorage&&) noexcept = default;
  KVStorage(const KVStorage&) = delete;
  KVStorage& operator=(const KVStorage&) = delete;

  const KVPlan& plan() const noexcept { return plan_; }

  /// Paged: [num_blocks, kv_heads, block_size, head_dim], a view of the pool; continuous:
  /// [max_seqs, kv_heads, capacity, head_dim]. Int4: UInt8 with the last dimension halved. Carries
  /// KVRowInfo. Raises InvalidArgument for a layer outside [0, num_layers) and for a State row.
  Tensor keys(int layer) const;
  Tensor values(int layer) const;

  /// [max_seqs, dim, width] of window `index`. Raises InvalidArgument for a layer outside
  /// [0, num_layers), a row that is no State row, and an index outside [0, windows of the row).
  Tensor conv_state(int layer, int index = 0) const;

  /// [max_seqs, heads, k_dim, v_dim]. Raises InvalidArgument for a layer outside [0, num_layers), a
  /// row that is no State row, and a State row without a slab.
  Tensor recurrent_state(int layer) const;

  /// An allocation by its index, undefined for -1: `table(plan().tables.block_table)`.
  Tensor table(int allocation) const;

 private:
  Tensor view(const KVPlace& place) const;
  Tensor make_handle(const KVRowPlan& row, const KVHalfPlan& half) const;
  const KVRowPlan& checked_row(int layer, const char* call) const;
  const KVRowPlan& checked_state_row(int layer, const char* call) const;
  void check_attention_row(int layer, const char* call) const;

  KVPlan plan_;
  std::vector<Tensor> tensors_;  // Parallel to plan_.allocations.
  std::vector<Tensor> keys_;     // One a row; undefined for State rows.
  std::vector<Tensor> values_;
};

}  // namespace octavo
