// What is known of every command from its declaration: the one text behind the help pages, the
// manual page and the completion of shells.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace octavo::tools {

struct OptionText {
  std::vector<std::string> names;  ///< "-o", "--output"; of a positional its one name.
  std::string value;               ///< "FILE"; empty for a flag.
  std::string description;
  std::string default_value;  ///< Empty when it has none, or says it in its description.
  bool required = false;
  bool positional = false;
};

struct CommandText {
  std::string path;  ///< "octavo trace gen".
  std::string description;
  std::string footer;
  std::vector<OptionText> options;
  std::vector<std::string> subcommands;  ///< Their last words, in order.
};

/// The program first, then each command before those below it, in the order of the help pages.
std::vector<CommandText> command_texts(const CLI::App& program);

/// Scripts for bash, zsh and fish. They know commands and options; values are completed as files.
std::string bash_completion(const std::vector<CommandText>& commands);
std::string zsh_completion(const std::vector<CommandText>& commands);
std::string fish_completion(const std::vector<CommandText>& commands);

/// A manual page of section 1, in the man macros of roff. `version` stands at its foot.
std::string manual_page(const std::vector<CommandText>& commands, const std::string& version);

}  // namespace octavo::tools
