// The engines behind engine_capacity, one a file; requests are checked before.
#pragma once

#include <string>

#include "octavo/sim/engine_profile.h"

namespace octavo::sim {

EngineCapacity size_vllm(const EngineRequest& request);
EngineCapacity size_sglang(const EngineRequest& request);
EngineCapacity size_tensorrt_llm(const EngineRequest& request);

/// Raises InvalidArgument.
[[noreturn]] void refuse_engine(const std::string& text);

}  // namespace octavo::sim
