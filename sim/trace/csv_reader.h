// Comma-separated values with a header (RFC 4180): columns are found by their names, and values are
// read typed, with messages that name file, line, column, value and what was expected.
//
// Blanks around names and values are not part of them, blank lines are no records, and every record
// must have as many values as the header. Reading allocates nothing once warm.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "line_reader.h"

namespace octavo::sim {

class CsvReader {
 public:
  /// Reads the header. Raises InputError when it is not CSV.
  explicit CsvReader(LineReader&& lines);

  /// The column of this name, or nothing. Raises InputError when two have it.
  std::optional<std::size_t> find(std::string_view name) const;

  /// The column of this name; raises InputError when there is none.
  std::size_t column(std::string_view name) const;

  const std::vector<std::string>& columns() const noexcept { return columns_; }

  /// Goes to the next record; false at the end.
  bool next();

  /// The values of the record, quotes resolved. They hold until the next call of `next`.
  std::string_view text(std::size_t column) const { return values_[column]; }

  /// A count in [min, 2^63 - 1], written as an integer.
  std::int64_t count(std::size_t column, std::int64_t min) const;

  /// A time in units of 10^`digits` ns, as `read_time_ns` has it.
  std::int64_t time_ns(std::size_t column, int digits) const;

  /// Raises InputError for a value of this record.
  [[noreturn]] void refuse(std::size_t column, const std::string& what) const;

  const std::string& name() const noexcept { return lines_.name(); }

  /// The line that the record begins on.
  std::int64_t line() const noexcept { return line_; }

 private:
  bool read_record();
  void split(std::string_view record);
  std::string_view resolved(std::string_view quoted);

  LineReader lines_;
  std::vector<std::string> columns_;
  std::vector<std::string_view> values_;
  std::int64_t line_ = 0;
  std::string joined_;    // A record of several lines.
  std::string resolved_;  // The values that had doubled quotes; its capacity is reserved up front.
};

}  // namespace octavo::sim
