// From a model to the rows of a cache: the one place where a ModelConfig becomes a KVCacheConfig.
//
// Pure functions; every byte count that follows from the result is the library's own footprint.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "octavo/kv_config.h"
#include "octavo/sim/model_config.h"

namespace octavo::sim {

/// How K and V are stored.
struct KvFormat {
  std::string name = "bf16";
  DType dtype = DType::BF16;  ///< Of unquantized K and V.
  KVQuantSpec quant = {};
  std::string scales = {};              ///< In words; empty without scales.
  std::int64_t element_bits = 16;       ///< Of one element of K or V.
  std::int64_t head_scale_bytes = 0;    ///< Beside one token's K, and its V, of one head.
  std::int64_t scale_group = 0;         ///< > 0: one byte of scale for so many elements.
  std::int64_t latent_token_bytes = 0;  ///< > 0: what a latent of 512 + 64 elements takes.
  bool in_octavo = true;                ///< false: other engines' alone.
};

/// Of bf16, f16, f32, fp8 (E4M3 with one static scale a layer for K and for V), fp8_e5m2, int8 and
/// int4 (one F32 scale per token and head); and, of other engines alone, nvfp4 (4 bits and an fp8
/// scale for 16 elements) and fp8_ds_mla (656 bytes a token of DeepSeek's latent). Raises
/// InvalidArgument for other names, listing these.
KvFormat parse_kv_format(std::string_view name);

/// KV heads that one of `tp` ranks stores: max(1, kv_heads / tp). Raises InvalidArgument when tp is
/// not positive, does not divide the attention heads, or neither divides nor is divided by
/// kv_heads.
std::int64_t kv_heads_per_rank(const ModelConfig& model, std::int64_t tp);

/// What the rows of one rank depend on beside the model.
struct RowOptions {
  std::int64_t tp = 1;
  KvFormat format = {};
  std::optional<DType> state_dtype = {};  ///< Of recurrent states; unset: as the config says.
  KVCacheMode mode = KVCacheMode::Paged;
  std::int64_t block_size = 16;
  std::int64_t num_blocks = 1;
  std::int64_t max_seqs = 1;
  std::int64_t max_len = 1;
  std::int64_t max_step_tokens = 1;
};

struct KvRows {
  KVCacheConfig config;
  std::vector<KVLayerSpec> specs;
  std::vector<std::size_t> layer_of;  ///< The model's layer of each row.
};

/// Why Octavo cannot store the model's rows in that format; empty when it can.
std::string octavo_refusal(const ModelConfig& model, const KvFormat& format);

/// One row a layer that keeps anything. A paged stack whose every layer has a window releases
/// blocks behind the largest; windows mixed with full layers only mask, since all layers share one
/// block table. Raises InvalidArgument as above, and for a block size that is no power of two in
/// [1, kMaxBlockSize] or a limit that is not positive.
KvRows make_kv_rows(const ModelConfig& model, const RowOptions& options);

/// Layers that are alike, in the order of their first layer.
struct KvClass {
  CacheLayer layer;  ///< With the heads of one rank.
  std::int64_t layers = 0;
  std::int64_t bytes_per_token = 0;  ///< Of all its layers on one rank, per-token scales included.
  bool window_bounds = false;  ///< The window bounds what a sequence holds, it does not only mask.
  std::int64_t bytes_per_sequence = 0;  ///< Of all its layers: states, and cross-attention K and V.
};

/// "full", "window", "chunked", "latent", "state" or "cross".
std::string_view kind_name(const CacheLayer& layer) noexcept;

/// The layers [first, last) of a rank, as any engine stores them: K and V of the rank's heads, a
/// latent whole, states by heads. Layers that keep nothing are left out.
/// Raises InvalidArgument when tp does not divide what it must, or the format does not fit a layer.
std::vector<KvClass> rank_classes(const ModelConfig& model,
                                  const RowOptions& options,
                                  std::size_t first,
                                  std::size_t last);

/// The classes of Octavo's paged rows, their bytes read from the footprint; they are those of
/// rank_classes (tested).
std::vector<KvClass> kv_classes(const ModelConfig& model, const RowOptions& options);

}  // namespace octavo::sim
