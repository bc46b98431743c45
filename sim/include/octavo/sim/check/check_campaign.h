// A campaign: check after check, each with the next seed, until somebody says stop or something is
// found.
//
// Single-threaded.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "octavo/sim/check/check.h"

namespace octavo::sim {

struct CampaignOptions {
  CheckOptions check;  ///< `check.seed` is the first run's; `check.states` is replaced.
  /// The trace of the run with this seed. Null: a generated one, its kind and size drawn.
  std::function<std::unique_ptr<TraceReader>(std::uint64_t seed)> trace = {};
  std::int64_t runs = 0;  ///< At most; 0: as long as `go_on` says.
  /// Asked before each run but the first, with what was done so far. Null: always.
  std::function<bool(const CheckFigures&, std::int64_t runs)> go_on = {};
};

struct CampaignResult {
  CheckFigures figures;
  std::int64_t runs = 0;
  std::int64_t requests = 0;
  bool states_saturated = false;           ///< There were more states than `distinct_states`.
  std::optional<CheckResult> failed = {};  ///< The run that found something; it is not shrunk.
  std::uint64_t failed_seed = 0;
};

/// Raises as `run_check`, and InvalidArgument without an end.
CampaignResult run_check_campaign(const CampaignOptions& options);

}  // namespace octavo::sim
