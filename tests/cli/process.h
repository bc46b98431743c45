// Runs a program as a user would: its own process, its output and its end.
#pragma once

#include <string>
#include <vector>

namespace octavo::cli {

struct Finished {
  int status = -1;  ///< The exit code, or 128 + the signal it died of, as a shell says it.
  std::string out;
  std::string err;
};

/// Runs the `octavo` of this build with `args`, stdin empty, in `directory` (empty: the current
/// one), and waits for its end.
Finished run_octavo(const std::vector<std::string>& args, const std::string& directory = {});

/// Runs it with a stdin that never gives anything and never ends, sends it `signal_number` after a
/// fifth of a second, and waits for its end.
Finished run_octavo_until(int signal_number, const std::vector<std::string>& args);

/// The same as run_octavo for a line of sh, in which "$OCTAVO" is the program.
Finished run_shell(const std::string& line, const std::string& directory = {});

}  // namespace octavo::cli
