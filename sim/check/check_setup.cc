// The rows and the make-up of a checked cache.

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "octavo/error.h"
#include "octavo/sim/check/check_log.h"

namespace octavo::sim {
namespace {

constexpr std::array<std::string_view, 7> kKinds{"paged", "window", "release", "continuous",
                                                 "ring",  "cross",  "state"};
constexpr std::array<std::pair<std::string_view, KVQuantSpec>, 6> kCodecs{{
    {"none", {}},
    {"int8", {.codec = KVCodec::Int8}},
    {"int4", {.codec = KVCodec::Int4}},
    {"e4m3", {.codec = KVCodec::E4M3}},
    {"e5m2", {.codec = KVCodec::E5M2}},
    {"static", {.codec = KVCodec::E4M3, .scale = KVScale::Static}},
}};
constexpr float kStaticScale = 0x1p-8F;  // The values are below 1, the codes reach 448.

std::string codec_name(const KVQuantSpec& quant) {
  for (const auto& [name, spec] : kCodecs) {
    if (spec == quant) {
      return std::string(name);
    }
  }
  throw Error(ErrorCode::InvalidArgument, "check: a codec that a log cannot name");
}

[[noreturn]] void refuse_row(std::string_view text) {
  throw Error(ErrorCode::InvalidArgument,
              "row '" + std::string(text) +
                  "' is none; expected paged, window, release, continuous, ring, cross or state, "
                  "then perhaps a colon and none, int8, int4, e4m3, e5m2 or static, two of them "
                  "with a slash between for keys and values");
}

KVQuantSpec parse_codec(std::string_view codec, std::string_view text) {
  for (const auto& [name, spec] : kCodecs) {
    if (name == codec) {
      return spec;
    }
  }
  refuse_row(text);
}

bool is_paged(CheckRowKind kind) {
  return kind == CheckRowKind::Paged || kind == CheckRowKind::Window ||
         kind == CheckRowKind::Release;
}

KVLayerSpec layer_spec(const CheckRow& row, int window) {
  KVLayerSpec spec;
  const auto scales = [](const KVQuantSpec& quant) {
    const bool is_static = quant.codec != KVCodec::None && quant.scale == KVScale::Static;
    return is_static ? std::vector<float>{kStaticScale} : std::vector<float>{};
  };
  switch (row.kind) {
    case CheckRowKind::State:
      return {.kind = KVLayerKind::State,
              .conv = {{8, 3}, {4, 1}},
              .recurrent = {2, 8, 8},
              .conv_dtype = DType::F32};
    case CheckRowKind::Cross:
      spec.kind = KVLayerKind::CrossAttentionKV;
      break;
    case CheckRowKind::Continuous:
    case CheckRowKind::Ring:
      spec.layout = Layout::Continuous;
      break;
    default:
      spec.layout = Layout::Paged;
  }
  const bool has_window = row.kind == CheckRowKind::Window || row.kind == CheckRowKind::Release ||
                          row.kind == CheckRowKind::Ring;
  spec.window = has_window ? window : 0;
  spec.k_quant = row.k_quant;
  spec.v_quant = row.v_quant;
  spec.k_scale = scales(row.k_quant);
  spec.v_scale = scales(row.v_quant);
  return spec;
}

}  // namespace

std::string to_string(const CheckRow& row) {
  std::string text(kKinds[static_cast<std::size_t>(row.kind)]);
  if (row.k_quant == row.v_quant) {
    return row.k_quant == KVQuantSpec{} ? text : text + ":" + codec_name(row.k_quant);
  }
  return text + ":" + codec_name(row.k_quant) + "/" + codec_name(row.v_quant);
}

CheckRow parse_check_row(std::string_view text) {
  CheckRow row;
  const std::size_t colon = text.find(':');
  const std::string_view kind = text.substr(0, colon);
  std::string_view codecs = colon == std::string_view::npos ? "none" : text.substr(colon + 1);
  const auto* known = std::find(kKinds.begin(), kKinds.end(), kind);
  if (known != kKinds.end()) {
    row.kind = static_cast<CheckRowKind>(known - kKinds.begin());
  } else if (colon == std::string_view::npos) {
    codecs = text;
  } else {
    refuse_row(text);
  }
  const std::size_t slash = codecs.find('/');
  row.k_quant = parse_codec(codecs.substr(0, slash), text);
  row.v_quant =
      slash == std::string_view::npos ? row.k_quant : parse_codec(codecs.substr(slash + 1), text);
  if (row.kind == CheckRowKind::State && (colon != std::string_view::npos)) {
    refuse_row(text);
  }
  return row;
}

bool CheckSetup::has(CheckRowKind kind) const {
  return std::any_of(rows.begin(), rows.end(),
                     [&](const CheckRow& row) { return row.kind == kind; });
}

bool CheckSetup::has_blocks() const {
  return std::any_of(rows.begin(), rows.end(),
                     [](const CheckRow& row) { return is_paged(row.kind); });
}

KVCacheConfig CheckSetup::config(std::shared_ptr<Device> device) const {
  KVCacheConfig config{.num_layers = static_cast<int>(rows.size()),
                       .max_seqs = slots,
                       .max_tokens_per_seq = max_tokens,
                       .max_step_tokens = max_step,
                       .kv_heads = kv_heads,
                       .head_dim = head_dim,
                       .kv_dtype = kv_dtype,
                       .mode = has_blocks() ? KVCacheMode::Paged : KVCacheMode::Continuous,
                       .device = std::move(device)};
  if (has_blocks()) {
    config.paged = PagedParams{.num_blocks = blocks,
                               .block_size = block_size,
                               .window = has(CheckRowKind::Release) ? window : 0};
  }
  return config;
}

std::vector<KVLayerSpec> CheckSetup::specs() const {
  std::vector<KVLayerSpec> specs;
  specs.reserve(rows.size());
  for (const CheckRow& row : rows) {
    specs.push_back(layer_spec(row, window));
  }
  return specs;
}

}  // namespace octavo::sim
