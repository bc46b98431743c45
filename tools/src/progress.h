// One line of progress on stderr, for people who wait at a terminal.
#pragma once

#include <chrono>
#include <cstdint>
#include <ostream>
#include <string>

#include "command.h"

namespace octavo::tools {

/// Shows "replay: 34 % (4096 of 12031 requests), 12 s left" from one second after its construction
/// on, ten times a second at most, and erases the line when it is destroyed. Without a terminal,
/// and with --quiet, it never writes. Use it from one thread, one at a time.
class Progress {
 public:
  using Clock = std::chrono::steady_clock;

  /// `what` is being done ("replay"), counted in `units` ("requests").
  Progress(const Context& context, std::string what, std::string units);

  /// For tests: another clock.
  Progress(const Context& context, std::string what, std::string units, Clock::time_point (*now)());

  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Call it as often as you like: no allocation, one reading of the clock. `total` 0 is unknown.
  void update(std::int64_t done, std::int64_t total);

  /// Takes the line away, e.g. before a warning is written; the next update shows it again.
  void erase();

 private:
  void show(std::int64_t done, std::int64_t total, Clock::time_point now);

  std::ostream& err_;
  const std::string what_;
  const std::string units_;
  Clock::time_point (*const now_)();
  const bool enabled_;
  const Clock::time_point start_;
  Clock::time_point next_;  // no line is written before this moment
  bool shown_ = false;
};

}  // namespace octavo::tools
