#include "datetime.h"

namespace octavo::sim {
namespace {

// Reads from the front of a text; once something is not as expected, all else fails too.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : text_(text) {}

  // A number of exactly `digits` digits in [min, max].
  std::int64_t number(std::size_t digits, std::int64_t min, std::int64_t max) {
    std::int64_t value = 0;
    for (std::size_t i = 0; i < digits; ++i) {
      value = value * 10 + digit();
    }
    ok_ = ok_ && value >= min && value <= max;
    return value;
  }

  int digit() {
    const char c = front();
    ok_ = ok_ && c >= '0' && c <= '9';
    return take() - '0';
  }

  void one_of(std::string_view set) {
    ok_ = ok_ && set.find(front()) != std::string_view::npos;
    take();
  }

  char front() const { return text_.empty() ? '\0' : text_.front(); }

  char take() {
    if (text_.empty()) {
      ok_ = false;
      return '\0';
    }
    const char c = text_.front();
    text_.remove_prefix(1);
    return c;
  }

  bool ok() const { return ok_; }
  bool at_end() const { return text_.empty(); }

 private:
  std::string_view text_;
  bool ok_ = true;
};

bool is_leap(std::int64_t year) {
  return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

std::int64_t days_in(std::int64_t year, std::int64_t month) {
  constexpr int kDays[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  return kDays[month - 1] + (month == 2 && is_leap(year) ? 1 : 0);
}

// Days from 1970-01-01 to the first of January, by counting leap years since the year 0.
std::int64_t days_to_year(std::int64_t year) {
  const auto days_since_0 = [](std::int64_t y) {
    return 365 * y + (y + 3) / 4 - (y + 99) / 100 + (y + 399) / 400;
  };
  return days_since_0(year) - days_since_0(1970);
}

std::int64_t read_fraction_ns(Cursor& cursor) {
  std::int64_t fraction = 0;
  int digits = 0;
  if (cursor.front() == '.') {
    cursor.take();
    do {
      fraction = fraction * 10 + cursor.digit();
      ++digits;
    } while (digits < 9 && cursor.front() >= '0' && cursor.front() <= '9');
  }
  for (; digits < 9; ++digits) {
    fraction *= 10;
  }
  return fraction;
}

// Seconds that local time is ahead of UTC.
std::int64_t read_zone(Cursor& cursor) {
  if (cursor.front() == 'Z') {
    cursor.take();
    return 0;
  }
  if (cursor.at_end()) {
    return 0;
  }
  const bool behind = cursor.front() == '-';
  cursor.one_of("+-");
  const std::int64_t hours = cursor.number(2, 0, 23);
  cursor.one_of(":");
  const std::int64_t seconds = hours * 3600 + cursor.number(2, 0, 59) * 60;
  return behind ? -seconds : seconds;
}

}  // namespace

bool parse_datetime_ns(std::string_view text, std::int64_t& time_ns) {
  Cursor cursor(text);
  const std::int64_t year = cursor.number(4, 0, 9999);
  cursor.one_of("-");
  const std::int64_t month = cursor.number(2, 1, 12);
  if (!cursor.ok()) {
    return false;
  }
  cursor.one_of("-");
  const std::int64_t day = cursor.number(2, 1, days_in(year, month));
  cursor.one_of(" T");
  const std::int64_t hour = cursor.number(2, 0, 23);
  cursor.one_of(":");
  const std::int64_t minute = cursor.number(2, 0, 59);
  cursor.one_of(":");
  const std::int64_t second = cursor.number(2, 0, 59);
  const std::int64_t fraction_ns = read_fraction_ns(cursor);
  const std::int64_t zone = read_zone(cursor);
  if (!cursor.ok() || !cursor.at_end()) {
    return false;
  }
  std::int64_t days = days_to_year(year) + day - 1;
  for (std::int64_t before = 1; before < month; ++before) {
    days += days_in(year, before);
  }
  const std::int64_t seconds = days * 86'400 + hour * 3600 + minute * 60 + second - zone;
  constexpr std::int64_t kSecond = 1'000'000'000;
  return !__builtin_mul_overflow(seconds, kSecond, &time_ns) &&
         !__builtin_add_overflow(time_ns, fraction_ns, &time_ns);
}

}  // namespace octavo::sim
