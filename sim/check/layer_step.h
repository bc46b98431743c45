// One step through all layers, over whichever storage: that of a cache, or plain tensors.
//
// Operands are functions of the tokens' chains (history_values.h), so the two are handed the same
// numbers and differ in nothing but where their rows lie.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "history_values.h"
#include "octavo/kv_cache.h"

namespace octavo::sim::check {

/// Query heads a KV head.
inline constexpr std::int64_t kQueryGroup = 2;

/// Where one layer's rows or states lie; what a layer does not have is undefined.
struct LayerStorage {
  KVLayerKind kind = KVLayerKind::AttentionKV;
  Tensor keys;
  Tensor values;
  std::vector<Tensor> conv;
  Tensor recurrent;

  std::int64_t heads() const { return keys.size(1); }
  std::int64_t head_dim() const;  ///< Logical elements of a row.
};

/// The tokens of a step and where they belong.
struct StepBatch {
  std::vector<Chain> chains;               ///< [T], the new tokens'.
  std::vector<std::int32_t> cu_seqlens_q;  ///< [B + 1]
  std::vector<std::int32_t> past;          ///< [B]
  std::vector<std::int32_t> slots;         ///< [B]

  std::int32_t count(std::size_t i) const { return cu_seqlens_q[i + 1] - cu_seqlens_q[i]; }
};

/// The numbers of one layer's outputs, token by token; a state layer's parts one after another.
/// Behind the outputs of an attention layer: (M, L) of every row, and the partial results of every
/// chunk, in binary32.
using LayerOutput = std::vector<float>;

/// Appends and attends, convolves, recurs. `indices` are those of the step, `cross` gives those of
/// a cross-attention layer. Every output is [T, ...] and fetched to the host.
std::vector<LayerOutput> run_layers(const std::vector<LayerStorage>& layers,
                                    const StepBatch& batch,
                                    const KVCache::StepIndices& indices,
                                    const std::function<KVCache::StepIndices(int)>& cross);

/// The keys and values that encoder output number `encoder` gives a layer, as `fill` takes them.
struct EncoderRows {
  Tensor keys;
  Tensor values;
};
EncoderRows encoder_rows(int encoder,
                         int layer,
                         const LayerStorage& storage,
                         std::int64_t longest,
                         const std::shared_ptr<Device>& device);
std::int64_t encoder_length(int encoder, int layer, std::int64_t longest);

}  // namespace octavo::sim::check
