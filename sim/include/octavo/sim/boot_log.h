// What an engine printed when it started, and what follows from it for a plan.
//
// The log of a start tells terms of the memory budget that before a start can only be estimated.
// Phrases of vLLM, SGLang and TensorRT-LLM are known; a rank's lines may be repeated by others,
// then the rank with the least room counts. Plain data; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "octavo/sim/capacity.h"

namespace octavo::sim {

/// What the log says; GiB of one rank. Unset where it does not.
struct BootLog {
  std::string file;
  std::optional<Engine> engine = {};
  std::string version = {};
  std::optional<double> total_gib = {};
  std::optional<double> utilization = {};  ///< vLLM; SGLang's mem_fraction_static.
  std::optional<double> weights_gib = {};
  std::optional<double> activation_gib = {};  ///< The peak above the weights.
  std::optional<double> non_torch_gib = {};
  std::optional<double> graph_gib = {};  ///< What was set aside, or what capturing took.
  std::optional<double> kv_gib = {};
  std::optional<double> free_before_gib = {};  ///< SGLang: before the weights were loaded,
  std::optional<double> free_after_gib = {};   ///< and after.
  std::optional<double> state_gib = {};        ///< SGLang: the pool of states.
  std::optional<std::int64_t> state_slots = {};
  std::optional<std::int64_t> blocks = {};
  std::optional<std::int64_t> block_size = {};
  std::optional<std::int64_t> tokens = {};
  std::optional<std::int64_t> max_len = {};
  std::optional<double> concurrency = {};
  std::vector<std::string> found = {};  ///< "line 12: KV cache 51.38 GiB", in the order of the log.
};

/// Reads `path`, at most 256 MiB of it. Raises InputError for a file that cannot be read and for
/// one in which no line of a start-up log is known.
BootLog read_boot_log(const std::string& path);
/// The same of a text.
BootLog parse_boot_log(std::string_view text, const std::string& file);

/// A question with the terms of the budget that the log tells or that follow from it.
struct Calibrated {
  PlanRequest request;
  std::vector<std::string> inferred = {};  ///< Each term: from where, with its numbers.
};

/// What the request gives stands; the log fills in the rest and the remainder of the budget,
///
///     activation + outside torch + graphs = total x utilisation - weights - KV,
///
/// when it tells the KV memory. Raises InvalidArgument when that remainder is negative: the log is
/// then of another GPU, another share or another model.
Calibrated calibrate(const PlanRequest& request, const BootLog& log);

/// How the plan's own count compares with the log's at the log's KV memory; empty when the log does
/// not tell enough. One sentence each for blocks, tokens and concurrency.
std::vector<std::string> compare_with_log(const PlanRequest& request, const BootLog& log);

}  // namespace octavo::sim
