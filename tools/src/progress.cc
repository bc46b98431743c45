#include "progress.h"

#include <array>
#include <cstdio>
#include <utility>

#include "interrupt.h"

namespace octavo::tools {

using namespace std::chrono_literals;

Progress::Progress(const Context& context, std::string what, std::string units)
    : Progress(context, std::move(what), std::move(units), &Clock::now) {}

Progress::Progress(const Context& context,
                   std::string what,
                   std::string units,
                   Clock::time_point (*now)())
    : err_(context.err),
      what_(std::move(what)),
      units_(std::move(units)),
      now_(now),
      enabled_(context.err_is_terminal && !context.quiet),
      start_(now()),
      next_(start_ + 1s) {}

Progress::~Progress() {
  erase();
}

void Progress::update(std::int64_t done, std::int64_t total) {
  if (!enabled_) {
    return;
  }
  const Clock::time_point now = now_();
  if (now >= next_) {
    show(done, total, now);
    next_ = now + 100ms;
  }
}

void Progress::show(std::int64_t done, std::int64_t total, Clock::time_point now) {
  std::array<char, 160> line{};
  int length = 0;
  const auto done_now = static_cast<long long>(done);
  if (total > 0 && done > 0) {
    const double share = static_cast<double>(done) / static_cast<double>(total);
    const double passed_s = std::chrono::duration<double>(now - start_).count();
    length = std::snprintf(line.data(), line.size(), "%s: %.0f %% (%lld of %lld %s), %.0f s left",
                           what_.c_str(), share * 100, done_now, static_cast<long long>(total),
                           units_.c_str(), passed_s * (1 - share) / share);
  } else {
    length = std::snprintf(line.data(), line.size(), "%s: %lld %s", what_.c_str(), done_now,
                           units_.c_str());
  }
  if (length > 0) {
    err_ << "\r\033[K" << line.data() << std::flush;
    shown_ = true;
    set_line_shown(true);
  }
}

void Progress::erase() {
  if (shown_) {
    err_ << "\r\033[K" << std::flush;
    shown_ = false;
    set_line_shown(false);
  }
}

}  // namespace octavo::tools
