// The manual page, in the man macros.
#include <algorithm>
#include <string_view>

#include "command_text.h"
#include "help_format.h"

namespace octavo::tools {
namespace {

/// Text of a line: backslashes and hyphens that are to be copied are escaped, and no line begins
/// with what roff takes for a request.
std::string roff(std::string_view text) {
  std::string out;
  bool fresh = true;
  for (const char c : text) {
    if (fresh && (c == '.' || c == '\'')) {
      out += "\\&";
    }
    fresh = c == '\n';
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
  }
  return out;
}

std::string upper(std::string text) {
  for (char& c : text) {
    c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  }
  return text;
}

std::string example(std::string_view lines) {
  return ".PP\n.nf\n" + roff(lines) + "\n.fi\n";
}

/// The paragraphs of a footer; those of indented lines keep their lines.
std::string footer(const std::string& text) {
  std::string out;
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find("\n\n"), rest.size());
    const std::string_view paragraph = rest.substr(0, end);
    out += paragraph.find("\n  ") != std::string_view::npos ? example(paragraph)
                                                            : ".PP\n" + roff(paragraph) + "\n";
    rest.remove_prefix(std::min(end + 2, rest.size()));
  }
  return out;
}

std::string option(const OptionText& option) {
  std::string out = ".TP\n";
  for (const std::string& name : option.names) {
    out += (&name == &option.names.front() ? "\\fB" : ", \\fB") + roff(name) + "\\fR";
  }
  if (!option.value.empty() && !option.positional) {
    out += " \\fI" + roff(option.value) + "\\fR";
  }
  out += "\n" + roff(option.description);
  if (!option.default_value.empty()) {
    out += " [" + roff(option.default_value) + "]";
  }
  return out + (option.required ? " (required)\n" : "\n");
}

std::string options(const CommandText& command) {
  std::string out;
  for (const OptionText& one : command.options) {
    out += option(one);
  }
  return out;
}

}  // namespace

std::string manual_page(const std::vector<CommandText>& commands, const std::string& version) {
  const CommandText& program = commands.front();
  std::string out = ".TH " + upper(program.path) + " 1 \"\" \"" + roff(version) + "\" \"\"\n";
  out += ".SH NAME\n" + program.path + " \\- the serving\\-side KV cache of LLM inference\n";
  out += ".SH SYNOPSIS\n";
  for (const CommandText& command : commands) {
    if (command.subcommands.empty()) {
      out += ".B " + roff(command.path) + "\n[\\fIoptions\\fR]";
      for (const OptionText& one : command.options) {
        out += one.positional ? " \\fI" + roff(one.names.back()) + "\\fR" : "";
      }
      out += "\n.br\n";
    }
  }
  out += ".SH DESCRIPTION\n" + roff(program.description) + "\n";
  out += ".SH OPTIONS\n" + options(program);
  out += ".SH COMMANDS\n";
  for (std::size_t i = 1; i < commands.size(); ++i) {
    const CommandText& command = commands[i];
    out += ".SS " + roff(command.path) + "\n" + roff(as_sentence(command.description)) + ".\n" +
           options(command) + footer(command.footer);
  }
  return out + ".SH NOTES\n" + footer(program.footer);
}

}  // namespace octavo::tools
