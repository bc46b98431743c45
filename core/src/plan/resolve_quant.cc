#include "plan/resolve_quant.h"

#include <cmath>

#include "plan/refuse.h"

namespace octavo {
namespace {

bool is_fp8(KVCodec codec) {
  return codec == KVCodec::E4M3 || codec == KVCodec::E5M2;
}

bool is_static(const KVQuantSpec& quant) {
  return quant.codec != KVCodec::None && quant.scale == KVScale::Static;
}

}  // namespace

DType codec_dtype(KVCodec codec, DType kv_dtype) {
  switch (codec) {
    case KVCodec::None:
      return kv_dtype;
    case KVCodec::Int8:
      return DType::Int8;
    case KVCodec::Int4:
      return DType::Int4;
    case KVCodec::E4M3:
      return DType::E4M3;
    case KVCodec::E5M2:
      return DType::E5M2;
  }
  refuse("the codec " + std::to_string(static_cast<int>(codec)) + " is no KVCodec");
}

void check_quant(const KVQuantSpec& quant, const std::string& argument) {
  if (quant.scale == KVScale::Static && !is_fp8(quant.codec)) {
    refuse(argument + " has a Static scale with codec " + std::string(to_string(quant.codec)) +
           "; Static needs E4M3 or E5M2");
  }
}

std::vector<float> resolve_static_scales(const KVQuantSpec& quant,
                                         const std::vector<float>& scales,
                                         std::int64_t kv_heads,
                                         const std::string& argument) {
  const auto count = static_cast<std::int64_t>(scales.size());
  if (!is_static(quant)) {
    if (count != 0) {
      refuse(argument + " has " + std::to_string(count) + " values; it must be empty with codec " +
             std::string(to_string(quant.codec)) + " and no Static scale");
    }
    return {};
  }
  if (count != 1 && count != kv_heads) {
    refuse(argument + " has " + std::to_string(count) + " values; a Static scale needs 1 or " +
           std::to_string(kv_heads) + ", one a head");
  }
  for (std::size_t i = 0; i < scales.size(); ++i) {
    if (!std::isfinite(scales[i]) || !(scales[i] > 0.0F)) {
      refuse(argument + "[" + std::to_string(i) + "] is " + std::to_string(scales[i]) +
             "; a scale must be finite and > 0");
    }
  }
  if (count == 1) {
    return std::vector<float>(static_cast<std::size_t>(kv_heads), scales[0]);
  }
  return scales;
}

}  // namespace octavo
