// The readers behind open_trace, one a format. Each takes over a LineReader that stands before the
// first line that is not blank.
#pragma once

#include <memory>

#include "line_reader.h"
#include "octavo/sim/trace.h"

namespace octavo::sim {

/// `block_size` in [1, kTraceBlockMax].
std::unique_ptr<TraceReader> open_mooncake(LineReader&& lines, std::int64_t block_size);

/// Reads the header. A `block_size` other than 0 must be the header's.
std::unique_ptr<TraceReader> open_octavo(LineReader&& lines, std::int64_t block_size);

}  // namespace octavo::sim
