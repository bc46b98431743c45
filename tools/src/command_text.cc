#include "command_text.h"

#include "help_format.h"

namespace octavo::tools {
namespace {

OptionText text_of(const CLI::Option& option) {
  OptionText text;
  text.positional = !option.nonpositional();
  if (text.positional) {
    text.names.push_back(option.get_name(true));
  } else {
    for (const std::string& name : option.get_snames()) {
      text.names.push_back("-" + name);
    }
    for (const std::string& name : option.get_lnames()) {
      text.names.push_back("--" + name);
    }
  }
  if (option.get_type_size() != 0) {
    text.value = option.get_type_name().empty() ? "VALUE" : option.get_type_name();
  }
  text.description = as_entry(option.get_description());
  text.default_value = option.get_default_str();
  text.required = option.get_required();
  return text;
}

void add(const CLI::App& command, const std::string& path, std::vector<CommandText>& all) {
  CommandText text;
  text.path = path;
  text.description = command.get_description();
  text.footer = command.get_footer();
  for (const CLI::Option* option : command.get_options({})) {
    text.options.push_back(text_of(*option));
  }
  const std::vector<const CLI::App*> below = command.get_subcommands({});
  for (const CLI::App* next : below) {
    text.subcommands.push_back(next->get_name());
  }
  all.push_back(std::move(text));
  for (const CLI::App* next : below) {
    add(*next, path + " " + next->get_name(), all);
  }
}

}  // namespace

std::vector<CommandText> command_texts(const CLI::App& program) {
  std::vector<CommandText> all;
  add(program, program.get_name(), all);
  return all;
}

}  // namespace octavo::tools
