#include "octavo/sim/cache_layer.h"

namespace octavo::sim {

std::string_view to_string(CacheKind kind) noexcept {
  switch (kind) {
    case CacheKind::Attention:
      return "attention";
    case CacheKind::Chunked:
      return "chunked";
    case CacheKind::Latent:
      return "latent";
    case CacheKind::State:
      return "state";
    case CacheKind::Cross:
      return "cross";
    case CacheKind::None:
      break;
  }
  return "none";
}

std::int64_t CacheLayer::elements_per_token() const noexcept {
  switch (kind) {
    case CacheKind::Attention:
    case CacheKind::Chunked:
    case CacheKind::Cross:
      return kv_heads * (head_dim + (v_head_dim > 0 ? v_head_dim : head_dim));
    case CacheKind::Latent:
      return head_dim;
    case CacheKind::State:
    case CacheKind::None:
      break;
  }
  return 0;
}

}  // namespace octavo::sim
