// Parameters and bytes of a model, counted from its config as the families' modelling code builds
// them.
#include <algorithm>
#include <optional>

#include "checked.h"
#include "text_tower.h"

namespace octavo::sim {
namespace {

constexpr std::string_view kParameters = "the parameter count";
constexpr std::string_view kBytes = "the bytes of the weights";

/// How matrices of the decoder's layers are stored; embeddings, norms, routers and biases never
/// change.
enum class Storage { Plain, Fp8, Mxfp4Experts };

struct WeightFormat {
  std::int64_t plain_bytes = 2;  ///< Of an element that is not quantized.
  Storage storage = Storage::Plain;
  std::int64_t block_rows = 0;  ///< Fp8: one F32 scale a block; 0: one a matrix.
  std::int64_t block_columns = 0;
  std::string name;
  std::string unknown;
};

class Counter {
 public:
  explicit Counter(const WeightFormat& format) : format_(format) {}

  void plain(std::int64_t count, std::int64_t rows, std::int64_t columns = 1) {
    const std::int64_t elements = times(times(rows, columns), count);
    add(elements, checked_mul(elements, format_.plain_bytes, kBytes));
  }
  /// `count` linear layers of the decoder.
  void linear(std::int64_t count, std::int64_t rows, std::int64_t columns) {
    if (format_.storage != Storage::Fp8) {
      return plain(count, rows, columns);
    }
    std::int64_t scales = 1;
    if (format_.block_rows > 0) {
      scales = times(ceil_div(rows, format_.block_rows), ceil_div(columns, format_.block_columns));
    }
    const std::int64_t elements = times(times(rows, columns), count);
    const std::int64_t scale_bytes = checked_mul(times(scales, count), 4, kBytes);
    add(elements, checked_add(elements, scale_bytes, kBytes));
  }
  /// `count` expert matrices; MXFP4 packs 32 elements of a column into 16 bytes and a scale byte.
  void expert(std::int64_t count, std::int64_t rows, std::int64_t columns) {
    if (format_.storage != Storage::Mxfp4Experts) {
      return linear(count, rows, columns);
    }
    const std::int64_t elements = times(times(rows, columns), count);
    const std::int64_t groups = times(times(ceil_div(rows, 32), columns), count);
    add(elements, checked_mul(groups, 17, kBytes));
  }
  void finish(std::string name, std::vector<WeightPart>& parts) {
    if (part_.parameters > 0) {
      part_.name = std::move(name);
      parts.push_back(part_);
    }
    part_ = {};
  }

 private:
  static std::int64_t times(std::int64_t a, std::int64_t b) {
    return checked_mul(a, b, kParameters);
  }
  void add(std::int64_t parameters, std::int64_t bytes) {
    part_.parameters = checked_add(part_.parameters, parameters, kParameters);
    part_.bytes = checked_add(part_.bytes, bytes, kBytes);
  }

