// The octavo program run inside a test: what it printed, and how it ended.
#pragma once

#include <sstream>
#include <string>
#include <vector>

#include "program.h"

namespace octavo::tools::testing {

struct CommandResult {
  int status = 0;
  std::string out;
  std::string err;
};

inline CommandResult run_command(const std::vector<std::string>& args) {
  std::ostringstream out;
  std::ostringstream err;
  Context context{.out = out, .err = err, .run = {}};
  const int status = run_program(args, context);
  return {status, out.str(), err.str()};
}

}  // namespace octavo::tools::testing
