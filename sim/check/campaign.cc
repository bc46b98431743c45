#include "octavo/error.h"
#include "octavo/sim/check/check_campaign.h"
#include "octavo/sim/rng.h"
#include "octavo/sim/trace_generate.h"

namespace octavo::sim {
namespace {

std::unique_ptr<TraceReader> generated_trace(std::uint64_t seed) {
  Rng rng(seed ^ 0x7472616365ULL);
  WorkloadOptions options;
  options.kind = static_cast<WorkloadKind>(rng.below(3));
  options.seed = rng.next() >> 1U;
  options.requests = rng.between(10, 60);
  options.pool_blocks = rng.between(8, 64);
  return make_workload(options);
}

}  // namespace

CampaignResult run_check_campaign(const CampaignOptions& options) {
  if (options.runs <= 0 && !options.go_on) {
    throw Error(ErrorCode::InvalidArgument, "check: a campaign of 0 runs that nobody ends");
  }
  StateCount states;
  CheckOptions check = options.check;
  check.states = &states;
  CampaignResult result;
  for (; options.runs <= 0 || result.runs < options.runs; ++check.seed) {
    if (result.runs > 0 && options.go_on && !options.go_on(result.figures, result.runs)) {
      break;
    }
    const std::unique_ptr<TraceReader> trace =
        options.trace ? options.trace(check.seed) : generated_trace(check.seed);
    CheckResult run = run_check(*trace, check);
    ++result.runs;
    result.requests += run.requests;
    result.figures.add(run.figures);
    if (run.violation) {
      result.failed = std::move(run);
      result.failed_seed = check.seed;
      break;
    }
  }
  result.states_saturated = states.saturated();
  return result;
}

}  // namespace octavo::sim