  const WeightFormat& format_;
  WeightPart part_;
};

std::optional<std::string> weight_dtype(const JsonFields& text, const JsonFields& outer) {
  for (const JsonFields* fields : {&text, &outer}) {
    for (const std::string_view name : {"torch_dtype", "dtype"}) {
      if (auto value = fields->optional_string(name)) {
        return value;
      }
    }
  }
  return std::nullopt;
}

void read_plain_dtype(const JsonFields& text,
                      const JsonFields& outer,
                      const Family& family,
                      WeightFormat& format) {
  std::optional<std::string> dtype = weight_dtype(text, outer);
  if (!dtype && family.bfloat16_by_default) {
    dtype = "bfloat16";
  }
  if (!dtype) {
    format.unknown = "the config names no torch_dtype";
    return;
  }
  format.name = *dtype;
  if (*dtype == "bfloat16" || *dtype == "float16") {
    format.plain_bytes = 2;
  } else if (*dtype == "float32") {
    format.plain_bytes = 4;
  } else {
    format.unknown = "torch_dtype " + *dtype + " is none of bfloat16, float16, float32";
  }
}

/// Whether leaving `module` unquantized is what the count assumes anyway.
bool is_plain_anyway(const std::string& module, Storage storage) {
  for (const std::string_view part : {"lm_head", "embed", "norm", "router", "visual"}) {
    if (module.find(part) != std::string::npos) {
      return true;
    }
  }
  if (storage == Storage::Mxfp4Experts) {
    return module.find("self_attn") != std::string::npos;
  }
  const std::string_view gate = ".gate";
  return module.size() >= gate.size() &&
         module.compare(module.size() - gate.size(), gate.size(), gate) == 0;
}

void read_quantization(const JsonFields& quantization, const Family& family, WeightFormat& format) {
  const std::string method = quantization.string("quant_method");
  if (method == "fp8") {
    format.storage = Storage::Fp8;
    format.name = "fp8 linear layers, the rest " + format.name;
    if (quantization.has("weight_block_size")) {
      const auto block = quantization.integers("weight_block_size", 1, kWidthMax);
      if (block.size() != 2) {
        quantization.fail("weight_block_size",
                          "has " + std::to_string(block.size()) + " entries, expected 2");
      }
      format.block_rows = block[0];
      format.block_columns = block[1];
    }
  } else if (method == "mxfp4" && family.mlp == MlpKind::GptOss) {
    format.storage = Storage::Mxfp4Experts;
    format.name = "mxfp4 experts, the rest " + format.name;
  } else {
    format.unknown =
        "quant_method " + method + " does not fix which layers are packed how in the config alone";
    return;
  }
  if (!quantization.has("modules_to_not_convert")) {
    return;
  }
  for (const std::string& module : quantization.strings("modules_to_not_convert")) {
    if (!is_plain_anyway(module, format.storage)) {
      format.unknown =
          "quantization leaves out " + module + ", whose size the reader does not single out";
      return;
    }
  }
}

WeightFormat read_format(const JsonFields& text, const JsonFields& outer, const Family& family) {
  WeightFormat format;
  read_plain_dtype(text, outer, family, format);
  const JsonFields& owner = text.has("quantization_config") ? text : outer;
  if (owner.has("quantization_config")) {
    read_quantization(owner.object("quantization_config"), family, format);
  }
  return format;
}

void count_attention(const TextTower& tower, Counter& counter) {
  const std::int64_t layers = tower.num_layers;
  const std::int64_t q_width = checked_mul(tower.heads, tower.head_dim, kParameters);
  const std::int64_t kv_width = checked_mul(tower.kv_heads, tower.head_dim, kParameters);
  counter.linear(layers, q_width, tower.hidden_size);
  counter.linear(checked_mul(layers, 2, kParameters), kv_width, tower.hidden_size);
  counter.linear(layers, tower.hidden_size, q_width);
  if (tower.family->bias == BiasRule::QkvAlways || tower.attention_bias) {
    counter.plain(layers, q_width + 2 * kv_width);
  }
  if (tower.family->bias == BiasRule::FromConfig && tower.attention_bias) {
    counter.plain(layers, tower.hidden_size);
  }
  if (tower.family->attention_sinks) {
    counter.plain(layers, tower.heads);
  }
}

void count_dense_mlp(const TextTower& tower, std::int64_t layers, Counter& counter) {
  const std::int64_t width = tower.intermediate_size;
  counter.linear(2 * layers, width, tower.hidden_size);
  counter.linear(layers, tower.hidden_size, width);
  if (tower.mlp_bias) {
    counter.plain(layers, 2 * width + tower.hidden_size);
  }
}

void count_experts(const TextTower& tower, std::int64_t layers, Counter& counter) {
  const std::int64_t all = checked_mul(layers, tower.experts, kParameters);
  const std::int64_t width = tower.expert_intermediate;
  // Rows are the inner dimension here: MXFP4 groups 32 of them.
  counter.expert(2 * all, tower.hidden_size, width);
  counter.expert(all, width, tower.hidden_size);
  if (tower.family->mlp == MlpKind::GptOss) {
    counter.plain(all, 2 * width + tower.hidden_size);
  }
}

void count_router(const TextTower& tower, std::int64_t layers, Counter& counter) {
  counter.plain(layers, tower.experts, tower.hidden_size);
  if (tower.family->mlp == MlpKind::GptOss) {
    counter.plain(layers, tower.experts);
  }
}

void count_shared_experts(const TextTower& tower, std::int64_t layers, Counter& counter) {
  if (tower.shared_intermediate == 0) {
    return;
  }
  counter.linear(2 * layers, tower.shared_intermediate, tower.hidden_size);
  counter.linear(layers, tower.hidden_size, tower.shared_intermediate);
  counter.plain(layers, tower.hidden_size);  // the sigmoid gate before it
}

/// The vision tower of Qwen3-VL: patch and position embeddings, pre-norm blocks, one merger after
/// the last block and one after each "deepstack" block. Never quantized.
void count_qwen3_vision(const JsonFields& vision, Counter& counter) {
  const std::int64_t depth = vision.integer("depth", 1, kLayersMax);
  const std::int64_t width = vision.integer("hidden_size", 1, kWidthMax);
  const std::int64_t inner = vision.integer("intermediate_size", 1, kWidthMax);
  const std::int64_t out = vision.integer("out_hidden_size", 1, kWidthMax);
  const std::int64_t positions = vision.integer("num_position_embeddings", 1, kPositionsMax);
  const std::int64_t channels = vision.integer("in_channels", 1, 1024);
  const std::int64_t patch = vision.integer("patch_size", 1, 4096);
  const std::int64_t frames = vision.integer("temporal_patch_size", 1, 1024);
  const std::int64_t merge = vision.integer("spatial_merge_size", 1, 64);
  const auto deepstack =
      static_cast<std::int64_t>(vision.integers("deepstack_visual_indexes", 0, depth - 1).size());
  counter.plain(1, channels * frames * patch * patch + 1, width);
  counter.plain(1, positions, width);
  counter.plain(4 * depth, width);             // two layer norms with bias
  counter.plain(depth, 3 * width, width + 1);  // q, k, v
  counter.plain(depth, width, width + 1);      // output projection
  counter.plain(depth, inner, width + 1);
  counter.plain(depth, width, inner + 1);
  const std::int64_t merged = checked_mul(width, merge * merge, kParameters);
  const std::int64_t mergers = 1 + deepstack;
  counter.plain(mergers, merged, merged + 1);
  counter.plain(mergers, out, merged + 1);
  counter.plain(2, width);               // the last merger norms before merging,
  counter.plain(2 * deepstack, merged);  // the others after
}

void count_decoder(const TextTower& tower, Counter& counter, std::vector<WeightPart>& parts) {
  const auto moe =
      static_cast<std::int64_t>(std::count(tower.moe_layers.begin(), tower.moe_layers.end(), true));
  const std::int64_t dense = tower.num_layers - moe;
  counter.plain(1, tower.vocab_size, tower.hidden_size);
  counter.finish(tower.tied ? "embedding (also the output head)" : "embedding", parts);
  count_attention(tower, counter);
  counter.finish("attention", parts);
  if (dense > 0) {
    count_dense_mlp(tower, dense, counter);
  }
  counter.finish("MLP", parts);
  if (moe > 0) {
    count_experts(tower, moe, counter);
  }
  counter.finish("experts", parts);
  if (moe > 0) {
    count_shared_experts(tower, moe, counter);
  }
  counter.finish("shared experts", parts);
  if (moe > 0) {
    count_router(tower, moe, counter);
  }
  counter.finish("routers", parts);
  counter.plain(tower.num_layers, tower.family->norms_per_layer, tower.hidden_size);
  if (tower.family->qk_norm) {
    counter.plain(2 * tower.num_layers, tower.head_dim);
  }
  counter.plain(1, tower.hidden_size);
  counter.finish("norms", parts);
  if (!tower.tied) {
    counter.plain(1, tower.vocab_size, tower.hidden_size);
  }
  counter.finish("output head", parts);
}

}  // namespace

std::int64_t ModelWeights::parameters() const {
  std::int64_t sum = 0;
  for (const WeightPart& part : parts) {
    sum = checked_add(sum, part.parameters, kParameters);
  }
  return sum;
}

std::int64_t ModelWeights::bytes() const {
  std::int64_t sum = 0;
  for (const WeightPart& part : parts) {
    sum = checked_add(sum, part.bytes, kBytes);
  }
  return sum;
}

ModelWeights count_weights(const JsonFields& text,
                           const JsonFields& outer,
                           const TextTower& tower,
                           const Wrapper* wrapper) {
  const WeightFormat format = read_format(text, outer, *tower.family);
  ModelWeights weights;
  weights.format = format.name;
  weights.unknown = format.unknown;
  Counter counter(format);
  count_decoder(tower, counter, weights.parts);
  if (wrapper != nullptr && outer.has("vision_config")) {
    if (wrapper->vision_counted) {
      count_qwen3_vision(outer.object("vision_config"), counter);
      counter.finish("vision tower", weights.parts);
    } else if (weights.unknown.empty()) {
      weights.unknown = "the vision tower of " + std::string(wrapper->model_type) +
                        " is not counted from the config";
    }
  }
  // Engines keep cos and sin of every position for half a head each, in the dtype of the
  // activations.
  weights.rotary_bytes =
      checked_mul(checked_mul(tower.max_positions, tower.head_dim, kBytes), 2, kBytes);
  return weights;
}

}  // namespace octavo::sim
