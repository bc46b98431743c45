// Completion scripts. In each, a walk over the words finds the command they have reached, passing
// over the values of options.
#include <algorithm>

#include "command_text.h"
#include "help_format.h"

namespace octavo::tools {
namespace {

/// In single quotes, for all three shells.
std::string in_quotes(const std::string& text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'') {
      out += "'\\''";
    } else {
      out += c == '\n' ? ' ' : c;
    }
  }
  return out + "'";
}

/// The words that may stand behind a command: those below it, its options and the program's.
std::vector<std::string> words_of(const CommandText& command, const CommandText& program) {
  std::vector<std::string> words = command.subcommands;
  const auto add_options = [&words](const CommandText& of) {
    for (const OptionText& option : of.options) {
      if (!option.positional) {
        words.push_back(option.names.back());
      }
    }
  };
  add_options(command);
  if (command.path != program.path) {
    for (const OptionText& option : program.options) {
      if (option.names.back() == "--json" || option.names.back() == "--quiet") {
        words.push_back(option.names.back());
      }
    }
  }
  return words;
}

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) {
    out += (out.empty() ? "" : " ") + word;
  }
  return out;
}

/// Patterns "COMMAND OPTION" of the options that take a value, between bars.
std::string value_patterns(const std::vector<CommandText>& commands) {
  std::string out;
  for (const CommandText& command : commands) {
    for (const OptionText& option : command.options) {
      if (!option.positional && !option.value.empty()) {
        for (const std::string& name : option.names) {
          out += (out.empty() ? "" : "|") + in_quotes(command.path + " " + name);
        }
      }
    }
  }
  return out;
}

/// Patterns "COMMAND WORD" of the words that name a command, between bars.
std::string command_patterns(const std::vector<CommandText>& commands) {
  std::string out;
  for (std::size_t i = 1; i < commands.size(); ++i) {
    out += (i > 1 ? "|" : "") + in_quotes(commands[i].path);
  }
  return out;
}

/// The lines that set `command` and `value` in bash and zsh, whose words are `word_list` from
/// `first` on, up to the one before `last`.
std::string walk(const std::vector<CommandText>& commands,
                 const std::string& word_list,
                 const std::string& first,
                 const std::string& last) {
  return "  local command='octavo' value='' i\n"
         "  for ((i = " +
         first + "; i < " + last +
         "; ++i)); do\n"
         "    if [[ -n $value ]]; then value=''; continue; fi\n"
         "    case \"$command ${" +
         word_list + "[i]}\" in\n      " + command_patterns(commands) + ") command+=\" ${" +
         word_list + "[i]}\" ;;\n      " + value_patterns(commands) +
         ") value=yes ;;\n"
         "    esac\n"
         "  done\n";
}

}  // namespace

std::string bash_completion(const std::vector<CommandText>& commands) {
  std::string out =
      "# Completion of octavo for bash; load it with: source <(octavo completion bash)\n"
      "_octavo() {\n" +
      walk(commands, "COMP_WORDS", "1", "COMP_CWORD") +
      "  COMPREPLY=()\n"
      "  [[ -n $value ]] && return\n"
      "  local words=''\n"
      "  case \"$command\" in\n";
  for (const CommandText& command : commands) {
    out += "    " + in_quotes(command.path) +
           ") words=" + in_quotes(joined(words_of(command, commands.front()))) + " ;;\n";
  }
  return out +
         "  esac\n"
         "  local IFS=$' \\t\\n'\n"
         "  COMPREPLY=($(compgen -W \"$words\" -- \"${COMP_WORDS[COMP_CWORD]}\"))\n"
         "}\n"
         "complete -o default -F _octavo octavo\n";
}

std::string zsh_completion(const std::vector<CommandText>& commands) {
  std::string out =
      "#compdef octavo\n"
      "# Completion of octavo for zsh; load it with: source <(octavo completion zsh)\n"
      "_octavo() {\n" +
      walk(commands, "words", "2", "CURRENT") +
      "  if [[ -n $value ]]; then _files; return; fi\n"
      "  local -a all\n"
      "  case \"$command\" in\n";
  for (const CommandText& command : commands) {
    out += "    " + in_quotes(command.path) + ") all=(" +
           joined(words_of(command, commands.front())) + ") ;;\n";
  }
  return out +
         "  esac\n"
         "  compadd -a all\n"
         "  _files\n"
         "}\n"
         // Read by compinit, the file is the function's first call; sourced, it is not.
         "if [[ ${funcstack[1]} == _octavo ]]; then _octavo \"$@\"; "
         "else compdef _octavo octavo; fi\n";
}

std::string fish_completion(const std::vector<CommandText>& commands) {
  std::string out =
      "# Completion of octavo for fish; load it with: octavo completion fish | source\n";
  for (const CommandText& command : commands) {
    // The words of the command were seen, and none of those below it.
    std::string seen;
    const std::size_t first = command.path.find(' ');
    std::string rest = first == std::string::npos ? "" : command.path.substr(first + 1);
    for (std::size_t end = 0; !rest.empty(); rest.erase(0, end + (end < rest.size() ? 1 : 0))) {
      end = std::min(rest.find(' '), rest.size());
      seen +=
          (seen.empty() ? "" : "; and ") + ("__fish_seen_subcommand_from " + rest.substr(0, end));
    }
    std::string condition = seen;
    if (!command.subcommands.empty()) {
      condition += (seen.empty() ? "" : "; and ") +
                   ("not __fish_seen_subcommand_from " + joined(command.subcommands));
    }
    const std::string head = "complete -c octavo -n " + in_quotes(condition);
    for (const CommandText& below : commands) {
      if (below.path.size() > command.path.size() && below.path.starts_with(command.path + " ") &&
          below.path.find(' ', command.path.size() + 1) == std::string::npos) {
        out += head + " -f -a " + in_quotes(below.path.substr(command.path.size() + 1)) + " -d " +
               in_quotes(as_sentence(below.description)) + "\n";
      }
    }
    for (const OptionText& option : command.options) {
      if (option.positional) {
        continue;
      }
      // The program's own options may stand behind every command.
      out += command.path == "octavo" ? "complete -c octavo" : head;
      for (const std::string& name : option.names) {
        out += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      }
      out += (option.value.empty() ? "" : " -r") + (" -d " + in_quotes(option.description)) + "\n";
    }
  }
  return out;
}

}  // namespace octavo::tools
