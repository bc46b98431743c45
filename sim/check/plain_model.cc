#include "plain_model.h"

#include "octavo/device_ops.h"
#include "octavo/kv_ops.h"
#include "octavo/kv_row_info.h"

namespace octavo::sim::check {
namespace {

DType dtype_of(const KVQuantSpec& quant, DType kv_dtype) {
  switch (quant.codec) {
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
  return kv_dtype;
}

// [slots, heads, max_tokens, row], with the row information that the operations read.
Tensor plain_rows(const CheckSetup& setup,
                  const KVLayerSpec& spec,
                  bool is_key,
                  const std::shared_ptr<Device>& device) {
  const KVQuantSpec quant = (is_key ? spec.k_quant : spec.v_quant).value_or(KVQuantSpec{});
  const std::vector<float>& given = is_key ? spec.k_scale : spec.v_scale;
  const DType dtype = dtype_of(quant, setup.kv_dtype);
  auto info = std::make_shared<KVRowInfo>();
  info->kind = spec.kind;
  info->capacity = setup.max_tokens;
  info->window = spec.window;
  info->codec = quant.codec;
  info->scale = quant.scale;
  if (quant.codec != KVCodec::None && quant.scale == KVScale::Static) {
    const std::vector<float> scales(static_cast<std::size_t>(setup.kv_heads), given.front());
    info->scales = Tensor::from_values<float>(DType::F32, {setup.kv_heads}, scales, device);
  } else if (quant.codec != KVCodec::None) {
    info->scales =
        Tensor::zeros(DType::F32, {setup.slots, setup.kv_heads, setup.max_tokens}, device);
  }
  return Tensor::zeros(storage_dtype(dtype),
                       {setup.slots, setup.kv_heads, setup.max_tokens,
                        storage_elements(dtype, setup.head_dim)},
                       device)
      .with_row_info(std::move(info));
}

KVRowsArg rows_arg(const Tensor& rows, std::int64_t head_dim) {
  const KVRowInfo& info = *rows.row_info();
  const std::int64_t element = bytes_per_element(rows.dtype());
  KVRowsArg arg;
  arg.data = rows.address();
  arg.dtype = info.codec == KVCodec::Int4 ? DType::Int4 : rows.dtype();
  arg.codec = info.codec;
  arg.scale = info.scale;
  arg.head_dim = head_dim;
  arg.block_stride_bytes = rows.strides()[0] * element;
  arg.head_stride_bytes = rows.strides()[1] * element;
  arg.row_stride_bytes = rows.strides()[2] * element;
  if (info.scales.defined()) {
    const bool is_static = info.scale == KVScale::Static;
    arg.scales = static_cast<float*>(info.scales.address());
    arg.scale_block_stride = is_static ? 0 : info.scales.strides()[0];
    arg.scale_head_stride = is_static ? 1 : info.scales.strides()[1];
  }
  return arg;
}

StepOperandArg operand_arg(const Tensor& tensor) {
  return {.data = tensor.address(),
          .dtype = tensor.dtype(),
          .token_stride = tensor.strides()[0],
          .head_stride = tensor.strides()[1]};
}

void clear_slot(const Tensor& state, int slot) {
  const Tensor mine = state.select(0, slot);
  mine.device()->fill(mine.address(), 0, mine.size_bytes());
}

}  // namespace

PlainModel::PlainModel(const CheckSetup& setup, std::shared_ptr<Device> device)
    : longest_(setup.max_tokens),
      device_(std::move(device)),
      encoders_(static_cast<std::size_t>(setup.slots), -1) {
  for (const KVLayerSpec& spec : setup.specs()) {
    LayerStorage layer;
    layer.kind = spec.kind;
    if (spec.kind != KVLayerKind::State) {
      layer.keys = plain_rows(setup, spec, true, device_);
      layer.values = plain_rows(setup, spec, false, device_);
    } else {
      for (const KVConvSpec& conv : spec.conv) {
        layer.conv.push_back(Tensor::zeros(spec.conv_dtype.value_or(setup.kv_dtype),
                                           {setup.slots, conv.dim, conv.width}, device_));
      }
      const KVRecurrentSpec& slab = spec.recurrent;
      layer.recurrent = Tensor::zeros(spec.state_dtype,
                                      {setup.slots, slab.heads, slab.k_dim, slab.v_dim}, device_);
    }
    layers_.push_back(std::move(layer));
  }
}

Tensor PlainModel::ids(const std::vector<std::int32_t>& values) const {
  return Tensor::from_values<std::int32_t>(DType::Int32, {static_cast<std::int64_t>(values.size())},
                                           values, device_);
}

std::int64_t PlainModel::cross_length(int layer, int slot) const {
  const int encoder = encoders_[static_cast<std::size_t>(slot)];
  return encoder < 0 ? 0 : encoder_length(encoder, layer, longest_);
}

KVCache::StepIndices PlainModel::indices(const StepBatch& batch, bool cross, int layer) const {
  std::vector<std::int32_t> lengths;
  for (std::size_t i = 0; i < batch.slots.size(); ++i) {
    lengths.push_back(cross ? static_cast<std::int32_t>(cross_length(layer, batch.slots[i]))
                            : batch.past[i] + batch.count(i));
  }
  const Tensor slots = ids(batch.slots);
  return {.cu_seqlens_q = ids(batch.cu_seqlens_q),
          .kvcache_start = slots,
          .cu_seqlens_k = ids(lengths),
          .slot_ids = slots};
}

void PlainModel::zero_states(int slot) {
  for (const LayerStorage& layer : layers_) {
    for (const Tensor& conv : layer.conv) {
      clear_slot(conv, slot);
    }
    if (layer.recurrent.defined()) {
      clear_slot(layer.recurrent, slot);
    }
  }
}

void PlainModel::write_rows(int slot, std::int64_t from, std::span<const Chain> chains) {
  if (chains.empty()) {
    return;
  }
  StepBatch batch;
  batch.chains.assign(chains.begin(), chains.end());
  batch.cu_seqlens_q = {0, static_cast<std::int32_t>(chains.size())};
  batch.past = {static_cast<std::int32_t>(from)};
  batch.slots = {slot};
  const KVCache::StepIndices step = indices(batch, false, 0);
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const LayerStorage& layer = layers_[i];
    if (layer.kind != KVLayerKind::AttentionKV) {
      continue;
    }
    const auto rows = [&](Role role) {
      return draw_operand(batch.chains, {role, static_cast<int>(i), 0}, layer.heads(),
                          layer.head_dim(), device_);
    };
    append_varlen({.key = rows(Role::Key),
                   .value = rows(Role::Value),
                   .key_cache = layer.keys,
                   .value_cache = layer.values,
                   .step = {.cu_seqlens_q = step.cu_seqlens_q,
                            .cu_seqlens_k = step.cu_seqlens_k,
                            .kvcache_start = step.kvcache_start,
                            .slot_ids = step.slot_ids}});
  }
}

void PlainModel::fill(int slot, int encoder) {
  encoders_[static_cast<std::size_t>(slot)] = encoder;
  for (std::size_t i = 0; encoder >= 0 && i < layers_.size(); ++i) {
    const LayerStorage& layer = layers_[i];
    if (layer.kind != KVLayerKind::CrossAttentionKV) {
      continue;
    }
    const EncoderRows rows = encoder_rows(encoder, static_cast<int>(i), layer, longest_, device_);
    device_->store_cross({.keys = rows_arg(layer.keys, layer.head_dim()),
                          .values = rows_arg(layer.values, layer.head_dim()),
                          .key = operand_arg(rows.keys),
                          .value = operand_arg(rows.values),
                          .kv_heads = layer.heads(),
                          .slot = slot,
                          .tokens = rows.keys.size(0)});
  }
}

std::vector<LayerOutput> PlainModel::run(const StepBatch& batch) {
  return run_layers(layers_, batch, indices(batch, false, 0),
                    [&](int layer) { return indices(batch, true, layer); });
}

}  // namespace octavo::sim::check
