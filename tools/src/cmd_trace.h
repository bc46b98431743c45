// The subcommands of `octavo trace` that have files of their own.
#pragma once

#include "command.h"

namespace octavo::tools {

void register_trace_gen(CLI::App& trace, Context& context);
void register_trace_convert(CLI::App& trace, Context& context);
void register_trace_events(CLI::App& trace, Context& context);

}  // namespace octavo::tools
