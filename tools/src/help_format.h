// The help pages: at most 80 columns wide, whatever CLI11 makes of long descriptions.
#pragma once

#include <initializer_list>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>

namespace octavo::tools {

/// The heading of the options that only --help-all shows.
inline constexpr char kMoreOptions[] = "More options";

/// Gives a command of many options a page that fits a screen: --help shows those of `first` alone,
/// and --help-all every one. Call it when all options are there.
void show_first(CLI::App& command, std::initializer_list<const char*> first);

/// "Trace file" -> "trace file", as it stands in a list; "GPUs" and "A100" keep their capitals.
std::string as_entry(std::string text);

/// "hit rates" -> "Hit rates", as it stands at the top of a page; "vLLM" stays.
std::string as_sentence(std::string text);

/// Names in a column of 26, descriptions wrapped beside them, with default and "required" at their
/// end; a subcommand's page closes with the options that every command takes.
std::shared_ptr<CLI::FormatterBase> help_formatter();

}  // namespace octavo::tools
