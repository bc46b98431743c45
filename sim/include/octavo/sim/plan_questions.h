// Questions about a plan: what must change for a wanted concurrency, whether a requirement holds,
// and which inputs the answer hangs on.
//
// Pure functions over plan_capacity; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "octavo/sim/capacity.h"

namespace octavo::sim {

/// What alone, everything else as asked, would run so many requests of max_len at once. Unset where
/// that alone cannot. max_num_seqs is taken as large as the wanted concurrency needs.
struct WaysToReach {
  double concurrency = 0;
  std::optional<double> utilization = {};         ///< In thousandths, at most 1.
  std::optional<std::int64_t> gpus = {};          ///< The fewest, with the division below.
  Division division = {};                         ///< Of those GPUs.
  std::optional<std::string> kv_dtype = {};       ///< The widest of bf16, fp8, int8, int4.
  std::optional<std::int64_t> max_len = {};       ///< The longest.
  std::optional<std::int64_t> max_num_seqs = {};  ///< When the one asked for is too small.
};

/// At most this many GPUs are tried.
inline constexpr std::int64_t kGpusTried = 64;

/// Raises InvalidArgument for a concurrency that is not in [1, kMaxSeqs], and what plan_capacity
/// raises for the question itself.
WaysToReach ways_to_reach(const PlanRequest& request, double concurrency);

/// "concurrency>=32": a figure of the plan, one of >=, >, <=, <, ==, and a number.
struct Requirement {
  std::string figure;
  std::string relation;
  double value = 0;

  std::string text() const;
};

/// The figures that a requirement may name: concurrency, tokens, blocks, gpus, kv_budget_gib,
/// hit_rate (with a trace).
std::vector<std::string> requirement_figures();

/// Raises InvalidArgument for a text of another shape or another figure.
Requirement parse_requirement(std::string_view text);

struct Verdict {
  Requirement requirement;
  double value = 0;  ///< What the plan has.
  bool met = false;
};
/// Raises InvalidArgument for hit_rate of a plan without a trace.
Verdict judge_requirement(const CapacityPlan& plan, const Requirement& requirement);

/// How far one input moves the answer, the others at what is expected.
struct Sensitivity {
  std::string input;  ///< "activation peak"
  std::string range;  ///< "4.41 to 6.02 GiB"
  std::int64_t tokens_at_low = 0;
  std::int64_t tokens_at_high = 0;

  std::int64_t spread() const noexcept {
    return tokens_at_low > tokens_at_high ? tokens_at_low - tokens_at_high
                                          : tokens_at_high - tokens_at_low;
  }
};

/// The largest spread first; inputs that were given do not count as uncertain, the utilisation is
/// moved by one hundredth each way. Empty when the KV budget was given.
std::vector<Sensitivity> sensitivities(const CapacityPlan& plan);

/// The header and one line of the plan's main figures, for spreadsheets (RFC 4180).
std::string to_csv(const CapacityPlan& plan);

}  // namespace octavo::sim
