// Checks for option values, with short messages: "--blocks: 0 is outside [1, 2147483647]".
//
// CLI11's own ones print ranges of 300 digits and read "010" as eight.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

namespace octavo::tools {

inline constexpr std::int64_t kInt32Max = std::numeric_limits<std::int32_t>::max();
inline constexpr std::int64_t kInt64Max = std::numeric_limits<std::int64_t>::max();

/// A decimal integer in [least, most]. Use: app.add_option(...)->check(integer_range(1,
/// kInt32Max)).
CLI::Validator integer_range(std::int64_t least, std::int64_t most);

/// A finite decimal number in [least, most], or in (least, most] with `above`.
CLI::Validator number_range(double least, double most, bool above = false);

/// A name that `parse` takes: one that throws an Error is refused with its message, but for the
/// caller's name in front of that.
CLI::Validator taken_by(void (*parse)(std::string_view name));

/// One of the words, as it stands.
CLI::Validator one_of(std::vector<std::string> words);

/// An option "N[,N...]" of integers in [least, most]; `values` is replaced by what is given. Empty
/// elements are refused. The option may be repeated; the lists are joined.
CLI::Option* add_integer_list(CLI::App& app,
                              const std::string& name,
                              std::vector<std::int64_t>& values,
                              std::int64_t least,
                              std::int64_t most,
                              const std::string& description);

/// An option of a size in bytes: a decimal number, then nothing, B, KiB, MiB, GiB, TiB (powers of
/// 1024) or KB, MB, GB, TB (powers of 1000). The result is rounded down and must be at least 1.
CLI::Option* add_size(CLI::App& app,
                      const std::string& name,
                      std::int64_t& size_bytes,
                      const std::string& description);

/// What the options above do with their text; throws UsageError "NAME: what is wrong".
std::int64_t parse_integer(std::string_view name,
                           std::string_view text,
                           std::int64_t least,
                           std::int64_t most);
std::vector<std::int64_t> parse_integer_list(std::string_view name,
                                             std::string_view text,
                                             std::int64_t least,
                                             std::int64_t most);
std::int64_t parse_size(std::string_view name, std::string_view text);

}  // namespace octavo::tools
