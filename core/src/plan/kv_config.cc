#include "octavo/kv_config.h"

namespace octavo {

std::string_view to_string(KVCacheMode mode) {
  switch (mode) {
    case KVCacheMode::Continuous:
      return "Continuous";
    case KVCacheMode::Paged:
      return "Paged";
  }
  return "unknown";
}

std::string_view to_string(Layout layout) {
  switch (layout) {
    case Layout::Auto:
      return "Auto";
    case Layout::Continuous:
      return "Continuous";
    case Layout::Paged:
      return "Paged";
  }
  return "unknown";
}

std::string_view to_string(KVLayerKind kind) {
  switch (kind) {
    case KVLayerKind::AttentionKV:
      return "AttentionKV";
    case KVLayerKind::CrossAttentionKV:
      return "CrossAttentionKV";
    case KVLayerKind::State:
      return "State";
  }
  return "unknown";
}

std::string_view to_string(KVCodec codec) {
  switch (codec) {
    case KVCodec::None:
      return "None";
    case KVCodec::Int8:
      return "Int8";
    case KVCodec::Int4:
      return "Int4";
    case KVCodec::E4M3:
      return "E4M3";
    case KVCodec::E5M2:
      return "E5M2";
  }
  return "unknown";
}

std::string_view to_string(KVScale scale) {
  switch (scale) {
    case KVScale::PerTokenHead:
      return "PerTokenHead";
    case KVScale::Static:
      return "Static";
  }
  return "unknown";
}

}  // namespace octavo
