#include "misspelt.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace octavo::tools {
namespace {

// Edits (insert, drop, replace, swap of neighbours) that turn a into b.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before_last(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) {
    last[j] = j;
  }
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before_last[j - 2] + 1);
      }
    }
    std::swap(before_last, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

// The option of that name in `app` or in a command above it, to which CLI11 falls through.
const CLI::Option* find_option(const CLI::App* app, const std::string& name) {
  for (; app != nullptr; app = app->get_parent()) {
    if (const CLI::Option* option = app->get_option_no_throw(name)) {
      return option;
    }
  }
  return nullptr;
}

std::vector<std::string> long_options(const CLI::App* app) {
  std::vector<std::string> names;
  for (; app != nullptr; app = app->get_parent()) {
    for (const CLI::Option* option : app->get_options({})) {
      for (const std::string& name : option->get_lnames()) {
        names.push_back("--" + name);
      }
    }
  }
  return names;
}

std::string message(std::string_view what,
                    const std::string& word,
                    std::span<const std::string> names,
                    std::string_view otherwise) {
  std::string text = "no ";
  text += what;
  text += " '";
  text += word;
  text += '\'';
  if (const std::string near = nearest(word, names); !near.empty()) {
    text += "; did you mean '";
    text += near;
    text += "'?";
  } else {
    text += otherwise;
  }
  return text;
}

std::string no_subcommand(const CLI::App& app, const std::string& word) {
  std::vector<std::string> names;
  std::string all = "; there are:";
  for (const CLI::App* command : app.get_subcommands({})) {
    names.push_back(command->get_name());
    all += ' ';
    all += names.back();
  }
  return message("subcommand", word, names, all);
}

}  // namespace

std::string nearest(std::string_view word, std::span<const std::string> names) {
  const std::size_t letters = word.size() - std::min(word.find_first_not_of('-'), word.size());
  std::size_t best = letters <= 4 ? 2 : 3;  // one above what still counts as near
  std::string found;
  for (const std::string& name : names) {
    if (const std::size_t edits = distance(word, name); edits < best) {
      best = edits;
      found = name;
    }
  }
  return found;
}

std::optional<Misspelt> find_misspelt(const CLI::App& app, std::span<const std::string> args) {
  const CLI::App* here = &app;
  std::string command = app.get_name();
  for (std::size_t i = 0; i < args.size(); ++i) {
    const std::string& word = args[i];
    if (word == "--") {
      break;
    }
    if (word.starts_with("-") && word.size() > 1) {
      const bool is_long = word.starts_with("--");
      const std::string name = word.substr(0, is_long ? word.find('=') : 2);
      const CLI::Option* option = find_option(here, name);
      if (option == nullptr && is_long) {
        const std::string help = " (see " + command + " --help)";
        return Misspelt{.command = command,
                        .message = message("option", name, long_options(here), help)};
      }
      if (option != nullptr && name == word) {
        i += static_cast<std::size_t>(std::max(option->get_items_expected_min(), 0));  // its values
      }
    } else if (const auto commands = here->get_subcommands({}); !commands.empty()) {
      const auto chosen =
          std::find_if(commands.begin(), commands.end(),
                       [&](const CLI::App* candidate) { return candidate->check_name(word); });
      if (chosen == commands.end()) {
        return Misspelt{.command = command, .message = no_subcommand(*here, word)};
      }
      here = *chosen;
      command += ' ';
      command += here->get_name();
    }
  }
  return std::nullopt;
}

}  // namespace octavo::tools
