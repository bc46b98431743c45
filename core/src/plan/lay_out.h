// Second half of planning: pools, the list of allocations, and their sum.
#pragma once

#include "plan/kv_plan.h"

namespace octavo {

/// Adds pools, allocations, places and tables to a plan whose rows are resolved.
/// Raises SizeOverflow naming the allocation that does not fit into 64 bits.
void lay_out(KVPlan& plan);

/// Adds up the allocations into plan.footprint. Raises SizeOverflow when their sum does not fit.
void add_up_footprint(KVPlan& plan);

}  // namespace octavo
