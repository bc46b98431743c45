#include "octavo/sim/serve/measured_steps.h"

#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>

#include "line_reader.h"
#include "octavo/sim/input_error.h"

namespace octavo::sim {
namespace {

constexpr std::int64_t kCountMax = std::int64_t{1} << 53;
constexpr double kTimeUsMax = 1e12;

enum Column : std::size_t {
  kPrefillTokens,
  kDecodeSequences,
  kKvTokens,
  kTimeUs,
  kPrefillSequences,
  kDecodeTokens,
  kAttendedPairs,
  kColumns,
};
constexpr std::size_t kRequiredColumns = kTimeUs + 1;
constexpr std::array<std::string_view, kColumns> kNames = {
    "prefill_tokens",    "decode_sequences", "kv_tokens",     "time_us",
    "prefill_sequences", "decode_tokens",    "attended_pairs"};

std::vector<std::string_view> split(std::string_view line) {
  std::vector<std::string_view> fields;
  for (;;) {
    const std::size_t comma = line.find(',');
    std::string_view field = line.substr(0, comma);
    while (!field.empty() && (field.front() == ' ' || field.front() == '\t')) {
      field.remove_prefix(1);
    }
    while (!field.empty() && (field.back() == ' ' || field.back() == '\t')) {
      field.remove_suffix(1);
    }
    fields.push_back(field);
    if (comma == std::string_view::npos) {
      return fields;
    }
    line.remove_prefix(comma + 1);
  }
}

class StepFile {
 public:
  explicit StepFile(const std::string& path) : lines_(path) { steps_.file = lines_.name(); }

  MeasuredSteps read() {
    std::string_view line;
    if (!lines_.next(line)) {
      throw InputError(steps_.file, 0, "", "is empty, expected a line of column names");
    }
    read_header(split(line));
    while (lines_.next(line)) {
      read_row(split(line));
    }
    if (steps_.steps.empty()) {
      fail("", "only a header, expected measured steps behind it");
    }
    return std::move(steps_);
  }

 private:
  [[noreturn]] void fail(std::string_view field, const std::string& what) const {
    throw InputError(steps_.file, lines_.line(), field, what);
  }

  void read_header(const std::vector<std::string_view>& names) {
    for (std::size_t at = 0; at < names.size(); ++at) {
      for (std::size_t column = 0; column < kColumns; ++column) {
        if (names[at] != kNames[column]) {
          continue;
        }
        if (place_[column]) {
          fail(kNames[column], "names two columns, expected one");
        }
        place_[column] = at;
      }
    }
    for (std::size_t column = 0; column < kRequiredColumns; ++column) {
      if (!place_[column]) {
        fail(kNames[column], "is missing from the header, expected a column of that name");
      }
    }
    fields_ = names.size();
    steps_.has_prefill_sequences = place_[kPrefillSequences].has_value();
    steps_.has_attended_pairs = place_[kAttendedPairs].has_value();
  }

  std::int64_t count(const std::vector<std::string_view>& row, Column column) const {
    const std::string_view text = row[*place_[column]];
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || value < 0 ||
        value > kCountMax) {
      fail(kNames[column], "is \"" + std::string(text) + "\", expected a whole number in [0, " +
                               std::to_string(kCountMax) + "]");
    }
    return value;
  }

  std::int64_t time_ns(const std::vector<std::string_view>& row) const {
    const std::string_view text = row[*place_[kTimeUs]];
    double us = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), us);
    if (error != std::errc() || end != text.data() + text.size() || !(us > 0) || us > kTimeUsMax) {
      fail("time_us",
           "is \"" + std::string(text) + "\", expected a number above 0 and at most 1000000000000");
    }
    return std::max<std::int64_t>(std::llround(us * 1000), 1);
  }

  void read_row(const std::vector<std::string_view>& row) {
    if (row.size() != fields_) {
      fail("", "has " + std::to_string(row.size()) + " fields, expected " +
                   std::to_string(fields_) + " as in the header");
    }
    MeasuredStep step;
    step.line = lines_.line();
    step.shape.prefill_tokens = count(row, kPrefillTokens);
    step.shape.decode_sequences = count(row, kDecodeSequences);
    step.shape.decode_tokens =
        place_[kDecodeTokens] ? count(row, kDecodeTokens) : step.shape.decode_sequences;
    step.shape.read_tokens[0] = count(row, kKvTokens);
    if (steps_.has_prefill_sequences) {
      step.shape.prefill_sequences = count(row, kPrefillSequences);
    }
    if (steps_.has_attended_pairs) {
      step.shape.attended_pairs[0] = count(row, kAttendedPairs);
    }
    step.time_ns = time_ns(row);
    steps_.steps.push_back(step);
  }

  LineReader lines_;
  MeasuredSteps steps_;
  std::array<std::optional<std::size_t>, kColumns> place_;
  std::size_t fields_ = 0;
};

}  // namespace

MeasuredSteps read_measured_steps(const std::string& path) {
  return StepFile(path).read();
}

}  // namespace octavo::sim
