#include "plan/resolve_rows.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <string>

#include "base/checked.h"
#include "plan/refuse.h"
#include "plan/resolve_quant.h"

namespace octavo {
namespace {

void check_floating(DType dtype, const std::string& argument) {
  if (!is_floating(dtype)) {
    refuse(argument + " is " + std::string(to_string(dtype)) + "; it must be f32, f16 or bf16");
  }
}

void check_config(const KVCacheConfig& config, std::size_t num_specs) {
  require_at_least("config.num_layers", config.num_layers, 1);
  if (static_cast<std::size_t>(config.num_layers) != num_specs) {
    refuse("layer_specs has " + std::to_string(num_specs) +
           " entries; it must have config.num_layers, " + std::to_string(config.num_layers));
  }
  require_in_range("config.max_seqs", config.max_seqs, 1, kMaxSeqs);
  if (config.max_tokens_per_seq > kMaxTokensPerSeq) {
    refuse("config.max_tokens_per_seq is " + std::to_string(config.max_tokens_per_seq) +
           "; it must be <= " + std::to_string(kMaxTokensPerSeq));
  }
  require_in_range("config.max_step_tokens", config.max_step_tokens, 0, kMaxTokensPerSeq);
  require_at_least("config.kv_heads", config.kv_heads, 0);
  require_at_least("config.head_dim", config.head_dim, 0);
  check_floating(config.kv_dtype, "config.kv_dtype");
  check_quant(config.k_quant, "config.k_quant");
  check_quant(config.v_quant, "config.v_quant");
}

// What is refused of a row's numbers whatever its kind.
void check_signs(const KVLayerSpec& spec, std::size_t layer) {
  require_at_least(row_name(layer, "kv_heads"), spec.kv_heads, 0);
  require_at_least(row_name(layer, "head_dim"), spec.head_dim, 0);
  require_at_least(row_name(layer, "v_head_dim"), spec.v_head_dim, 0);
  require_at_least(row_name(layer, "window"), spec.window, 0);
}

Layout resolve_layout(const KVLayerSpec& spec, KVCacheMode mode, std::size_t layer) {
  if (spec.kind != KVLayerKind::AttentionKV) {
    if (spec.layout == Layout::Paged) {
      refuse(row_name(layer, "layout") + " is Paged; a " + std::string(to_string(spec.kind)) +
             " row is always Continuous");
    }
    return Layout::Continuous;
  }
  if (spec.layout == Layout::Auto) {
    return mode == KVCacheMode::Paged ? Layout::Paged : Layout::Continuous;
  }
  return spec.layout;
}

int inherit(int own, int from_config, std::size_t layer, const char* field) {
  if (own == 0 && from_config == 0) {
    refuse(row_name(layer, field) + " is 0 and so is config." + field +
           "; one of them must be >= 1");
  }
  return own != 0 ? own : from_config;
}

KVHalfPlan resolve_half(const KVQuantSpec& quant,
                        const std::vector<float>& scales,
                        DType kv_dtype,
                        std::int64_t kv_heads,
                        std::int64_t head_dim,
                        const std::string& prefix,
                        const char* head_dim_name) {
  check_quant(quant, prefix + "_quant");
  const DType dtype = codec_dtype(quant.codec, kv_dtype);
  if (dtype == DType::Int4 && head_dim % 2 != 0) {
    refuse(prefix + "_quant is Int4 with " + head_dim_name + " " + std::to_string(head_dim) +
           "; Int4 needs an even one, two elements share a byte");
  }
  KVHalfPlan half;
  half.quant = quant;
  half.dtype = storage_dtype(dtype);
  half.row_elements = storage_elements(dtype, head_dim);
  half.static_scales = resolve_static_scales(quant, scales, kv_heads, prefix + "_scale");
  return half;
}

// Positions a slot of a continuous row holds. A windowed row keeps window - 1 positions behind the
// first token of a step, and the step itself.
std::int64_t continuous_capacity(const KVCacheConfig& config,
                                 const KVLayerSpec& spec,
                                 std::size_t layer) {
  if (spec.window == 0) {
    if (config.max_tokens_per_seq <= 0) {
      refuse("config.max_tokens_per_seq is " + std::to_string(config.max_tokens_per_seq) +
             "; it must be >= 1, since " + row_name(layer) + " is a continuous row without window");
    }
    return config.max_tokens_per_seq;
  }
  if (config.max_step_tokens == 0) {
    refuse("config.max_step_tokens is 0; it must be >= 1, since " + row_name(layer) +
           " is a continuous row with a window");
  }
  const std::int64_t needed = spec.window - 1 + config.max_step_tokens;
  return config.max_tokens_per_seq > 0 ? std::min(needed, config.max_tokens_per_seq) : needed;
}

void resolve_attention(const KVCacheConfig& config,
                       const KVLayerSpec& spec,
                       std::size_t layer,
                       KVRowPlan& row) {
  if (!spec.conv.empty() || spec.recurrent != KVRecurrentSpec{}) {
    refuse(row_name(layer) + " has a conv or recurrent state and kind " +
           std::string(to_string(spec.kind)) + "; only State rows have one");
  }
  if (spec.kind == KVLayerKind::CrossAttentionKV && spec.window != 0) {
    refuse(row_name(layer, "window") + " is " + std::to_string(spec.window) +
           "; a CrossAttentionKV row needs 0, it attends over all of the encoder's output");
  }
  row.kv_heads = inherit(spec.kv_heads, config.kv_heads, layer, "kv_heads");
  row.head_dim = inherit(spec.head_dim, config.head_dim, layer, "head_dim");
  row.v_head_dim = spec.v_head_dim != 0 ? spec.v_head_dim : row.head_dim;
  row.window = spec.window;
  if (row.layout == Layout::Paged && row.v_head_dim != row.head_dim) {
    refuse(row_name(layer, "v_head_dim") + " is " + std::to_string(spec.v_head_dim) +
           "; a paged row needs its head_dim, " + std::to_string(row.head_dim) + ", or 0");
  }
  row.keys = resolve_half(spec.k_quant.value_or(config.k_quant), spec.k_scale, config.kv_dtype,
                          row.kv_heads, row.head_dim, row_name(layer, "k"), "head_dim");
  row.values = resolve_half(spec.v_quant.value_or(config.v_quant), spec.v_scale, config.kv_dtype,
                            row.kv_heads, row.v_head_dim, row_name(layer, "v"), "v_head_dim");
  if (row.layout == Layout::Continuous) {
    row.capacity = continuous_capacity(config, spec, layer);
  }
}

void check_no_attention_fields(const KVLayerSpec& spec, std::size_t layer) {
  if (spec.window != 0) {
    refuse(row_name(layer, "window") + " is " + std::to_string(spec.window) +
           "; a State row needs 0");
  }
  if (spec.k_quant.value_or(KVQuantSpec{}) != KVQuantSpec{} ||
      spec.v_quant.value_or(KVQuantSpec{}) != KVQuantSpec{}) {
    refuse(row_name(layer) + " is a State row with a k_quant or v_quant; states are not quantized");
  }
  if (!spec.k_scale.empty() || !spec.v_scale.empty()) {
    refuse(row_name(layer) + " is a State row with a k_scale or v_scale; it must have none");
  }
}

void resolve_state(const KVCacheConfig& config,
                   const KVLayerSpec& spec,
                   std::size_t layer,
                   KVRowPlan& row) {
  check_no_attention_fields(spec, layer);
  const bool has_slab = spec.recurrent != KVRecurrentSpec{};
  if (spec.conv.empty() && !has_slab) {
    refuse(row_name(layer) +
           " is a State row with an empty geometry; it needs a conv window or a recurrent slab");
  }
  for (std::size_t i = 0; i < spec.conv.size(); ++i) {
    const std::string name = row_name(layer, "conv") + "[" + std::to_string(i) + "]";
    require_at_least(name + ".dim", spec.conv[i].dim, 1);
    require_at_least(name + ".width", spec.conv[i].width, 1);
  }
  if (has_slab) {
    require_at_least(row_name(layer, "recurrent.heads"), spec.recurrent.heads, 1);
    require_at_least(row_name(layer, "recurrent.k_dim"), spec.recurrent.k_dim, 1);
    require_at_least(row_name(layer, "recurrent.v_dim"), spec.recurrent.v_dim, 1);
  }
  row.conv = spec.conv;
  row.recurrent = spec.recurrent;
  row.conv_dtype = spec.conv_dtype.value_or(config.kv_dtype);
  row.state_dtype = spec.state_dtype;
  check_floating(row.conv_dtype, row_name(layer, "conv_dtype"));
  check_floating(row.state_dtype, row_name(layer, "state_dtype"));
}

void check_release_window(const KVPlan& plan, int release_window) {
  for (std::size_t layer = 0; layer < plan.rows.size(); ++layer) {
    const KVRowPlan& row = plan.rows[layer];
    if (row.layout != Layout::Paged) {
      continue;
    }
    if (row.window == 0) {
      refuse("config.paged.window is " + std::to_string(release_window) + "; it must be 0, since " +
             row_name(layer) + " is a paged row without window");
    }
    if (row.window > release_window) {
      refuse("config.paged.window is " + std::to_string(release_window) + "; it must be >= " +
             std::to_string(row.window) + ", the window of " + row_name(layer));
    }
  }
}

void resolve_paged(const KVCacheConfig& config, KVPlan& plan) {
  if (!config.paged) {
    const auto paged = std::find_if(plan.rows.begin(), plan.rows.end(), [](const KVRowPlan& row) {
      return row.layout == Layout::Paged;
    });
    refuse("config.paged is not set; " +
           row_name(static_cast<std::size_t>(paged - plan.rows.begin())) +
           " is a paged row and needs pool geometry");
  }
  const PagedParams& params = *config.paged;
  require_in_range("config.paged.num_blocks", params.num_blocks, 1, kMaxBlocks);
  require_in_range("config.paged.block_size", params.block_size, 1, kMaxBlockSize);
  if (!std::has_single_bit(static_cast<unsigned>(params.block_size))) {
    refuse("config.paged.block_size is " + std::to_string(params.block_size) +
           "; it must be a power of two");
  }
  require_at_least("config.paged.max_blocks_per_seq", params.max_blocks_per_seq, 0);
  require_at_least("config.paged.window", params.window, 0);
  if (params.window > 0) {
    check_release_window(plan, params.window);
  }
  plan.num_blocks = params.num_blocks;
  plan.block_size = params.block_size;
  plan.release_window = params.window;
  if (params.max_blocks_per_seq > 0) {
    plan.max_blocks_per_seq = params.max_blocks_per_seq;
  } else if (plan.max_tokens_per_seq > 0) {
    plan.max_blocks_per_seq = ceil_div(plan.max_tokens_per_seq, plan.block_size);
  } else {
    plan.max_blocks_per_seq = plan.num_blocks;
  }
  for (KVRowPlan& row : plan.rows) {
    if (row.layout == Layout::Paged) {
      row.capacity = plan.max_blocks_per_seq * plan.block_size;
    }
  }
  plan.serves_prefixes = params.prefix_caching && params.window == 0 && !plan.has_slot_rows;
  plan.policy = params.policy;
}

}  // namespace

KVPlan resolve_rows(const KVCacheConfig& config, std::span<const KVLayerSpec> layer_specs) {
  check_config(config, layer_specs.size());
  KVPlan plan;
  plan.mode = config.mode;
  plan.max_seqs = config.max_seqs;
  plan.max_tokens_per_seq = std::max(config.max_tokens_per_seq, std::int64_t{0});
  plan.max_step_tokens = config.max_step_tokens;
  int cross_rows = 0;
  for (std::size_t layer = 0; layer < layer_specs.size(); ++layer) {
    const KVLayerSpec& spec = layer_specs[layer];
    check_signs(spec, layer);
    KVRowPlan row;
    row.kind = spec.kind;
    row.layout = resolve_layout(spec, config.mode, layer);
    if (spec.kind == KVLayerKind::State) {
      resolve_state(config, spec, layer, row);
    } else {
      resolve_attention(config, spec, layer, row);
    }
    if (spec.kind == KVLayerKind::CrossAttentionKV) {
      row.cross_index = cross_rows++;
    }
    plan.has_paged_rows = plan.has_paged_rows || row.layout == Layout::Paged;
    plan.has_slot_rows = plan.has_slot_rows || row.layout != Layout::Paged;
    plan.rows.push_back(std::move(row));
  }
  if (plan.has_paged_rows) {
    resolve_paged(config, plan);
  }
  return plan;
}

}  // namespace octavo
