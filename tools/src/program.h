// The `octavo` program without its process: what main() runs and the tests call.
#pragma once

#include <span>
#include <string>

#include "command.h"

namespace octavo::tools {

/// Runs the program with `args` (without the program's own name); returns the exit code. Whatever
/// goes wrong is one line on `context.err`. Nothing is thrown.
int run_program(std::span<const std::string> args, Context& context);

}  // namespace octavo::tools
