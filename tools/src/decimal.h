// Options with a decimal point that are kept as integers: "--rate 2.5" is 2,500,000 of a millionth.
// No floating point is involved, so that what is computed from them is the same everywhere.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <CLI/CLI.hpp>

namespace octavo::tools {

/// The number in units of 10^-digits, in [least, most] of them. Throws UsageError "NAME: what is
/// wrong" for anything but a plain decimal number with at most `digits` digits behind the point.
std::int64_t parse_decimal(std::string_view name,
                           std::string_view text,
                           int digits,
                           std::int64_t least,
                           std::int64_t most);

/// "2.5" for 2,500,000 with 6 digits.
std::string decimal_text(std::int64_t value, int digits);

/// An option of such a number; `value` holds its default, which the help shows.
CLI::Option* add_decimal(CLI::App& app,
                         const std::string& name,
                         std::int64_t& value,
                         int digits,
                         std::int64_t least,
                         std::int64_t most,
                         const std::string& description);

}  // namespace octavo::tools
