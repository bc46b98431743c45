// What the program does when it is interrupted, and when nobody reads its output any more.
#pragma once

namespace octavo::tools {

/// On SIGINT and SIGTERM the progress line is taken away and the process dies of the signal, which
/// a shell reports as 130 and 143. (To leave with exit(130) would look the same, but a shell's loop
/// around the program would go on after Ctrl-C.) On SIGPIPE it dies without a word.
void install_signal_handlers();

/// Tells the handler whether a progress line stands on stderr.
void set_line_shown(bool shown) noexcept;

}  // namespace octavo::tools
