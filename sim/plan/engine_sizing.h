// The engines behind engine_capacity, one a file; requests are checked before.
#pragma once

#include <string>

#include "octavo/sim/engine_profile.h"

namespace octavo::sim {

EngineCapacity size_vllm(const SizingRequest& request);
EngineCapacity size_sglang(const SizingRequest& request);
EngineCapacity size_tensorrt_llm(const SizingRequest& request);

/// Raises InvalidArgument.
[[noreturn]] void refuse_engine(const std::string& text);

}  // namespace octavo::sim
