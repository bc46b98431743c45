#include "table.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "octavo/error.h"

namespace octavo::tools {
namespace {

// Puts separators into the digits of text before its point; a sign stays in front.
std::string separated(const std::string& text) {
  const std::size_t first = !text.empty() && text.front() == '-' ? 1 : 0;
  const std::size_t end = std::min(text.find('.'), text.size());
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (i > first && i < end && (end - i) % 3 == 0) {
      result += ',';
    }
    result += text[i];
  }
  return result;
}

}  // namespace

std::string grouped(std::int64_t value) {
  return separated(std::to_string(value));
}

std::string grouped(std::uint64_t value) {
  return separated(std::to_string(value));
}

std::string fixed(double value, int decimals) {
  char digits[512];  // The largest double has 309 digits before the point.
  const auto end =
      std::to_chars(digits, digits + sizeof digits, value, std::chars_format::fixed, decimals).ptr;
  return separated(std::string(digits, end));
}

Table::Table(std::vector<Column> columns) : columns_(std::move(columns)) {
  for (const Column& column : columns_) {
    widths_.push_back(column.title.size());
  }
}

void Table::add_row(std::vector<std::string> cells) {
  if (cells.size() > columns_.size()) {
    throw Error(ErrorCode::InvalidArgument, "Table::add_row: " + std::to_string(cells.size()) +
                                                " cells, the table has " +
                                                std::to_string(columns_.size()) + " columns");
  }
  for (std::size_t i = 0; i < cells.size(); ++i) {
    widths_[i] = std::max(widths_[i], cells[i].size());
  }
  rows_.push_back(std::move(cells));
}

void Table::add_gap() {
  rows_.emplace_back();
}

void Table::print_row(std::ostream& out, const std::vector<std::string>& cells) const {
  std::string line;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    line += i == 0 ? "" : "  ";
    const std::string padding(widths_[i] - cells[i].size(), ' ');
    line += columns_[i].align == Align::Left ? cells[i] + padding : padding + cells[i];
  }
  line.erase(line.find_last_not_of(' ') + 1);
  out << line << '\n';
}

std::ostream& operator<<(std::ostream& out, const Table& table) {
  std::vector<std::string> titles;
  bool any_title = false;
  for (const Table::Column& column : table.columns_) {
    titles.push_back(column.title);
    any_title |= !column.title.empty();
  }
  if (any_title) {
    table.print_row(out, titles);
  }
  for (const std::vector<std::string>& row : table.rows_) {
    table.print_row(out, row);
  }
  return out;
}

}  // namespace octavo::tools
