#include "interrupt.h"

#include <csignal>

#include <unistd.h>

namespace octavo::tools {
namespace {

volatile std::sig_atomic_t line_shown = 0;

extern "C" void die_of(int signal_number) {
  if (line_shown != 0) {
    constexpr char kErase[] = "\r\033[K";
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, kErase, sizeof(kErase) - 1);
  }
  // The default action is in force again (SA_RESETHAND); the signal waits until the handler is
  // left.
  ::raise(signal_number);
}

void die_tidily_of(int signal_number) {
  struct sigaction current {};
  ::sigaction(signal_number, nullptr, &current);
  if (current.sa_handler == SIG_IGN) {
    return;  // nohup and background jobs want it ignored
  }
  struct sigaction action {};
  action.sa_handler = die_of;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigemptyset(&action.sa_mask);
  ::sigaction(signal_number, &action, nullptr);
}

}  // namespace

void install_signal_handlers() {
  die_tidily_of(SIGINT);
  die_tidily_of(SIGTERM);
  std::signal(SIGPIPE, SIG_DFL);  // some parents hand it down ignored
}

void set_line_shown(bool shown) noexcept {
  line_shown = shown ? 1 : 0;
}

}  // namespace octavo::tools
