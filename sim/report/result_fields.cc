#include "result_fields.h"

#include <cmath>
#include <utility>

#include "octavo/sim/input_error.h"

namespace octavo::sim::report {
namespace {

using Json = nlohmann::ordered_json;

/// Nothing that is measured here is larger; charts could not place it.
constexpr double kNumberMax = 1e18;

bool is_figure(const Json& value) {
  return value.is_number() && std::fabs(value.get<double>()) <= kNumberMax;
}

std::string shown(const Json& value) {
  std::string text = value.dump(-1, ' ', true, Json::error_handler_t::replace);
  if (text.size() > 40) {
    text = text.substr(0, 37) + "...";
  }
  return text;
}

}  // namespace

ResultFields::ResultFields(const Json& object, const std::string& file, std::string path)
    : object_(&object), file_(&file), path_(std::move(path)) {
  if (!object.is_object()) {
    const std::string_view name = path_;
    throw InputError(file, 0, name.substr(0, name.empty() ? 0 : name.size() - 1),
                     "expected an object, not " + shown(object));
  }
}

void ResultFields::fail(std::string_view name, std::string_view what) const {
  throw InputError(*file_, 0, path_ + std::string(name), what);
}

bool ResultFields::has(std::string_view name) const {
  const auto found = object_->find(name);
  return found != object_->end() && !found->is_null();
}

const Json& ResultFields::at(std::string_view name) const {
  const auto found = object_->find(name);
  if (found == object_->end()) {
    fail(name, "is missing");
  }
  return *found;
}

double ResultFields::number(std::string_view name) const {
  const Json& value = at(name);
  if (!is_figure(value)) {
    fail(name, "expected a number of at most 1e18, not " + shown(value));
  }
  return value.get<double>();
}

std::optional<double> ResultFields::optional_number(std::string_view name) const {
  return has(name) ? std::optional<double>(number(name)) : std::nullopt;
}

std::string ResultFields::text(std::string_view name) const {
  const Json& value = at(name);
  if (!value.is_string()) {
    fail(name, "expected a text, not " + shown(value));
  }
  return value.get<std::string>();
}

std::string ResultFields::text_or(std::string_view name, std::string_view otherwise) const {
  return has(name) ? text(name) : std::string(otherwise);
}

bool ResultFields::flag(std::string_view name) const {
  const Json& value = at(name);
  if (!value.is_boolean()) {
    fail(name, "expected true or false, not " + shown(value));
  }
  return value.get<bool>();
}

ResultFields ResultFields::object(std::string_view name) const {
  return {at(name), *file_, path_ + std::string(name) + "."};
}

const Json* ResultFields::array(std::string_view name) const {
  if (!has(name)) {
    return nullptr;
  }
  const Json& value = at(name);
  if (!value.is_array()) {
    fail(name, "expected an array, not " + shown(value));
  }
  return &value;
}

std::vector<ResultFields> ResultFields::objects(std::string_view name) const {
  std::vector<ResultFields> all;
  if (const Json* values = array(name)) {
    for (const Json& value : *values) {
      std::string path = path_ + std::string(name);
      path += "[" + std::to_string(all.size()) + "].";
      all.emplace_back(value, *file_, std::move(path));
    }
  }
  return all;
}

std::vector<std::string> ResultFields::texts(std::string_view name) const {
  std::vector<std::string> all;
  if (const Json* values = array(name)) {
    for (const Json& value : *values) {
      if (!value.is_string()) {
        fail(name, "expected texts, not " + shown(value));
      }
      all.push_back(value.get<std::string>());
    }
  }
  return all;
}

std::vector<std::vector<double>> ResultFields::rows(std::string_view name,
                                                    std::size_t columns) const {
  std::vector<std::vector<double>> all;
  if (const Json* values = array(name)) {
    for (const Json& row : *values) {
      bool good = row.is_array() && row.size() >= columns;
      for (std::size_t i = 0; good && i < row.size(); ++i) {
        good = is_figure(row[i]);
      }
      if (!good) {
        fail(name, "expected rows of " + std::to_string(columns) + " numbers, not " + shown(row));
      }
      all.push_back(row.get<std::vector<double>>());
    }
  }
  return all;
}

}  // namespace octavo::sim::report
