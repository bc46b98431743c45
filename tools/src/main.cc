#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "interrupt.h"
#include "program.h"
#include <unistd.h>

int main(int argc, char** argv) {
  std::ios_base::sync_with_stdio(false);
  octavo::tools::install_signal_handlers();
  const bool colour = ::isatty(STDOUT_FILENO) == 1 && std::getenv("NO_COLOR") == nullptr;
  octavo::tools::Context context{.out = std::cout,
                                 .err = std::cerr,
                                 .err_is_terminal = ::isatty(STDERR_FILENO) == 1,
                                 .colour = colour,
                                 .run = {}};
  const std::vector<std::string> args(argv + 1, argv + argc);
  return octavo::tools::run_program(args, context);
}
