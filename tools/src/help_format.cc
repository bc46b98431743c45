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
  return out + wrapped(description, kPageWidth - kNameWidth, kNameWidth) + '\n';
}

class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_description(const CLI::App* app) const override {
    return wrapped(app->get_description(), kPageWidth, 0) + "\n\n";
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

}  // namespace

std::shared_ptr<CLI::FormatterBase> help_formatter() {
  return std::make_shared<HelpFormatter>();
}

}  // namespace octavo::tools
