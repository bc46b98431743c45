// Encoder-decoders: every decoder layer keeps its own K and V and those of the encoder's output.
#include "special_families.h"
#include "text_tower.h"

namespace octavo::sim {
namespace {

void add_decoder_layers(std::int64_t layers, std::int64_t encoder_len, ModelConfig& model) {
  CacheLayer cross{model.kv_heads, model.head_dim, 0};
  cross.kind = CacheKind::Cross;
  cross.encoder_len = encoder_len;
  for (std::int64_t i = 0; i < layers; ++i) {
    model.layers.push_back({model.kv_heads, model.head_dim, 0});
    model.layers.push_back(cross);
  }
}

}  // namespace

void read_whisper(const JsonFields& text, ModelConfig& model) {
  model.hidden_size = text.integer("d_model", 1, kWidthMax);
  model.attention_heads = text.integer("decoder_attention_heads", 1, kHeadsMax);
  model.kv_heads = model.attention_heads;
  if (model.hidden_size % model.attention_heads != 0) {
    text.fail("d_model", "is " + std::to_string(model.hidden_size) +
                             ", expected a multiple of decoder_attention_heads (" +
                             std::to_string(model.attention_heads) + ")");
  }
  model.head_dim = model.hidden_size / model.attention_heads;
  model.vocab_size = text.integer("vocab_size", 1, kVocabMax);
  model.max_positions = text.integer("max_target_positions", 1, kPositionsMax);
  model.mlp_width = text.integer("decoder_ffn_dim", 1, kWidthMax);
  add_decoder_layers(text.integer("decoder_layers", 1, kLayersMax),
                     text.integer("max_source_positions", 1, kPositionsMax), model);
}

void read_t5(const JsonFields& text, ModelConfig& model) {
  model.hidden_size = text.integer("d_model", 1, kWidthMax);
  model.attention_heads = text.integer("num_heads", 1, kHeadsMax);
  model.kv_heads = model.attention_heads;
  model.head_dim = text.integer("d_kv", 1, kHeadDimMax);
  model.vocab_size = text.integer("vocab_size", 1, kVocabMax);
  model.mlp_width = text.integer("d_ff", 1, kWidthMax);
  constexpr std::int64_t kTrainedLength = 512;
  model.max_positions =
      text.optional_integer("n_positions", 1, kPositionsMax).value_or(kTrainedLength);
  model.notes.push_back(
      "positions are relative and end nowhere: " + std::to_string(model.max_positions) +
      " are taken for the decoder and for the encoder's output");
  const std::int64_t encoder_layers = text.integer("num_layers", 1, kLayersMax);
  add_decoder_layers(
      text.optional_integer("num_decoder_layers", 1, kLayersMax).value_or(encoder_layers),
      model.max_positions, model);
}

}  // namespace octavo::sim
