// `octavo completion` and `octavo man`: the declarations of all commands, for shells and for man.
#include <memory>
#include <string>
#include <vector>

#include "command.h"
#include "command_text.h"
#include "validate.h"
#include "version.h"

namespace octavo::tools {

void register_completion(CLI::App& app, Context& context) {
  auto shell = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("completion", "a completion script for bash, zsh or fish");
  command->add_option("SHELL", *shell, "bash, zsh or fish")
      ->required()
      ->check(one_of({"bash", "zsh", "fish"}));
  command->footer(
      "Example:\n  octavo completion bash > ~/.local/share/bash-completion/completions/octavo");
  command->callback([shell, &app, &context] {
    context.run = [shell, &app, &context] {
      const std::vector<CommandText> commands = command_texts(app);
      context.out << (*shell == "bash"  ? bash_completion(commands)
                      : *shell == "zsh" ? zsh_completion(commands)
                                        : fish_completion(commands));
      return int{kExitOk};
    };
  });
}

void register_man(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand("man", "the manual page, in roff");
  command->footer("Example:\n  octavo man | man -l -");
  command->callback([&app, &context] {
    context.run = [&app, &context] {
      context.out << manual_page(command_texts(app), "octavo " + std::string(version().version));
      return int{kExitOk};
    };
  });
}

}  // namespace octavo::tools
