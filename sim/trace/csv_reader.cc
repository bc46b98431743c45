#include "csv_reader.h"

#include <algorithm>
#include <limits>

#include "decimal.h"
#include "json_scanner.h"
#include "octavo/sim/input_error.h"

namespace octavo::sim {
namespace {

constexpr std::int64_t kInt64Max = std::numeric_limits<std::int64_t>::max();

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) {
    return {};
  }
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

// Whether a quoted value that was closed before is open behind the text, or the other way round.
// Quotes within a quoted value are doubled, so that their number tells.
bool has_odd_quotes(std::string_view text) {
  return std::count(text.begin(), text.end(), '"') % 2 != 0;
}

}  // namespace

CsvReader::CsvReader(LineReader&& lines) : lines_(std::move(lines)) {
  read_record();
  for (const std::string_view value : values_) {
    columns_.emplace_back(value);
  }
}

std::optional<std::size_t> CsvReader::find(std::string_view name) const {
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (columns_[i] == name) {
      if (found) {
        throw InputError(this->name(), line_, name, "heads two columns, expected one");
      }
      found = i;
    }
  }
  return found;
}

std::size_t CsvReader::column(std::string_view name) const {
  const std::optional<std::size_t> found = find(name);
  if (!found) {
    throw InputError(this->name(), line_, name, "missing, expected a column of that name");
  }
  return *found;
}

bool CsvReader::next() {
  if (!read_record()) {
    return false;
  }
  if (values_.size() != columns_.size()) {
    throw InputError(name(), line_, "",
                     "has " + std::to_string(values_.size()) + " values, expected " +
                         std::to_string(columns_.size()) + " as in the header");
  }
  return true;
}

bool CsvReader::read_record() {
  std::string_view record;
  if (!lines_.next(record)) {
    return false;
  }
  line_ = lines_.line();
  if (has_odd_quotes(record)) {
    joined_ = record;
    do {
      if (!lines_.next_any(record)) {
        throw InputError(name(), line_, "", "the file ends inside of quotes, expected '\"'");
      }
      joined_ += '\n';
      joined_ += record;
      if (joined_.size() > kLineBytesMax) {
        throw InputError(name(), line_, "", "a record is longer than 64 MiB, expected '\"'");
      }
    } while (!has_odd_quotes(record));
    record = joined_;
  }
  split(record);
  return true;
}

void CsvReader::split(std::string_view record) {
  values_.clear();
  resolved_.clear();
  resolved_.reserve(record.size());  // So that values in it stay where they are.
  for (;;) {
    const std::size_t blanks = record.find_first_not_of(" \t");
    std::size_t end = 0;
    if (blanks != std::string_view::npos && record[blanks] == '"') {
      end = blanks + 1;
      while (record[end] != '"' || record.substr(end + 1, 1) == "\"") {
        end += record[end] == '"' ? std::size_t{2} : std::size_t{1};
      }
      values_.push_back(resolved(record.substr(blanks + 1, end - blanks - 1)));
      const std::size_t behind = record.find_first_not_of(" \t", end + 1);
      end = behind == std::string_view::npos ? record.size() : behind;
      if (end != record.size() && record[end] != ',') {
        throw InputError(
            name(), line_, "",
            "not CSV: '" + shown(record.substr(end)) + "' behind a quoted value, expected ','");
      }
    } else {
      end = std::min(record.find(','), record.size());
      const std::string_view value = trimmed(record.substr(0, end));
      if (value.find('"') != std::string_view::npos) {
        throw InputError(
            name(), line_, "",
            "not CSV: '" + shown(value) + "', expected quotes around whole values only");
      }
      values_.push_back(value);
    }
    if (end == record.size()) {
      return;
    }
    record.remove_prefix(end + 1);
  }
}

// The text between quotes, doubled ones made single.
std::string_view CsvReader::resolved(std::string_view quoted) {
  if (quoted.find('"') == std::string_view::npos) {
    return quoted;
  }
  const std::size_t begin = resolved_.size();
  for (std::size_t i = 0; i < quoted.size(); ++i) {
    resolved_ += quoted[i];
    i += quoted[i] == '"' ? std::size_t{1} : std::size_t{0};
  }
  return std::string_view(resolved_).substr(begin);
}

std::int64_t CsvReader::count(std::size_t column, std::int64_t min) const {
  const auto expected = [&] {
    return ", expected an integer in [" + std::to_string(min) + ", " + std::to_string(kInt64Max) +
           "]";
  };
  const std::string_view value = values_[column];
  const bool negative = value.substr(0, 1) == "-";
  const std::string_view digits = value.substr(negative ? 1 : 0);
  if (digits.empty() || digits.find_first_not_of("0123456789") != std::string_view::npos) {
    refuse(column, value.empty()
                       ? "is empty" + expected()
                       : "is not written as an integer (" + shown(value) + ")" + expected());
  }
  std::int64_t result = 0;
  const bool fits = scale_decimal(digits, 0, result);
  if (!fits || result < min || (negative && result != 0)) {
    refuse(column, "is out of range (" + shown(value) + ")" + expected());
  }
  return result;
}

std::int64_t CsvReader::time_ns(std::size_t column, int digits) const {
  const auto expected = [&] {
    std::int64_t max = kInt64Max;
    for (int i = 0; i < digits; ++i) {
      max /= 10;
    }
    return ", expected a number in [0, " + std::to_string(max) + "]";
  };
  const std::string_view value = values_[column];
  const bool negative = value.substr(0, 1) == "-";
  const std::string_view magnitude = value.substr(negative ? 1 : 0);
  if (!is_decimal(magnitude)) {
    refuse(column,
           (value.empty() ? "is empty" : "is not a number (" + shown(value) + ")") + expected());
  }
  std::int64_t result = 0;
  const bool fits = scale_decimal(magnitude, digits, result);
  if (!fits || (negative && result != 0)) {
    refuse(column,
           (negative ? "is negative (" : "is out of range (") + shown(value) + ")" + expected());
  }
  return result;
}

void CsvReader::refuse(std::size_t column, const std::string& what) const {
  throw InputError(name(), line_, columns_[column], what);
}

}  // namespace octavo::sim
