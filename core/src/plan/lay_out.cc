#include "plan/lay_out.h"

#include <string>
#include <utility>

#include "base/checked.h"
#include "octavo/tensor.h"

namespace octavo {
namespace {

/// Appends allocations to a plan and hands out their indices.
class Layouter {
 public:
  explicit Layouter(KVPlan& plan) : plan_(plan) {}

  void run() {
    for (std::size_t layer = 0; layer < plan_.rows.size(); ++layer) {
      KVRowPlan& row = plan_.rows[layer];
      if (row.layout == Layout::Paged) {
        join_pool(row, row.keys);
        join_pool(row, row.values);
      }
    }
    for (std::size_t i = 0; i < plan_.pools.size(); ++i) {
      add_pool(plan_.pools[i], "pool " + std::to_string(i));
    }
    for (std::size_t layer = 0; layer < plan_.rows.size(); ++layer) {
      layer_ = static_cast<int>(layer);
      add_row(plan_.rows[layer]);
    }
    layer_ = -1;
    add_tables();
  }

 private:
  int add(
      StorageClass storage_class, std::string name, DType dtype, const Dims& shape, bool per_slot) {
    const std::int64_t size_bytes = tensor_bytes(dtype, shape, name);
    plan_.allocations.push_back(
        {storage_class, std::move(name), dtype, shape, size_bytes, layer_, per_slot});
    return static_cast<int>(plan_.allocations.size()) - 1;
  }

  static bool has_token_scales(const KVHalfPlan& half) {
    return half.quant.codec != KVCodec::None && half.quant.scale == KVScale::PerTokenHead;
  }

  void join_pool(const KVRowPlan& row, KVHalfPlan& half) {
    std::size_t i = 0;
    while (i < plan_.pools.size() &&
           (plan_.pools[i].kv_heads != row.kv_heads || plan_.pools[i].head_dim != row.head_dim ||
            plan_.pools[i].dtype != half.dtype)) {
      ++i;
    }
    if (i == plan_.pools.size()) {
      KVPoolPlan pool;
      pool.kv_heads = row.kv_heads;
      pool.head_dim = row.head_dim;
      pool.dtype = half.dtype;
      pool.row_elements = half.row_elements;
      plan_.pools.push_back(pool);
    }
    KVPoolPlan& pool = plan_.pools[i];
    half.pool = static_cast<int>(i);
    half.place.member = pool.members++;
    if (has_token_scales(half)) {
      half.scales.member = pool.scale_members++;
    }
  }

  void add_pool(KVPoolPlan& pool, const std::string& name) {
    pool.allocation =
        add(StorageClass::PagedPools, name, pool.dtype,
            {pool.members, plan_.num_blocks, pool.kv_heads, plan_.block_size, pool.row_elements},
            false);
    if (pool.scale_members > 0) {
      pool.scale_allocation =
          add(StorageClass::QuantScales, name + " scales", DType::F32,
              {pool.scale_members, plan_.num_blocks, pool.kv_heads, plan_.block_size}, false);
    }
  }

  void add_row(KVRowPlan& row) {
    const std::string name = "layer " + std::to_string(layer_);
    if (row.kind == KVLayerKind::State) {
      add_state(row, name);
      return;
    }
    add_half(row, row.keys, name + " key");
    add_half(row, row.values, name + " value");
  }

  void add_half(const KVRowPlan& row, KVHalfPlan& half, const std::string& name) {
    if (row.layout == Layout::Paged) {
      const KVPoolPlan& pool = plan_.pools[static_cast<std::size_t>(half.pool)];
      half.place.allocation = pool.allocation;
      if (has_token_scales(half)) {
        half.scales.allocation = pool.scale_allocation;
      }
    } else {
      const StorageClass storage_class = row.kind == KVLayerKind::CrossAttentionKV
                                             ? StorageClass::CrossKV
                                             : StorageClass::ContinuousKV;
      half.place.allocation =
          add(storage_class, name + "s", half.dtype,
              {plan_.max_seqs, row.kv_heads, row.capacity, half.row_elements}, true);
      if (has_token_scales(half)) {
        half.scales.allocation = add(StorageClass::QuantScales, name + " scales", DType::F32,
                                     {plan_.max_seqs, row.kv_heads, row.capacity}, true);
      }
    }
    if (!half.static_scales.empty()) {
      half.scales.allocation = add(StorageClass::QuantScales, name + " static scales", DType::F32,
                                   {row.kv_heads}, false);
    }
  }

  void add_state(KVRowPlan& row, const std::string& name) {
    for (std::size_t i = 0; i < row.conv.size(); ++i) {
      row.conv_allocations.push_back(
          add(StorageClass::Conv, name + " conv " + std::to_string(i), row.conv_dtype,
              {plan_.max_seqs, row.conv[i].dim, row.conv[i].width}, true));
    }
    if (row.recurrent.heads > 0) {
      row.recurrent_allocation = add(
          StorageClass::Recurrent, name + " recurrent", row.state_dtype,
          {plan_.max_seqs, row.recurrent.heads, row.recurrent.k_dim, row.recurrent.v_dim}, true);
    }
  }

