#include "json_fields.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include "number_text.h"
#include "octavo/sim/input_error.h"

namespace octavo::sim {
namespace {

constexpr std::size_t kShownCharacters = 40;

/// A value as a message shows it: short, on one line.
std::string shown(const nlohmann::json& value) {
  std::string text = value.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
  if (text.size() > kShownCharacters) {
    text = text.substr(0, kShownCharacters) + "...";
  }
  return text;
}

std::string range_text(std::int64_t min, std::int64_t max) {
  return "expected a whole number in [" + std::to_string(min) + ", " + std::to_string(max) + "]";
}

bool is_word_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/// Replaces NaN, Infinity and -Infinity outside strings by null. Lines keep their numbers.
std::string without_python_floats(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  bool in_string = false;
  for (std::size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\' && i + 1 < text.size()) {
        result += c;
        result += text[i + 1];
        i += 2;
        continue;
      }
      in_string = c != '"';
      result += c;
      ++i;
      continue;
    }
    in_string = c == '"';
    bool replaced = false;
    const bool starts_word = i == 0 || !is_word_character(text[i - 1]);
    for (const std::string_view word : {"-Infinity", "Infinity", "NaN"}) {
      const std::size_t end = i + word.size();
      if (starts_word && text.substr(i, word.size()) == word &&
          (end == text.size() || !is_word_character(text[end]))) {
        result += "null";
        i = end;
        replaced = true;
        break;
      }
    }
    if (replaced) {
      continue;
    }
    result += c;
    ++i;
  }
  return result;
}

}  // namespace

JsonFields::JsonFields(const nlohmann::json& object, const std::string& file, std::string prefix)
    : object_(&object), file_(&file), prefix_(std::move(prefix)) {}

void JsonFields::fail(std::string_view name, std::string_view what) const {
  throw InputError(*file_, 0, prefix_ + std::string(name), what);
}

const nlohmann::json* JsonFields::find(std::string_view name) const {
  const auto it = object_->find(std::string(name));
  return it == object_->end() || it->is_null() ? nullptr : &*it;
}

bool JsonFields::says(std::string_view name) const {
  const nlohmann::json* value = find(name);
  if (value == nullptr) {
    return false;
  }
  if (value->is_boolean()) {
    return value->get<bool>();
  }
  if (value->is_number()) {
    return value->get<double>() != 0;
  }
  if (value->is_string()) {
    return !value->get_ref<const std::string&>().empty();
  }
  return !value->empty();
}

const nlohmann::json& JsonFields::require(std::string_view name, std::string_view expected) const {
  const nlohmann::json* value = find(name);
  if (value == nullptr) {
    fail(name, std::string(mentions(name) ? "is null, " : "is missing, ") + std::string(expected));
  }
  return *value;
}

std::int64_t JsonFields::to_integer(const nlohmann::json& value,
                                    std::string_view name,
                                    std::int64_t min,
                                    std::int64_t max) const {
  // No field may be negative: an unsigned number beyond 2^63 - 1 turns negative here and is
  // refused.
  if (!value.is_number_integer() || value.get<std::int64_t>() < min ||
      value.get<std::int64_t>() > max) {
    fail(name, "is " + shown(value) + ", " + range_text(min, max));
  }
  return value.get<std::int64_t>();
}

bool JsonFields::is_negative(std::string_view name) const {
  const nlohmann::json* value = find(name);
  return value != nullptr && value->is_number() && value->get<double>() < 0;
}

bool JsonFields::holds_text(std::string_view name) const {
  const nlohmann::json* value = find(name);
  return value != nullptr && value->is_string();
}

std::vector<std::string> JsonFields::names() const {
  std::vector<std::string> result;
  for (const auto& [name, value] : object_->items()) {
    result.push_back(name);
  }
  std::sort(result.begin(), result.end());
  return result;
}

double JsonFields::number(std::string_view name, double min, double max) const {
  const nlohmann::json& value = require(name, "expected a number");
  if (!value.is_number() || !(value.get<double>() >= min) || !(value.get<double>() <= max)) {
    fail(name, "is " + shown(value) + ", expected a number in [" + decimal(min, 3) + ", " +
                   decimal(max, 3) + "]");
  }
  return value.get<double>();
}

std::int64_t JsonFields::integer(std::string_view name, std::int64_t min, std::int64_t max) const {
  return to_integer(require(name, range_text(min, max)), name, min, max);
}

std::optional<std::int64_t> JsonFields::optional_integer(std::string_view name,
                                                         std::int64_t min,
                                                         std::int64_t max) const {
  const nlohmann::json* value = find(name);
  if (value == nullptr) {
    return std::nullopt;
  }
  return to_integer(*value, name, min, max);
}

