// Checked access to the fields of a JSON object. Every complaint is an InputError that names the
// file, the field's full path ("text_config.head_dim"), the value and what was expected. Views: the
// document must outlive them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace octavo::sim {

class JsonFields {
 public:
  JsonFields(const nlohmann::json& object, const std::string& file, std::string prefix = {});

  /// True when the field is there and not null.
  bool has(std::string_view name) const { return find(name) != nullptr; }
  /// True when the field is there, null included.
  bool mentions(std::string_view name) const { return object_->contains(std::string(name)); }
  /// True when the field is there and says something: not null, false, 0, "" or an empty container.
  bool says(std::string_view name) const;
  bool holds_text(std::string_view name) const;
  /// True when the field is a number below 0 (-1 for "all" in many configs).
  bool is_negative(std::string_view name) const;
  /// The names of all fields, in alphabetical order.
  std::vector<std::string> names() const;

  /// A whole number in [min, max]; min is not negative. So for the two below.
  std::int64_t integer(std::string_view name, std::int64_t min, std::int64_t max) const;
  std::optional<std::int64_t> optional_integer(std::string_view name,
                                               std::int64_t min,
                                               std::int64_t max) const;
  /// Any number in [min, max].
  double number(std::string_view name, double min, double max) const;
  bool boolean(std::string_view name, bool fallback) const;
  std::string string(std::string_view name) const;
  std::optional<std::string> optional_string(std::string_view name) const;
  std::vector<std::string> strings(std::string_view name) const;
  std::vector<std::int64_t> integers(std::string_view name,
                                     std::int64_t min,
                                     std::int64_t max) const;
  JsonFields object(std::string_view name) const;
  std::vector<JsonFields> objects(std::string_view name) const;

  [[noreturn]] void fail(std::string_view name, std::string_view what) const;
  const std::string& file() const { return *file_; }

 private:
  const nlohmann::json* find(std::string_view name) const;
  const nlohmann::json& require(std::string_view name, std::string_view expected) const;
  std::int64_t to_integer(const nlohmann::json& value,
                          std::string_view name,
                          std::int64_t min,
                          std::int64_t max) const;

  const nlohmann::json* object_;
  const std::string* file_;
  std::string prefix_;
};

/// Parses `text` as one JSON object. The NaN and Infinity that Python writes are read as null.
nlohmann::json parse_json_object(std::string_view text, const std::string& file);

/// The whole of a regular file of at most `bytes_max` bytes.
std::string read_text_file(const std::string& path, std::int64_t bytes_max);

}  // namespace octavo::sim
