// Finds a misspelt subcommand or option before CLI11 parses.
//
// CLI11 checks required options first, so that `octavo replay --blcoks 5` would be answered with
// "--blocks is required" instead of naming the typing error.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <CLI/CLI.hpp>

namespace octavo::tools {

struct Misspelt {
  std::string command;  ///< The command it was found in, e.g. "octavo replay".
  std::string message;  ///< "no option '--blcoks'; did you mean '--blocks'?"
};

/// The first word of `args` (without the program's name) that can only be a subcommand or a long
/// option and is none that `app` knows.
std::optional<Misspelt> find_misspelt(const CLI::App& app, std::span<const std::string> args);

/// The one of `names` that `word` most likely stands for: within two edits (a swap of neighbours is
/// one), or one for words of up to four letters; the first of equally near ones; empty if none.
std::string nearest(std::string_view word, std::span<const std::string> names);

}  // namespace octavo::tools
