// Aligned columns of text for people, and numbers as people read them.
//
// Widths count bytes: cells are ASCII. Nothing here depends on the locale.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

namespace octavo::tools {

inline constexpr double kGib = 1073741824.0;  ///< Bytes of a GiB.

/// A whole number with thousands separators: "1,234,567".
std::string grouped(std::int64_t value);
std::string grouped(std::uint64_t value);

/// A finite number with exactly `decimals` decimals and thousands separators: "12,035.06". Halves
/// are rounded as the exact binary value says.
std::string fixed(double value, int decimals);

/// A table that is printed once all rows are known. Columns are two blanks apart; lines have no
/// trailing blanks.
class Table {
 public:
  enum class Align { Left, Right };

  struct Column {
    std::string title;
    Align align = Align::Right;
  };

  /// The line of titles is left out when all of them are empty.
  explicit Table(std::vector<Column> columns);

  /// A row may have fewer cells than there are columns; more raise InvalidArgument.
  void add_row(std::vector<std::string> cells);

  /// An empty line.
  void add_gap();

  friend std::ostream& operator<<(std::ostream& out, const Table& table);

 private:
  void print_row(std::ostream& out, const std::vector<std::string>& cells) const;

  std::vector<Column> columns_;
  std::vector<std::size_t> widths_;
  std::vector<std::vector<std::string>> rows_;  // A gap is a row without cells.
};

}  // namespace octavo::tools