bool JsonFields::boolean(std::string_view name, bool fallback) const {
  const nlohmann::json* value = find(name);
  if (value == nullptr) {
    return fallback;
  }
  if (!value->is_boolean()) {
    fail(name, "is " + shown(*value) + ", expected true or false");
  }
  return value->get<bool>();
}

std::string JsonFields::string(std::string_view name) const {
  const nlohmann::json& value = require(name, "expected a string");
  if (!value.is_string()) {
    fail(name, "is " + shown(value) + ", expected a string");
  }
  return value.get<std::string>();
}

std::optional<std::string> JsonFields::optional_string(std::string_view name) const {
  if (!has(name)) {
    return std::nullopt;
  }
  return string(name);
}

std::vector<std::string> JsonFields::strings(std::string_view name) const {
  const nlohmann::json& value = require(name, "expected a list of strings");
  if (!value.is_array()) {
    fail(name, "is " + shown(value) + ", expected a list of strings");
  }
  std::vector<std::string> result;
  for (const nlohmann::json& item : value) {
    if (!item.is_string()) {
      fail(name, "contains " + shown(item) + ", expected strings");
    }
    result.push_back(item.get<std::string>());
  }
  return result;
}

std::vector<std::int64_t> JsonFields::integers(std::string_view name,
                                               std::int64_t min,
                                               std::int64_t max) const {
  const nlohmann::json& value = require(name, "expected a list of whole numbers");
  if (!value.is_array()) {
    fail(name, "is " + shown(value) + ", expected a list of whole numbers");
  }
  std::vector<std::int64_t> result;
  for (const nlohmann::json& item : value) {
    result.push_back(to_integer(item, name, min, max));
  }
  return result;
}

JsonFields JsonFields::object(std::string_view name) const {
  const nlohmann::json& value = require(name, "expected an object");
  if (!value.is_object()) {
    fail(name, "is " + shown(value) + ", expected an object");
  }
  return JsonFields(value, *file_, prefix_ + std::string(name) + ".");
}

std::vector<JsonFields> JsonFields::objects(std::string_view name) const {
  const nlohmann::json& value = require(name, "expected a list of objects");
  if (!value.is_array()) {
    fail(name, "is " + shown(value) + ", expected a list of objects");
  }
  std::vector<JsonFields> result;
  for (const nlohmann::json& item : value) {
    if (!item.is_object()) {
      fail(name, "contains " + shown(item) + ", expected objects");
    }
    result.emplace_back(item, *file_,
                        prefix_ + std::string(name) + "[" + std::to_string(result.size()) + "].");
  }
  return result;
}

nlohmann::json parse_json_object(std::string_view text, const std::string& file) {
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) {
    throw InputError(file, 0, "", "is empty, expected a JSON object");
  }
  const std::string clean = without_python_floats(text);
  nlohmann::json document;
  try {
    document = nlohmann::json::parse(clean);
  } catch (const nlohmann::json::parse_error& error) {
    const std::size_t offset = std::min(error.byte, clean.size());
    const auto line =
        1 + std::count(clean.begin(), clean.begin() + static_cast<std::ptrdiff_t>(offset), '\n');
    throw InputError(file, line, "", "is not valid JSON, expected a JSON object");
  } catch (const nlohmann::json::exception&) {  // e.g. a number beyond the range of a double
    throw InputError(file, 0, "", "holds a number out of range, expected a JSON object");
  }
  if (!document.is_object()) {
    throw InputError(file, 0, "", "is " + shown(document) + ", expected a JSON object");
  }
  return document;
}

std::string read_text_file(const std::string& path, std::int64_t bytes_max) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (status.type() == std::filesystem::file_type::not_found) {
    throw InputError(path, 0, "", "does not exist, expected a file");
  }
  if (std::filesystem::is_directory(status)) {
    throw InputError(path, 0, "", "is a directory, expected a file");
  }
  std::ifstream stream(path, std::ios::binary);
  if (!stream) {
    throw InputError(path, 0, "", std::string("cannot be read: ") + std::strerror(errno));
  }
  std::string text;
  std::string chunk(65536, '\0');
  while (stream.read(chunk.data(), static_cast<std::streamsize>(chunk.size())),
         stream.gcount() > 0) {
    text.append(chunk, 0, static_cast<std::size_t>(stream.gcount()));
    if (static_cast<std::int64_t>(text.size()) > bytes_max) {
      throw InputError(
          path, 0, "",
          "is larger than " + std::to_string(bytes_max) + " bytes, expected a configuration file");
    }
  }
  return text;
}

}  // namespace octavo::sim
