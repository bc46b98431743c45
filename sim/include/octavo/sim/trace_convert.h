// Writing any readable trace as an Octavo or a Mooncake trace, with other blocks, a part of it, or
// another pace.
//
// Requests stream through one at a time; only sorting keeps all of them. Nothing is dropped
// silently: what the target cannot hold is refused with the line it stands in, or counted when the
// caller accepts the loss.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <ostream>
#include <string>

#include "octavo/sim/trace.h"

namespace octavo::sim {

struct ConvertOptions {
  TraceFormat format = TraceFormat::Octavo;  ///< Octavo or Mooncake.

  /// Prompt tokens an id of the result stands for: 0 is the trace's own, else a divisor of it. Each
  /// id is then split into names of its parts, the last one cut to the prompt's true length; what
  /// is shared, and where, stays as it was. A trace without ids needs it, in [1, 2^31 - 1].
  std::int64_t block_size = 0;

  /// Only requests that arrive in [from_ns, to_ns), with times counted from `from_ns`; the
  /// largest number is no end.
  std::int64_t from_ns = 0;
  std::int64_t to_ns = std::numeric_limits<std::int64_t>::max();

  std::int64_t limit = 0;  ///< Only the first so many of those, in file order; 0 is all.

  /// Arrivals and delays are divided by it, rounding down; in millionths, [1, 10^15].
  std::int64_t speedup_micro = 1'000'000;

  bool sort = false;   ///< By arrival; equal ones stay in file order. Keeps the trace in memory.
  bool lossy = false;  ///< What the target cannot hold is dropped and counted.
};

struct ConvertResult {
  std::int64_t read = 0;
  std::int64_t written = 0;
  std::int64_t block_size = 0;               ///< Of the result.
  std::map<std::string, std::int64_t> lost;  ///< Field, and requests that lost it.
};

/// Called after every request read with the number of them.
using ConvertProgress = std::function<void(std::int64_t)>;

/// Writes what `options` select of `trace` to `out`, whose state the caller checks. Raises
/// InvalidArgument for an option outside its range and a block size that does not divide the
/// trace's, InputError for what is wrong with the trace, or for a field that cannot be kept and
/// may not be dropped.
ConvertResult convert_trace(TraceReader& trace,
                            const ConvertOptions& options,
                            std::ostream& out,
                            const ConvertProgress& progress = {});

}  // namespace octavo::sim
