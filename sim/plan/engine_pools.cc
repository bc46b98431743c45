// SGLang and TensorRT-LLM: one pool of tokens over all layers.
//
//     SGLang        tokens = floor(budget / bytes per token); a hybrid's budget is first divided:
//                   states get budget x r / (1 + r), the rest is for K and V
//     TensorRT-LLM  tokens = ceil(budget / bytes per block) x block
#include <algorithm>
#include <cmath>

#include "checked.h"
#include "engine_sizing.h"
#include "number_text.h"

namespace octavo::sim {
namespace {

struct TokenBytes {
  std::int64_t per_token = 0;
  std::int64_t per_sequence = 0;  ///< Of all states.
};

TokenBytes sum(const SizingRequest& request, EngineCapacity& result, const char* engine) {
  TokenBytes bytes;
  bool windowed = false;
  for (const LayerClass& layers : request.classes) {
    if (layers.kind == CacheKind::Cross) {
      refuse_engine(std::string(engine) + " with cross-attention layers is not modelled");
    }
    bytes.per_token = checked_add(
        bytes.per_token, checked_mul(layers.layers, layers.bytes_per_token, "the bytes of a token"),
        "the bytes of a token");
    bytes.per_sequence = checked_add(
        bytes.per_sequence,
        checked_mul(layers.layers, layers.state_bytes, "the bytes of a sequence's states"),
        "the bytes of a sequence's states");
    windowed |= layers.window > 0;
  }
  if (windowed) {
    result.notes.push_back(std::string("layers with a window or chunks are counted at full "
                                       "length: how ") +
                           engine + " bounds them is not modelled");
  }
  return bytes;
}

void add_group(const SizingRequest& request, EngineCapacity& result) {
  EngineGroup group;
  for (const LayerClass& layers : request.classes) {
    group.layers += layers.bytes_per_token > 0 ? layers.layers : 0;
  }
  group.block_size = request.block_size;
  group.blocks_per_request = ceil_div(request.max_len, request.block_size);
  result.groups = {group};
  result.block_size = request.block_size;
  result.blocks_per_request = group.blocks_per_request;
}

void add_tail(const SizingRequest& request, std::int64_t token_bytes, EngineCapacity& result) {
  const std::int64_t unused = result.blocks_per_request * request.block_size - request.max_len;
  if (unused > 0) {
    result.waste.push_back(
        {"block_tail", "request", unused * token_bytes, "the last block of a request is not full"});
  }
}

void set_concurrency(EngineCapacity& result) {
  result.concurrency =
      static_cast<double>(result.blocks) / static_cast<double>(result.blocks_per_request);
}

}  // namespace

EngineCapacity size_sglang(const SizingRequest& request) {
  EngineCapacity result;
  const TokenBytes bytes = sum(request, result, "SGLang");
  add_group(request, result);
  std::int64_t for_tokens = std::max<std::int64_t>(request.budget_bytes, 0);
  if (bytes.per_sequence > 0) {
    const double ratio = request.sglang_state_ratio;
    result.state_bytes = static_cast<std::int64_t>(
        std::floor(static_cast<double>(for_tokens) * ratio / (1 + ratio)));
    for_tokens -= result.state_bytes;
    // One slot is never given to a request: padded batches write there.
    result.state_slots = std::max<std::int64_t>(result.state_bytes / bytes.per_sequence - 1, 0);
    result.waste.push_back(
        {"state_padding", "pool", bytes.per_sequence, "one state slot serves padded batches"});
  }
  if (bytes.per_token == 0) {
    refuse_engine("SGLang with a model that keeps nothing a token is not modelled");
  }
  result.bytes_per_block = checked_mul(bytes.per_token, request.block_size, "a block's bytes");
  result.blocks = for_tokens / result.bytes_per_block;
  result.tokens = checked_mul(result.blocks, request.block_size, "the tokens of the pool");
  result.tokens_meaning = "floor(memory / bytes per token), in whole pages";
  set_concurrency(result);
  add_tail(request, bytes.per_token, result);
  return result;
}

EngineCapacity size_tensorrt_llm(const SizingRequest& request) {
  EngineCapacity result;
  const TokenBytes bytes = sum(request, result, "TensorRT-LLM");
  if (bytes.per_sequence > 0) {
    refuse_engine("TensorRT-LLM with state layers is not modelled");
  }
  add_group(request, result);
  result.bytes_per_block = checked_mul(bytes.per_token, request.block_size, "a block's bytes");
  result.blocks = ceil_div(std::max<std::int64_t>(request.budget_bytes, 0), result.bytes_per_block);
  result.tokens = checked_mul(result.blocks, request.block_size, "the tokens of the pool");
  result.tokens_meaning = "memory / bytes per token, rounded up to whole blocks";
  set_concurrency(result);
  add_tail(request, bytes.per_token, result);
  return result;
}

}  // namespace octavo::sim
