#include "octavo/sim/engine_profile.h"

#include <algorithm>
#include <iterator>

#include "engine_sizing.h"
#include "number_text.h"
#include "octavo/error.h"

namespace octavo::sim {
namespace {

constexpr std::string_view kEngines[] = {"octavo", "vllm-old", "vllm", "sglang", "tensorrt-llm"};
constexpr std::string_view kPrefixes[] = {"none", "align", "all"};

template <std::size_t kCount>
std::size_t index_of(const char* call,
                     std::string_view name,
                     const std::string_view (&names)[kCount]) {
  std::string known;
  for (std::size_t index = 0; index < kCount; ++index) {
    if (name == names[index]) {
      return index;
    }
    known += (index == 0 ? "" : ", ") + std::string(names[index]);
  }
  refuse_engine(std::string(call) + ": \"" + std::string(name) + "\" is none of " + known);
}

void require(const char* name, std::int64_t value, std::int64_t low) {
  if (value < low) {
    refuse_engine(std::string(name) + " is " + grouped(value) + ", expected at least " +
                  grouped(low));
  }
}

void check(const SizingRequest& request) {
  require("block size", request.block_size, 1);
  require("max-len", request.max_len, 1);
  require("tokens of a step", request.step_tokens, 0);
  require("dcp", request.dcp, 1);
  if (!(request.sglang_state_ratio >= 0)) {
    refuse_engine("the ratio of states to K and V is negative");
  }
  const bool any = std::any_of(request.classes.begin(), request.classes.end(),
                               [](const LayerClass& l) { return l.layers > 0; });
  if (!any) {
    refuse_engine("the model keeps nothing: no layer stores K, V or a state");
  }
  for (const LayerClass& layers : request.classes) {
    require("layers of a class", layers.layers, 1);
    const bool state = layers.kind == CacheKind::State;
    require("bytes of a layer", state ? layers.state_bytes : layers.bytes_per_token, 1);
  }
}

}  // namespace

[[noreturn]] void refuse_engine(const std::string& text) {
  throw Error(ErrorCode::InvalidArgument, text);
}

std::string_view to_string(Engine engine) noexcept {
  return kEngines[static_cast<std::size_t>(engine)];
}

Engine parse_engine(std::string_view name) {
  return static_cast<Engine>(index_of("engine", name, kEngines));
}

std::string_view to_string(StatePrefix prefix) noexcept {
  return kPrefixes[static_cast<std::size_t>(prefix)];
}

StatePrefix parse_state_prefix(std::string_view name) {
  return static_cast<StatePrefix>(index_of("state prefix", name, kPrefixes));
}

std::string_view kind_name(const LayerClass& layers) noexcept {
  if (layers.kind == CacheKind::Attention) {
    return layers.window > 0 ? "window" : "full";
  }
  return to_string(layers.kind);
}

EngineCapacity engine_capacity(const SizingRequest& request) {
  check(request);
  EngineCapacity result;
  switch (request.engine) {
    case Engine::Octavo:
      refuse_engine("engine octavo is sized by its storage plan, not by a profile");
    case Engine::VllmOld:
    case Engine::Vllm:
      return size_vllm(request);
    case Engine::Sglang:
      return size_sglang(request);
    case Engine::TensorRtLlm:
      return size_tensorrt_llm(request);
  }
  return result;
}

}  // namespace octavo::sim
