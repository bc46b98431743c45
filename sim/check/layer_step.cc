#include "layer_step.h"

#include <algorithm>

#include "octavo/kv_ops.h"
#include "octavo/kv_row_info.h"

namespace octavo::sim::check {
namespace {

// All layers of one step.
class Layers {
 public:
  Layers(const StepBatch& batch, const KVCache::StepIndices& indices)
      : batch_(batch), indices_(indices), device_(indices.cu_seqlens_q.device()) {}

  LayerOutput attend(int layer,
                     const LayerStorage& storage,
                     const KVCache::StepIndices& indices) const {
    const std::int64_t heads = storage.heads();
    const std::int64_t dim = storage.head_dim();
    GroupQueryAttentionArgs args;
    args.query = input(Role::Query, layer, heads * kQueryGroup, dim);
    if (storage.kind == KVLayerKind::AttentionKV) {
      args.key = input(Role::Key, layer, heads, dim);
      args.value = input(Role::Value, layer, heads, dim);
    }
    args.key_cache = storage.keys;
    args.value_cache = storage.values;
    const bool is_cross = storage.kind == KVLayerKind::CrossAttentionKV;
    args.step = {.cu_seqlens_q = indices.cu_seqlens_q,
                 .cu_seqlens_k = indices.cu_seqlens_k,
                 .kvcache_start = indices.kvcache_start,
                 .slot_ids = indices.slot_ids,
                 .max_query_len = longest_query(),
                 .max_kv_len = is_cross ? storage.keys.size(2) : longest_history()};
    // Narrow outputs hide what the sums behind them show.
    const std::int64_t tokens = args.query.size(0);
    const std::int64_t q_heads = heads * kQueryGroup;
    const std::int64_t chunks = (args.step.max_kv_len + kAttentionChunk - 1) / kAttentionChunk;
    args.max_sum = Tensor::zeros(DType::F32, {tokens, q_heads, 2}, device_);
    args.partial_max_sum = Tensor::zeros(DType::F32, {tokens, q_heads, chunks, 2}, device_);
    args.partial_out = Tensor::zeros(DType::F32, {tokens, q_heads, chunks, dim}, device_);
    LayerOutput out = group_query_attention_varlen(args).to_vector<float>();
    join(out, args.max_sum);
    join(out, args.partial_max_sum);
    join(out, args.partial_out);
    return out;
  }

  void convolve(int layer, const LayerStorage& storage, int part, LayerOutput& out) const {
    const Tensor& state = storage.conv[static_cast<std::size_t>(part)];
    const std::int64_t dim = state.size(1);
    CausalConvArgs args;
    args.x = input(Role::ConvInput, layer, 0, dim, part);
    const std::vector<Chain> model{Chain{7}};
    args.weight =
        draw_operand(model, {Role::ConvWeight, layer, part}, dim, state.size(2) + 1, device_)
            .select(0, 0);
    args.conv_state = state;
    args.cu_seqlens_q = indices_.cu_seqlens_q;
    args.slot_ids = indices_.slot_ids;
    join(out, causal_conv_update(args));
  }

  void recur(int layer, const LayerStorage& storage, LayerOutput& out) const {
    const Tensor& state = storage.recurrent;
    const std::int64_t heads = state.size(1);
    GatedDeltaArgs args;
    args.q = input(Role::Q, layer, heads, state.size(2));
    args.k = input(Role::K, layer, heads, state.size(2));
    args.v = input(Role::V, layer, heads, state.size(3));
    args.a = input(Role::Decay, layer, 0, heads);
    args.b = input(Role::Beta, layer, 0, heads);
    args.recurrent_state = state;
    args.cu_seqlens_q = indices_.cu_seqlens_q;
    args.slot_ids = indices_.slot_ids;
    args.b_sigmoid = true;
    args.qk_l2_norm = true;
    join(out, gated_delta_update(args));
  }

 private:
  std::int64_t longest_query() const {
    std::int64_t longest = 0;
    for (std::size_t i = 0; i < batch_.slots.size(); ++i) {
      longest = std::max<std::int64_t>(longest, batch_.count(i));
    }
    return longest;
  }

  std::int64_t longest_history() const {
    std::int64_t longest = 0;
    for (std::size_t i = 0; i < batch_.slots.size(); ++i) {
      longest = std::max<std::int64_t>(longest, std::int64_t{batch_.past[i]} + batch_.count(i));
    }
    return longest;
  }

  Tensor input(
      Role role, int layer, std::int64_t heads, std::int64_t elements, int part = 0) const {
    return draw_operand(batch_.chains, {role, layer, part}, heads, elements, device_);
  }

  static void join(LayerOutput& out, const Tensor& more) {
    const std::vector<float> values = more.to_vector<float>();
    out.insert(out.end(), values.begin(), values.end());
  }

  const StepBatch& batch_;
  const KVCache::StepIndices& indices_;
  const std::shared_ptr<Device>& device_;
};

}  // namespace

std::int64_t LayerStorage::head_dim() const {
  return keys.size(3) * (keys.row_info()->codec == KVCodec::Int4 ? 2 : 1);
}

std::vector<LayerOutput> run_layers(const std::vector<LayerStorage>& layers,
                                    const StepBatch& batch,
                                    const KVCache::StepIndices& indices,
                                    const std::function<KVCache::StepIndices(int)>& cross) {
  const Layers step(batch, indices);
  std::vector<LayerOutput> outputs(layers.size());
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const LayerStorage& storage = layers[i];
    const int layer = static_cast<int>(i);
    if (storage.kind == KVLayerKind::AttentionKV) {
      outputs[i] = step.attend(layer, storage, indices);
    } else if (storage.kind == KVLayerKind::CrossAttentionKV) {
      outputs[i] = step.attend(layer, storage, cross(layer));
    } else {
      for (int part = 0; part < static_cast<int>(storage.conv.size()); ++part) {
        step.convolve(layer, storage, part, outputs[i]);
      }
      step.recur(layer, storage, outputs[i]);
    }
  }
  return outputs;
}

std::int64_t encoder_length(int encoder, int layer, std::int64_t longest) {
  return 1 + (std::int64_t{encoder} * 3 + layer) % longest;
}

EncoderRows encoder_rows(int encoder,
                         int layer,
                         const LayerStorage& storage,
                         std::int64_t longest,
                         const std::shared_ptr<Device>& device) {
  const Tokens positions(static_cast<std::size_t>(encoder_length(encoder, layer, longest)),
                         encoder);
  const std::vector<Chain> chains = chains_of(Chain{11}, positions);
  const auto rows = [&](Role role) {
    return draw_operand(chains, {role, layer, 0}, storage.heads(), storage.head_dim(), device);
  };
  return {.keys = rows(Role::Key), .values = rows(Role::Value)};
}

}  // namespace octavo::sim::check
