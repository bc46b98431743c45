// How a subcommand of the `octavo` program plugs in.
//
// A subcommand lives in one cmd_*.cc, which declares its options on the application and hands the
// work to `Context::run`. Only main.cc runs it, so that errors become exit codes in one place.
#pragma once

#include <functional>
#include <ostream>

#include <CLI/CLI.hpp>

namespace octavo::tools {

/// The exit codes that scripts may rely on.
enum ExitCode : int {
  kExitOk = 0,
  kExitCheckFailed = 1,  ///< The thing that was checked is not so.
  kExitUsage = 2,        ///< The command line is wrong.
  kExitBadInput = 3,     ///< A file is missing, unreadable, malformed or not supported.
  kExitDoesNotFit = 4,   ///< The configuration needs more than there is.
  kExitInternal = 70,    ///< A bug, or a resource of this machine ran out.
  kExitInterrupted = 130,
};

/// What all subcommands share. Data goes to `out`, talk (progress, warnings) to `err`.
struct Context {
  std::ostream& out;
  std::ostream& err;
  bool json = false;   ///< --json: one JSON object on `out` instead of a table.
  bool quiet = false;  ///< --quiet: no progress on `err`.
  bool err_is_terminal = false;
  bool colour = false;       ///< `out` is a terminal, and NO_COLOR is not set.
  std::function<int()> run;  ///< Set by the subcommand that was chosen; returns the exit code.
};

/// A wrong command line found after parsing (exit code 2), e.g. two options that exclude each
/// other.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

void register_check(CLI::App& app, Context& context);
void register_check_events(CLI::App& app, Context& context);
void register_completion(CLI::App& app, Context& context);
void register_fit(CLI::App& app, Context& context);
void register_footprint(CLI::App& app, Context& context);
void register_man(CLI::App& app, Context& context);
void register_mrc(CLI::App& app, Context& context);
void register_plan(CLI::App& app, Context& context);
void register_predict(CLI::App& app, Context& context);
void register_replay(CLI::App& app, Context& context);
void register_report(CLI::App& app, Context& context);
void register_simulate(CLI::App& app, Context& context);
void register_trace(CLI::App& app, Context& context);

}  // namespace octavo::tools
