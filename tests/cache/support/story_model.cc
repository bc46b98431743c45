#include "tests/cache/support/story_model.h"

#include <algorithm>
#include <bit>

#include "octavo/kv_ops.h"
#include "octavo/kv_row_info.h"

namespace octavo::testing {
namespace {

std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  std::uint64_t z = a * 0x9e3779b97f4a7c15ULL + b + 0x632be59bd9b4e019ULL;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

// In (-1, 1), with 12 random bits.
float draw(std::uint64_t source) {
  return static_cast<float>(static_cast<int>(mix(source, 11) >> 52) - 2048) / 2048.0F;
}

// What an operand is; makes the numbers of different ones differ.
enum class Role : std::uint64_t { Key, Value, Query, ConvX, ConvW, Q, K, V, Decay, Beta, Encoder };

std::uint64_t source_of(Role role, int layer, int part = 0) {
  return mix(mix(static_cast<std::uint64_t>(role), static_cast<std::uint64_t>(layer)),
             static_cast<std::uint64_t>(part));
}

// [T, row_elements]: every token's row is drawn from its chain.
Tensor operand(const std::vector<Chain>& chains,
               std::uint64_t source,
               const Dims& shape,
               const std::shared_ptr<Device>& device) {
  const std::int64_t count = shape[0];
  std::int64_t row = 1;
  for (std::size_t d = 1; d < shape.size(); ++d) {
    row *= shape[d];
  }
  std::vector<float> values;
  for (std::int64_t t = 0; t < count; ++t) {
    for (std::int64_t e = 0; e < row; ++e) {
      values.push_back(draw(
          mix(mix(chains[static_cast<std::size_t>(t)], source), static_cast<std::uint64_t>(e))));
    }
  }
  return Tensor::from_values<float>(DType::F32, shape, values, device);
}

void collect(const Tensor& out, std::vector<Bits>& seen) {
  const auto values = out.to_vector<float>();
  const std::size_t row = values.size() / std::max<std::size_t>(1, seen.size());
  for (std::size_t t = 0; t < seen.size(); ++t) {
    for (std::size_t e = 0; e < row; ++e) {
      seen[t].push_back(std::bit_cast<std::uint32_t>(values[t * row + e]));
    }
  }
}

class Layers {
 public:
  Layers(KVCache& cache, const StoryStep& step)
      : cache_(cache),
        step_(step),
        tokens_(static_cast<std::int64_t>(step.chains.size())),
        device_(step.indices.cu_seqlens_q.device()) {}

  Tensor attend(int layer, bool is_cross) const {
    const Tensor keys = cache_.keys(layer);
    const Tensor values = cache_.values(layer);
    const std::int64_t packed = keys.row_info()->codec == KVCodec::Int4 ? 2 : 1;
    const std::int64_t v_packed = values.row_info()->codec == KVCodec::Int4 ? 2 : 1;
    const std::int64_t heads = keys.size(1);
    const std::int64_t dim = keys.size(3) * packed;
    const Indices indices =
        is_cross ? cache_.prepare_cross(layer, step_.cu_seqlens_q, step_.slots) : step_.indices;
    GroupQueryAttentionArgs args;
    args.query = input(Role::Query, layer, {tokens_, heads * kGroup, dim});
    if (!is_cross) {
      args.key = input(Role::Key, layer, {tokens_, heads, dim});
      args.value = input(Role::Value, layer, {tokens_, heads, values.size(3) * v_packed});
    }
    args.key_cache = keys;
    args.value_cache = values;
    args.step = {.cu_seqlens_q = indices.cu_seqlens_q,
                 .cu_seqlens_k = indices.cu_seqlens_k,
                 .kvcache_start = indices.kvcache_start,
                 .slot_ids = indices.slot_ids};
    return group_query_attention_varlen(args);
  }

  Tensor convolve(int layer, int index) const {
    const Tensor state = cache_.conv_state(layer, index);
    const std::int64_t dim = state.size(1);
    CausalConvArgs args;
    args.x = input(Role::ConvX, layer, {tokens_, dim}, index);
    args.weight =
        operand({1}, source_of(Role::ConvW, layer, index), {1, dim, state.size(2) + 1}, device_)
            .select(0, 0);
    args.conv_state = state;
    args.cu_seqlens_q = step_.indices.cu_seqlens_q;
    args.slot_ids = step_.indices.slot_ids;
    return causal_conv_update(args);
  }

