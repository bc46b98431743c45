#include "help_format.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

namespace octavo::tools {
namespace {

constexpr std::size_t kNameWidth = 26;
constexpr std::size_t kPageWidth = 80;

// `text` with line feeds in place of blanks, so that no line is longer than `width`; a line break
// in the text stays one. Lines after the first are indented.
std::string wrapped(std::string_view text, std::size_t width, std::size_t indent) {
  std::string out;
  std::size_t column = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of(" \n"), text.size());
    const std::string_view word = text.substr(0, end);
    if (column > 0 && column + 1 + word.size() > width) {
      out += '\n';
      out.append(indent, ' ');
      column = 0;
    }
    if (column > 0 && !word.empty()) {
      out += ' ';
      ++column;
    }
    out += word;
    column += word.size();
    if (end < text.size() && text[end] == '\n') {
      out += '\n';
      out.append(indent, ' ');
      column = 0;
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

std::string entry(const std::string& name, const std::string& description) {
  std::string out = "  " + name;
  if (description.empty()) {
    return out + '\n';
  }
  if (out.size() + 2 > kNameWidth) {
    out += '\n';
    out.append(kNameWidth, ' ');
  } else {
    out.resize(kNameWidth, ' ');
  }
  return out + wrapped(as_entry(description), kPageWidth - kNameWidth, kNameWidth) + '\n';
}

class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_description(const CLI::App* app) const override {
    return wrapped(as_sentence(app->get_description()), kPageWidth, 0) + "\n\n";
  }

  std::string make_help(const CLI::App* app,
                        std::string name,
                        CLI::AppFormatMode mode) const override {
    std::string out = make_description(app) + make_usage(app, name) + make_positionals(app);
    const char* gap = "";
    for (const std::string& group : app->get_groups()) {
      const auto options = app->get_options([&group](const CLI::Option* option) {
        return option->get_group() == group && option->nonpositional();
      });
      const bool shown = group != kMoreOptions || mode == CLI::AppFormatMode::All;
      if (shown && !group.empty() && !options.empty()) {
        out += gap + make_group(group, false, options);
        gap = "\n";
      }
    }
    return out + make_subcommands(app, CLI::AppFormatMode::Normal) + '\n' + make_footer(app);
  }

  std::string make_option(const CLI::Option* option, bool is_positional) const override {
    std::string name = make_option_name(option, is_positional);
    std::string text = option->get_description();
    if (!is_positional && option->get_type_size() != 0 && !option->get_type_name().empty()) {
      name += ' ';
      name += option->get_type_name();
    }
    if (!option->get_default_str().empty()) {
      text += " [" + option->get_default_str() + "]";
    }
    if (option->get_required() && !is_positional) {
      text += " (required)";
    }
    return entry(name, text);
  }

  std::string make_subcommand(const CLI::App* sub) const override {
    return entry(sub->get_display_name(), sub->get_description());
  }

  std::string make_footer(const CLI::App* app) const override {
    const CLI::App* program = app;
    while (program->get_parent() != nullptr) {
      program = program->get_parent();
    }
    std::string out;
    if (program != app) {
      out += "Every command's options:\n";
      for (const char* name : {"--json", "--quiet"}) {
        if (const CLI::Option* option = program->get_option_no_throw(name)) {
          out += make_option(option, false);
        }
      }
    }
    const std::string footer = app->get_footer();
    if (!out.empty() && !footer.empty()) {
      out += '\n';
    }
    return footer.empty() ? out : out + footer + '\n';
  }
};

bool is_small(char c) {
  return c >= 'a' && c <= 'z';
}

bool is_capital(char c) {
  return c >= 'A' && c <= 'Z';
}

}  // namespace

std::string as_entry(std::string text) {
  // A capital before another one or a digit belongs to the word.
  if (text.size() > 1 && is_capital(text[0]) && (is_small(text[1]) || text[1] == ' ')) {
    text[0] = static_cast<char>(text[0] - 'A' + 'a');
  }
  return text;
}

std::string as_sentence(std::string text) {
  if (text.size() > 1 && is_small(text[0]) && !is_capital(text[1])) {
    text[0] = static_cast<char>(text[0] - 'a' + 'A');
  }
  return text;
}

void show_first(CLI::App& command, std::initializer_list<const char*> first) {
  command.set_help_all_flag("--help-all", "print all options and exit");
  for (CLI::Option* option : command.get_options({})) {
    const auto is_option = [option](const char* name) { return option->check_name(name); };
    const bool help = option == command.get_help_ptr() || option == command.get_help_all_ptr();
    if (!help && std::none_of(first.begin(), first.end(), is_option)) {
      option->group(kMoreOptions);
    }
  }
}

std::shared_ptr<CLI::FormatterBase> help_formatter() {
  return std::make_shared<HelpFormatter>();
}

}  // namespace octavo::tools
