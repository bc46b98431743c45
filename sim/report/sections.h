// The sections of a page, each HTML or nothing.
#pragma once

#include <string>
#include <vector>

#include "results.h"

namespace octavo::sim::report {

/// One plan: what fits, where the memory goes, the layers, the waste, what moves the answer.
std::string plan_section(const Result& plan);

/// Every equation of a plan made with --explain.
std::string equations_section(const Result& plan);

/// Hit rates by size: curves, pools of a replay, and what plans know of a trace.
std::string curve_section(const std::vector<Result>& results);

/// Latencies: of each simulation, and against load where there are several.
std::string latency_section(const std::vector<Result>& results);

/// Deployments that a plan tried, and the front of them.
std::string deployment_section(const std::vector<Result>& results);

/// Blocks live, parked and free over time.
std::string blocks_section(const std::vector<Result>& results);

}  // namespace octavo::sim::report
