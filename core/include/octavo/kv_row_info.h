// KVRowInfo: what the handle of a cache row tells the operations beyond shape and dtype.
//
// Made once by the cache, immutable and shared by all copies of the handle.
#pragma once

#include <cstdint>

#include "octavo/kv_config.h"
#include "octavo/tensor.h"

namespace octavo {

struct KVRowInfo {
  KVLayerKind kind = KVLayerKind::AttentionKV;
  Layout layout = Layout::Continuous;  ///< Never Auto.
  std::int64_t capacity = 0;    ///< Positions a slot holds; position p lies at p mod capacity.
                                ///< Paged: block table cells * block_size.
  std::int64_t block_size = 0;  ///< Tokens a block; 0 for Continuous.
  std::int64_t window = 0;      ///< Tokens a query sees, its own included; 0: all.
  KVCodec codec = KVCodec::None;
  KVScale scale = KVScale::PerTokenHead;  ///< Meaningless without a codec.
  /// F32: PerTokenHead the row's shape without its last dimension, Static [kv_heads]; undefined
  /// without a codec.
  Tensor scales = {};
};

}  // namespace octavo
