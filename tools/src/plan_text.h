// A capacity plan as a person reads it: tables, sentences, and every equation when asked.
#pragma once

#include <ostream>

#include "octavo/sim/capacity.h"

namespace octavo::tools {

void print_plan(const sim::CapacityPlan& plan, bool with_equations, std::ostream& out);

}  // namespace octavo::tools
