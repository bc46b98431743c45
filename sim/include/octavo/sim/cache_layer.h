// What one layer of a model keeps of the past, before any engine lays it out in memory.
//
// Plain data: of the whole model, not of one rank, and in elements, not in bytes.
#pragma once

#include <cstdint>
#include <string_view>

namespace octavo::sim {

enum class CacheKind : std::uint8_t {
  Attention,  ///< K and V of every token, or of those in a window.
  Chunked,    ///< K and V of the tokens of the current chunk (Llama 4).
  Latent,     ///< One latent a token that all heads share (MLA); every rank stores it whole.
  State,      ///< A convolution window and a recurrent state a sequence; nothing grows.
  Cross,      ///< K and V of the encoder's output, written once.
  None,       ///< Nothing: no attention, or the K and V of an earlier layer.
};

/// "full", "window", "chunked", "latent", "state", "cross" or "none" is what people call a layer;
/// this is the kind's own name ("attention" for the first two).
std::string_view to_string(CacheKind kind) noexcept;

/// The state of one layer and sequence, over all heads of the model.
struct StateShape {
  std::int64_t heads = 0;  ///< Of the recurrent state; tensor parallelism divides them.
  std::int64_t k_dim = 0;  ///< The state of a head is [k_dim, v_dim].
  std::int64_t v_dim = 0;
  std::int64_t groups = 0;         ///< Key heads (gated delta net) or B/C groups (Mamba 2).
  std::int64_t conv_channels = 0;  ///< heads * v_dim + 2 * groups * k_dim, or as the family has it.
  std::int64_t conv_width = 0;     ///< Inputs kept: the kernel's size less 1.
  bool state_is_f32 = true;        ///< What the config says; an engine's option overrules it.

  friend bool operator==(const StateShape&, const StateShape&) = default;
};

/// One decoder layer. Fields that its kind does not name are 0.
struct CacheLayer {
  std::int64_t kv_heads = 0;  ///< Attention, Chunked, Cross; 1 for Latent.
  std::int64_t head_dim = 0;  ///< Of K; for Latent: kv_lora_rank + qk_rope_head_dim.
  std::int64_t window = 0;  ///< Positions it looks back, its own counted; 0 = all. Chunked: chunk.
  CacheKind kind = CacheKind::Attention;
  std::int64_t v_head_dim = 0;   ///< Of V; 0 = head_dim.
  std::int64_t indexer_dim = 0;  ///< Latent: elements of a sparse-attention key beside the latent.
  std::int64_t encoder_len = 0;  ///< Cross: positions of the encoder's output.
  StateShape state = {};

  /// K and V elements of one token over all heads; 0 where nothing is kept a token.
  std::int64_t elements_per_token() const noexcept;
  bool grows() const noexcept { return elements_per_token() > 0 && kind != CacheKind::Cross; }

  friend bool operator==(const CacheLayer&, const CacheLayer&) = default;
};

}  // namespace octavo::sim
