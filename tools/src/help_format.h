// The help pages: at most 80 columns wide, whatever CLI11 makes of long descriptions.
#pragma once

#include <memory>

#include <CLI/CLI.hpp>

namespace octavo::tools {

/// Names in a column of 26, descriptions wrapped beside them, with default and "required" at their
/// end; a subcommand's page closes with the options that every command takes.
std::shared_ptr<CLI::FormatterBase> help_formatter();

}  // namespace octavo::tools