  int add_table(const char* name, const Dims& shape) {
    return add(StorageClass::Tables, name, DType::Int32, shape, false);
  }

  void add_tables() {
    KVTablesPlan& tables = plan_.tables;
    const std::int64_t seqs = plan_.max_seqs;
    tables.seq_lens = add_table("seq_lens", {seqs});
    tables.cu_seqlens_q = add_table("cu_seqlens_q", {seqs + 1});
    tables.cu_seqlens_k = add_table("cu_seqlens_k", {seqs + 1});
    if (plan_.has_paged_rows) {
      const Dims cells = {seqs, plan_.max_blocks_per_seq};
      tables.block_table = add_table("block table", cells);
      tables.step_block_table = add_table("step block table", cells);
      tables.reserve_offsets = add_table("reserve offsets", {seqs});
    }
    if (plan_.has_slot_rows) {
      tables.slot_ids = add_table("slot_ids", {seqs});
    }
    std::int64_t cross_rows = 0;
    for (const KVRowPlan& row : plan_.rows) {
      cross_rows += row.kind == KVLayerKind::CrossAttentionKV ? 1 : 0;
    }
    if (cross_rows > 0) {
      tables.cross_lens = add_table("cross lengths", {cross_rows, seqs});
      tables.cross_cu_seqlens_q = add_table("cross cu_seqlens_q", {seqs + 1});
      tables.cross_cu_seqlens_k = add_table("cross cu_seqlens_k", {seqs + 1});
      tables.cross_slot_ids = add_table("cross slot_ids", {seqs});
    }
  }

  KVPlan& plan_;
  int layer_ = -1;
};

std::int64_t& field_of(KVCacheFootprint& footprint, StorageClass storage_class) {
  switch (storage_class) {
    case StorageClass::ContinuousKV:
      return footprint.continuous_kv;
    case StorageClass::PagedPools:
      return footprint.paged_pools;
    case StorageClass::QuantScales:
      return footprint.quant_scales;
    case StorageClass::CrossKV:
      return footprint.cross_kv;
    case StorageClass::Conv:
      return footprint.conv;
    case StorageClass::Recurrent:
      return footprint.recurrent;
    case StorageClass::Tables:
      return footprint.tables;
  }
  throw Error(ErrorCode::Internal, "field_of: no such storage class");
}

// One member's share of an allocation that members share.
std::int64_t member_bytes(const KVPlan& plan, const KVPlace& place) {
  if (place.allocation < 0 || place.member < 0) {
    return 0;
  }
  const KVAllocation& allocation = plan.allocations[static_cast<std::size_t>(place.allocation)];
  return allocation.size_bytes / allocation.shape[0];
}

}  // namespace

std::string_view to_string(StorageClass storage_class) {
  switch (storage_class) {
    case StorageClass::ContinuousKV:
      return "continuous_kv";
    case StorageClass::PagedPools:
      return "paged_pools";
    case StorageClass::QuantScales:
      return "quant_scales";
    case StorageClass::CrossKV:
      return "cross_kv";
    case StorageClass::Conv:
      return "conv";
    case StorageClass::Recurrent:
      return "recurrent";
    case StorageClass::Tables:
      return "tables";
  }
  return "unknown";
}

void lay_out(KVPlan& plan) {
  Layouter(plan).run();
}

void add_up_footprint(KVPlan& plan) {
  KVCacheFootprint footprint;
  footprint.per_layer.assign(plan.rows.size(), 0);
  std::int64_t total = 0;
  for (const KVAllocation& allocation : plan.allocations) {
    // Every other sum below is over a part of these, so that this one check covers them all.
    total = checked_add(total, allocation.size_bytes, "the footprint of all rows and tables");
    field_of(footprint, allocation.storage_class) += allocation.size_bytes;
    if (allocation.layer >= 0) {
      footprint.per_layer[static_cast<std::size_t>(allocation.layer)] += allocation.size_bytes;
    }
    if (allocation.per_slot) {
      footprint.bytes_per_slot += allocation.size_bytes / plan.max_seqs;
    }
  }
  for (std::size_t layer = 0; layer < plan.rows.size(); ++layer) {
    for (const KVHalfPlan* half : {&plan.rows[layer].keys, &plan.rows[layer].values}) {
      const std::int64_t bytes = member_bytes(plan, half->place) + member_bytes(plan, half->scales);
      footprint.per_layer[layer] += bytes;
      footprint.bytes_per_block += bytes == 0 ? 0 : bytes / plan.num_blocks;
    }
  }
  plan.footprint = std::move(footprint);
}

}  // namespace octavo
