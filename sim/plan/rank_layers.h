// What tensor parallelism leaves of a layer on one rank.
#pragma once

#include "octavo/sim/kv_rows.h"

namespace octavo::sim {

/// The layer with the heads of one of `tp` ranks: K/V heads and states are divided, a head is
/// stored whole, a latent is stored by every rank. Raises InvalidArgument when tp does not divide.
CacheLayer rank_layer(const ModelConfig& model, const CacheLayer& layer, std::int64_t tp);

/// max(1, kv_heads / tp). Raises InvalidArgument: see kv_heads_per_rank.
std::int64_t heads_per_rank(const ModelConfig& model, std::int64_t kv_heads, std::int64_t tp);

}  // namespace octavo::sim
