// Steps that somebody timed, from a CSV file: what a table of steps and a fit are made of.
//
//     prefill_tokens,decode_sequences,kv_tokens,time_us
//     0,1,1000,7012.5
//
// The first line names the columns, in any order. `prefill_sequences`, `decode_tokens` and
// `attended_pairs` may stand beside them; other columns are ignored. sim/COST.md has their meaning.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "octavo/sim/serve/step_cost.h"

namespace octavo::sim {

struct MeasuredStep {
  StepShape shape;  ///< In span 0; decode_tokens is decode_sequences where no column says else.
  std::int64_t time_ns = 0;
  std::int64_t line = 0;
};

struct MeasuredSteps {
  std::string file;
  std::vector<MeasuredStep> steps;
  bool has_prefill_sequences = false;
  bool has_attended_pairs = false;
};

/// Raises InputError for a file that cannot be read, is empty or has no steps; a column that is
/// missing or named twice; a value that is no whole number in [0, 2^53], a time that is not above
/// 0 us; a row with another number of fields.
MeasuredSteps read_measured_steps(const std::string& path);

}  // namespace octavo::sim
