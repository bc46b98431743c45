#include "program.h"

#include <algorithm>
#include <string>
#include <vector>

#include "exit_status.h"
#include "help_format.h"
#include "misspelt.h"
#include "version.h"

namespace octavo::tools {
namespace {

constexpr char kDescription[] =
    "The serving-side KV cache of LLM inference: plan it, and replay traces through the block "
    "manager that serves.";

constexpr char kExample[] =
    "Example:\n"
    "  octavo replay --trace FILE --block-size 16 --blocks 62500,187500\n"
    "\n"
    "Exit codes: 0 ok, 1 the checked thing is not so, 2 wrong command line, 3 bad\n"
    "input file, 4 does not fit, 70 internal error, 130 interrupted.";

// "octavo trace info" when that is what was parsed so far.
std::string command_name(const CLI::App& app) {
  std::string name = app.get_name();
  const CLI::App* here = &app;
  for (auto parsed = here->get_subcommands(); !parsed.empty(); parsed = here->get_subcommands()) {
    here = parsed.front();
    name += ' ';
    name += here->get_name();
  }
  return name;
}

void register_commands(CLI::App& app, Context& context) {
  app.require_subcommand(0, 1);  // none is seen to below; two would run one after the other
  register_plan(app, context);
  register_footprint(app, context);
  register_replay(app, context);
  register_mrc(app, context);
  register_simulate(app, context);
  register_report(app, context);
  register_fit(app, context);
  register_predict(app, context);
  register_check(app, context);
  register_check_events(app, context);
  register_trace(app, context);
  register_completion(app, context);
  register_man(app, context);
}

int parse_and_run(CLI::App& app, std::span<const std::string> args, Context& context) {
  bool want_version = false;
  app.add_flag("--json", context.json, "one JSON object on stdout instead of a table");
  app.add_flag("--quiet", context.quiet, "no progress on stderr");
  app.add_flag("--version", want_version, "print version, commit and build, and exit");
  register_commands(app, context);
  app.footer(kExample);  // only now: a subcommand inherits the footer that is there

  if (const auto misspelt = find_misspelt(app, args)) {
    write_error(misspelt->command, misspelt->message, context.err);
    return kExitUsage;
  }
  try {
    app.parse(std::vector<std::string>(args.rbegin(), args.rend()));  // CLI11 pops from the back
  } catch (const CLI::CallForHelp&) {
    context.out << app.help();
    return kExitOk;
  } catch (const CLI::CallForAllHelp&) {
    context.out << app.help("", CLI::AppFormatMode::All);
    return kExitOk;
  }
  if (want_version) {
    context.out << (context.json ? version_json(version()) : version_line(version())) << '\n';
    return kExitOk;
  }
  if (!context.run) {
    context.err << app.help();
    return kExitUsage;
  }
  return context.run();
}

}  // namespace

int run_program(std::span<const std::string> args, Context& context) {
  std::string command = "octavo";
  try {
    CLI::App app(kDescription, "octavo");
    app.formatter(help_formatter());
    app.set_help_flag("-h,--help", "print this page and exit");
    app.fallthrough();  // --json may stand behind the subcommand
    int status = kExitOk;
    try {
      status = parse_and_run(app, args, context);
    } catch (...) {
      command = command_name(app);
      throw;
    }
    if (!context.out.flush()) {
      write_error(command, "cannot write to stdout", context.err);
      return kExitInternal;
    }
    return status;
  } catch (...) {
    context.out.flush();  // what was said before the error comes first
    return report_current_exception(command, context.err);
  }
}

}  // namespace octavo::tools
