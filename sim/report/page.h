// What every page has: its style and its script.
#pragma once

#include <string_view>

namespace octavo::sim::report {

/// CSS; colours of both schemes, those of series after Okabe and Ito.
std::string_view page_style();

/// JavaScript: what a chart says where it is pointed at, or where the arrow keys go. Without it the
/// page has all its charts and tables.
std::string_view page_script();

}  // namespace octavo::sim::report
