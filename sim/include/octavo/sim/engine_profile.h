// How serving engines turn a KV budget into a pool: the sizing rules of vLLM, SGLang and
// TensorRT-LLM, as their start-up logs show them.
//
// All figures are of one rank. Tests hold every rule against
// what the engine printed at some start. Octavo's own rule is not here: it is the
// library's storage plan (kv_rows.h). Pure functions over plain data; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "octavo/sim/cache_layer.h"

namespace octavo::sim {

enum class Engine : std::uint8_t {
  Octavo,       ///< This library: one block table for all rows.
  VllmOld,      ///< vLLM V1 up to about 0.20.
  Vllm,         ///< vLLM V1 from about 0.21: prints another "KV cache size".
  Sglang,       ///< Counts tokens, and gives states a pool of their own.
  TensorRtLlm,  ///< Rounds its blocks up.
};

/// "octavo", "vllm-old", "vllm", "sglang", "tensorrt-llm".
std::string_view to_string(Engine engine) noexcept;
/// The inverse of `to_string`. Raises InvalidArgument for another name, listing these.
Engine parse_engine(std::string_view name);

/// Which states of a hybrid model's sequences vLLM keeps for prefix caching.
enum class StatePrefix : std::uint8_t {
  None,   ///< The running one: 1 block a request and group.
  Align,  ///< The last two at block ends: 2.
  All,    ///< One every block: as many as the attention has.
};
/// "none", "align", "all".
std::string_view to_string(StatePrefix prefix) noexcept;
StatePrefix parse_state_prefix(std::string_view name);

/// Layers that are stored alike.
struct LayerClass {
  CacheKind kind = CacheKind::Attention;
  std::int64_t layers = 0;
  std::int64_t bytes_per_token = 0;  ///< Of one layer, scales included; 0 for State.
  std::int64_t window = 0;           ///< Attention: 0 = full. Chunked: the chunk.
  std::int64_t state_bytes = 0;      ///< State: of one layer and sequence.
  std::int64_t encoder_len = 0;      ///< Cross.

  bool operator==(const LayerClass&) const = default;
};

/// "full", "window", "chunked", "latent", "state" or "cross".
std::string_view kind_name(const LayerClass& layers) noexcept;

struct SizingRequest {
  Engine engine = Engine::Vllm;
  std::vector<LayerClass> classes = {};
  std::int64_t budget_bytes = 0;
  std::int64_t block_size = 16;
  std::int64_t max_len = 0;
  std::int64_t step_tokens = 0;  ///< max_num_batched_tokens.
  StatePrefix state_prefix = StatePrefix::Align;
  std::int64_t dcp = 1;  ///< Decode context parallel ranks: each keeps 1/dcp of a sequence.
  double sglang_state_ratio = 0.9;  ///< Bytes of states per byte of K and V.
};

/// Layers that share block ids: each block of a request lies in all layers of its group.
struct EngineGroup {
  std::size_t layer_class = 0;  ///< Index into SizingRequest::classes.
  std::int64_t layers = 0;
  std::int64_t padding_layers = 0;  ///< Up to the group size; their pages hold nothing.
  std::int64_t block_size = 0;      ///< Tokens a block of this group holds; 0 for State.
  std::int64_t blocks_per_request = 0;
};

/// Memory that holds nothing.
struct Waste {
  std::string cause;  ///< group_padding, page_unification, block_tail, state_padding, null_block.
  std::string of;     ///< "request" (one of max_len) or "pool".
  std::int64_t bytes = 0;
  std::string text;  ///< One sentence with its numbers.
};

struct EngineCapacity {
  std::int64_t block_size = 0;       ///< Of the attention layers, after the engine raised it.
  std::int64_t bytes_per_block = 0;  ///< Over the layers of a group.
  std::vector<EngineGroup> groups = {};
  std::int64_t blocks = 0;
  std::int64_t blocks_per_request = 0;
  double concurrency = 0;           ///< Requests of max_len, without sharing.
  std::int64_t tokens = 0;          ///< What the engine prints as the size of the KV cache.
  std::string tokens_meaning = {};  ///< In words: the definitions differ by up to ten times.
  std::int64_t state_slots = -1;    ///< Sequences whose states fit a pool of their own; -1: none.
  std::int64_t state_bytes = 0;     ///< Of that pool.
  std::vector<Waste> waste = {};
  std::vector<std::string> notes = {};  ///< What of the engine is not modelled here.
};

/// Sizes the pool. Raises InvalidArgument for a request without layers or with a value out of
/// range, for the engine Octavo, and for what the engine cannot lay out (said in the message).
EngineCapacity engine_capacity(const SizingRequest& request);

}  // namespace octavo::sim
