// What the tests of the checker share.
#pragma once

#include <cstdint>
#include <memory>
#include <sstream>
#include <string>

#include "octavo/ref_cpu/cpu_device.h"
#include "octavo/sim/check/check.h"
#include "octavo/sim/trace_generate.h"

namespace octavo::sim {

inline CheckDevice ref_device() {
  return {.name = "ref", .make = [] { return make_cpu_device(1); }};
}

/// Small enough that a run takes a fraction of a second.
inline CheckOptions small_options(std::uint64_t seed) {
  CheckOptions options;
  options.devices = {ref_device()};
  options.seed = seed;
  options.layers = 1;
  options.head_dim = 8;
  options.max_prompt = 40;
  return options;
}

inline std::unique_ptr<TraceReader> small_trace(std::uint64_t seed,
                                                WorkloadKind kind = WorkloadKind::Chat,
                                                std::int64_t requests = 25) {
  WorkloadOptions options;
  options.kind = kind;
  options.seed = seed;
  options.requests = requests;
  return make_workload(options);
}

}  // namespace octavo::sim
