// Numbers and units as the page writes them; nothing depends on the locale.
#pragma once

#include <string>

namespace octavo::sim::report {

/// Thousands grouped, at most `decimals` behind the point, trailing zeros left away: "12,345.6".
std::string number(double value, int decimals);

/// With about `digits` significant digits and no exponent: "0.04071", "12,346".
std::string significant(double value, int digits);

/// For the marks of an axis, three significant digits: "12k", "1.5M", "0.25".
std::string short_number(double value);

/// Exactly `decimals` decimals and no grouping, as SVG wants its coordinates.
std::string plain(double value, int decimals);

/// "1 request", "2 requests".
std::string counted(double count, const std::string& one);

inline constexpr double kBytesPerGib = 1073741824.0;

}  // namespace octavo::sim::report
