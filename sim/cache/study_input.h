// What the studies of a trace check before they count anything.
#pragma once

#include <cstdint>

#include "octavo/sim/trace.h"

namespace octavo::sim {

/// Raises InvalidArgument "STUDY: NAME VALUE is outside [LOW, HIGH]" unless it is inside.
void check_range(
    const char* study, const char* name, std::int64_t value, std::int64_t low, std::int64_t high);

/// Raises InputError for a trace that says nothing of what prompts share.
void require_prefix_ids(const TraceReader& trace);

/// The next request, of the first `limit` (0: of all) of which `done` were read; false at the end.
/// Raises InputError for a prompt that no pool could ever hold.
bool next_request(TraceReader& trace, std::int64_t limit, std::int64_t done, TraceRequest& request);

}  // namespace octavo::sim
