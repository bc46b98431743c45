// Checked access to a result's members: what is wrong becomes an InputError that names the file,
// the member's path and what was expected. Views; the document must outlive them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace octavo::sim::report {

class ResultFields {
 public:
  ResultFields(const nlohmann::ordered_json& object, const std::string& file, std::string path);

  /// True when the member is there and not null.
  bool has(std::string_view name) const;
  double number(std::string_view name) const;  ///< Of at most 1e18.
  std::optional<double> optional_number(std::string_view name) const;
  std::string text(std::string_view name) const;
  std::string text_or(std::string_view name, std::string_view otherwise) const;
  bool flag(std::string_view name) const;
  ResultFields object(std::string_view name) const;
  std::vector<ResultFields> objects(std::string_view name) const;  ///< Empty when not there.
  std::vector<std::string> texts(std::string_view name) const;     ///< Empty when not there.
  /// An array of arrays of numbers, each of at least `columns` of them.
  std::vector<std::vector<double>> rows(std::string_view name, std::size_t columns) const;

  const std::string& file() const { return *file_; }
  [[noreturn]] void fail(std::string_view name, std::string_view what) const;

 private:
  const nlohmann::ordered_json& at(std::string_view name) const;
  const nlohmann::ordered_json* array(std::string_view name) const;

  const nlohmann::ordered_json* object_;
  const std::string* file_;
  std::string path_;  // Of this object, with a point behind it, or empty.
};

}  // namespace octavo::sim::report
