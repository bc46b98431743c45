// The row mixes of the tests.
#include <stdexcept>
#include <string>
#include <string_view>

#include "tests/cache/support/story_server.h"

namespace octavo::testing {
namespace {

constexpr KVQuantSpec kInt8{.codec = KVCodec::Int8};
constexpr KVQuantSpec kInt4{.codec = KVCodec::Int4};
constexpr KVQuantSpec kE4M3{.codec = KVCodec::E4M3};
constexpr KVQuantSpec kE5M2{.codec = KVCodec::E5M2};
constexpr KVQuantSpec kStaticE4M3{.codec = KVCodec::E4M3, .scale = KVScale::Static};

KVCacheConfig paged(int num_blocks, int block_size) {
  return {.max_seqs = 3,
          .max_tokens_per_seq = 24,
          .kv_heads = 2,
          .head_dim = 8,
          .kv_dtype = DType::F32,
          .mode = KVCacheMode::Paged,
          .paged = PagedParams{.num_blocks = num_blocks, .block_size = block_size}};
}

KVCacheConfig continuous() {
  KVCacheConfig config = paged(1, 1);
  config.mode = KVCacheMode::Continuous;
  config.paged.reset();
  return config;
}

KVCacheConfig with_step(KVCacheConfig config, std::int64_t max_step_tokens) {
  config.max_step_tokens = max_step_tokens;
  return config;
}

KVCacheConfig with_dtype(KVCacheConfig config, DType dtype) {
  config.kv_dtype = dtype;
  return config;
}

KVCacheConfig with_release_window(KVCacheConfig config, int window) {
  config.paged->window = window;
  return config;
}

KVLayerSpec state() {
  return {.kind = KVLayerKind::State,
          .conv = {{6, 3}, {4, 1}},
          .recurrent = {2, 8, 8},
          .conv_dtype = DType::F32};
}

}  // namespace

std::vector<Stack> all_stacks() {
  const KVLayerSpec cross{.kind = KVLayerKind::CrossAttentionKV};
  const KVLayerSpec cross_int8{
      .kind = KVLayerKind::CrossAttentionKV, .k_quant = kInt8, .v_quant = kE4M3};
  const KVLayerSpec ring{.layout = Layout::Continuous, .window = 5};
  return {
      {"paged", paged(12, 2), {{}}},
      {"paged, large blocks", with_dtype(paged(5, 8), DType::BF16), {{}, {}}},
      {"paged, two pools", paged(9, 4), {{}, {.kv_heads = 1, .head_dim = 16}}},
      {"paged, quantized",
       with_dtype(paged(10, 4), DType::F16),
       {{.k_quant = kInt8, .v_quant = kInt4}, {.k_quant = kE4M3, .v_quant = kE5M2}, {}}},
      {"paged, static scales",
       paged(10, 4),
       {{.k_quant = kStaticE4M3, .v_quant = kInt8, .k_scale = {0.004F, 0.01F}}}},
      {"paged, windows among full rows", paged(9, 4), {{}, {.window = 5}, {.window = 1}}},
      {"paged, releasing window",
       with_release_window(paged(9, 4), 6),
       {{.window = 6}, {.window = 5, .k_quant = kInt4, .v_quant = kInt8}}},
      {"continuous", continuous(), {{.v_head_dim = 16}, {.k_quant = kInt8, .v_quant = kE5M2}}},
      {"rings", with_step(continuous(), 4), {{.window = 5}, {.window = 7, .k_quant = kInt4}}},
      {"paged beside rings", with_step(paged(9, 4), 4), {{}, ring, {.window = 3}}},
      {"encoder-decoder", continuous(), {{}, cross, {}, cross_int8}},
      {"hybrid", paged(9, 4), {state(), {}, state()}},
      {"everything",
       with_step(paged(16, 2), 6),
       {{}, ring, cross_int8, state(), {.k_quant = kInt8}, cross}},
  };
}

Stack stack_named(const char* name) {
  for (const Stack& stack : all_stacks()) {
    if (std::string_view(stack.name) == name) {
      return stack;
    }
  }
  throw std::invalid_argument(std::string("no stack is called ") + name);
}

}  // namespace octavo::testing
