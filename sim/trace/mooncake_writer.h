// Writing Mooncake JSONL (traces/FORMAT.md).
#pragma once

#include <ostream>
#include <string>

#include "octavo/sim/trace.h"

namespace octavo::sim {

/// Writes one line: times in milliseconds, exact to the nanosecond. `line` is kept for its
/// capacity.
void write_mooncake(const TraceRequest& request, std::string& line, std::ostream& out);

}  // namespace octavo::sim
