// The one place where errors become exit codes and one line on stderr.
#pragma once

#include <ostream>
#include <string_view>

#include "command.h"

namespace octavo::tools {

/// Call it inside a catch block. Writes "COMMAND: message" as one line to `err` and returns the
/// exit code for the exception that is being handled:
///
///   wrong command line (CLI::ParseError, UsageError)                        kExitUsage
///   sim::InputError                                                         kExitBadInput
///   Error: InvalidArgument, Unimplemented (asked for on the command line)   kExitUsage
///   Error: ResourceExhausted                                                kExitDoesNotFit
///   Error: FailedPrecondition, DeviceError, Internal; everything else       kExitInternal
///
/// `command` is what was being run, e.g. "octavo replay".
ExitCode report_current_exception(std::string_view command, std::ostream& err);

/// Writes "COMMAND: message" and a line feed; line feeds inside of the message become blanks.
void write_error(std::string_view command, std::string_view message, std::ostream& err);

}  // namespace octavo::tools
