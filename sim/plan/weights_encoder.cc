// Weights of the encoder-decoders Whisper and T5.
#include "special_families.h"
#include "text_tower.h"

namespace octavo::sim {
namespace {

/// One attention of `layers` layers: every projection has a bias but that of the keys.
void count_whisper_attention(std::string_view module,
                             std::int64_t layers,
                             std::int64_t width,
                             WeightCounter& counter) {
  const std::string path(module);
  for (const char* name : {".q_proj", ".k_proj", ".v_proj", ".out_proj"}) {
    counter.linear(path + name, layers, width, width);
  }
  counter.plain(3 * layers, width);
}

void count_whisper_mlp(std::int64_t layers,
                       std::int64_t width,
                       std::int64_t inner,
                       WeightCounter& counter) {
  counter.linear("fc1", layers, inner, width);
  counter.linear("fc2", layers, width, inner);
  counter.plain(layers, width + inner);
}

}  // namespace

std::int64_t count_whisper(const JsonFields& text,
                           const ModelConfig& model,
                           WeightCounter& counter) {
  const std::int64_t width = model.hidden_size;
  const auto decoder = static_cast<std::int64_t>(model.layers.size() / 2);
  const std::int64_t encoder = text.integer("encoder_layers", 1, kLayersMax);
  const std::int64_t mels = text.integer("num_mel_bins", 1, kWidthMax);
  constexpr std::int64_t kKernel = 3;
  count_ends(model, counter);
  counter.plain(1, width, kKernel * mels + 1);
  counter.plain(1, width, kKernel * width + 1);
  counter.plain(1, text.integer("max_source_positions", 1, kPositionsMax), width);
  count_whisper_attention("encoder.self_attn", encoder, width, counter);
  count_whisper_mlp(encoder, width, text.integer("encoder_ffn_dim", 1, kWidthMax), counter);
  counter.plain(2 * (2 * encoder + 1), width);  // layer norms with bias
  counter.finish("encoder");
  counter.plain(1, model.max_positions, width);
  count_whisper_attention("self_attn", decoder, width, counter);
  count_whisper_attention("encoder_attn", decoder, width, counter);
  counter.finish("attention");
  count_whisper_mlp(decoder, width, model.mlp_width, counter);
  counter.finish("MLP");
  counter.plain(2 * (3 * decoder + 1), width);
  counter.finish("norms");
  return 0;
}

std::int64_t count_t5(const JsonFields& text, const ModelConfig& model, WeightCounter& counter) {
  const std::int64_t width = model.hidden_size;
  const std::int64_t heads_width = model.attention_heads * model.head_dim;
  const auto decoder = static_cast<std::int64_t>(model.layers.size() / 2);
  const std::int64_t encoder = text.integer("num_layers", 1, kLayersMax);
  const std::int64_t buckets =
      text.optional_integer("relative_attention_num_buckets", 1, kWidthMax).value_or(32);
  const std::string projection = text.optional_string("feed_forward_proj").value_or("relu");
  const std::int64_t inputs = projection.starts_with("gated") ? 2 : 1;
  const auto count_stack = [&](std::int64_t layers, std::int64_t attentions) {
    counter.linear("attention", 4 * attentions * layers, heads_width, width);
    counter.plain(1, buckets, model.attention_heads);  // relative positions, in the first layer
  };
  const auto count_mlp = [&](std::int64_t layers) {
    counter.linear("wi", inputs * layers, model.mlp_width, width);
    counter.linear("wo", layers, width, model.mlp_width);
  };
  count_ends(model, counter);
  count_stack(encoder, 1);
  count_mlp(encoder);
  counter.plain(2 * encoder + 1, width);
  counter.finish("encoder");
  count_stack(decoder, 2);
  counter.finish("attention");
  count_mlp(decoder);
  counter.finish("MLP");
  counter.plain(3 * decoder + 1, width);
  counter.finish("norms");
  return 0;
}

}  // namespace octavo::sim