  Tensor recur(int layer) const {
    const Tensor state = cache_.recurrent_state(layer);
    const std::int64_t heads = state.size(1);
    GatedDeltaArgs args;
    args.q = input(Role::Q, layer, {tokens_, heads, state.size(2)});
    args.k = input(Role::K, layer, {tokens_, heads, state.size(2)});
    args.v = input(Role::V, layer, {tokens_, heads, state.size(3)});
    args.a = input(Role::Decay, layer, {tokens_, heads});
    args.b = input(Role::Beta, layer, {tokens_, heads});
    args.recurrent_state = state;
    args.cu_seqlens_q = step_.indices.cu_seqlens_q;
    args.slot_ids = step_.indices.slot_ids;
    args.b_sigmoid = true;
    args.qk_l2_norm = true;
    return gated_delta_update(args);
  }

 private:
  Tensor input(Role role, int layer, const Dims& shape, int part = 0) const {
    return operand(step_.chains, source_of(role, layer, part), shape, device_);
  }

  KVCache& cache_;
  const StoryStep& step_;
  std::int64_t tokens_;
  std::shared_ptr<Device> device_;
};

}  // namespace

std::vector<Chain> chains(Chain before, std::span<const std::int32_t> tokens) {
  std::vector<Chain> chains;
  for (const std::int32_t token : tokens) {
    before = mix(before, static_cast<std::uint64_t>(token) + 1);
    chains.push_back(before);
  }
  return chains;
}

bool Stack::has_kind(KVLayerKind kind) const {
  return std::any_of(specs.begin(), specs.end(),
                     [&](const KVLayerSpec& spec) { return spec.kind == kind; });
}

bool Stack::has_rings() const {
  return std::any_of(specs.begin(), specs.end(), [&](const KVLayerSpec& spec) {
    const bool continuous = spec.layout == Layout::Continuous ||
                            (spec.layout == Layout::Auto && config.mode == KVCacheMode::Continuous);
    return spec.kind == KVLayerKind::AttentionKV && spec.window > 0 && continuous;
  });
}

std::vector<Bits> run_layers(KVCache& cache, const Stack& stack, const StoryStep& step) {
  std::vector<Bits> seen(step.chains.size());
  const Layers layers(cache, step);
  for (int layer = 0; layer < stack.config.num_layers; ++layer) {
    const KVLayerSpec& spec = stack.specs[static_cast<std::size_t>(layer)];
    if (spec.kind != KVLayerKind::State) {
      collect(layers.attend(layer, spec.kind == KVLayerKind::CrossAttentionKV), seen);
      continue;
    }
    for (int index = 0; index < static_cast<int>(spec.conv.size()); ++index) {
      collect(layers.convolve(layer, index), seen);
    }
    if (spec.recurrent.heads > 0) {
      collect(layers.recur(layer), seen);
    }
  }
  return seen;
}

std::int64_t encoder_length(int encoder, int layer) {
  return 1 + (encoder * 3 + layer) % 5;
}

void fill_layers(KVCache& cache, const Stack& stack, int slot, int encoder) {
  for (int layer = 0; layer < stack.config.num_layers; ++layer) {
    if (stack.specs[static_cast<std::size_t>(layer)].kind != KVLayerKind::CrossAttentionKV) {
      continue;
    }
    const Tensor keys = cache.keys(layer);
    const std::int64_t packed = keys.row_info()->codec == KVCodec::Int4 ? 2 : 1;
    const std::int64_t length = encoder_length(encoder, layer);
    const auto positions =
        chains(static_cast<Chain>(encoder) + 77, Ids(static_cast<std::size_t>(length), layer));
    const Dims shape{length, keys.size(1), keys.size(3) * packed};
    cache.fill(layer, slot,
               operand(positions, source_of(Role::Encoder, layer, 0), shape, keys.device()),
               operand(positions, source_of(Role::Encoder, layer, 1), shape, keys.device()));
  }
}

}  // namespace octavo::testing
