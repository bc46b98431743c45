#include "octavo/sim/serve/step_cost_file.h"

#include <array>
#include <string_view>
#include <utility>

#include "json_fields.h"
#include "octavo/sim/serve/linear_cost.h"
#include "octavo/sim/serve/table_cost.h"

namespace octavo::sim {
namespace {

constexpr std::int64_t kFileBytesMax = std::int64_t{64} << 20;
constexpr double kFigureMax = 1e6;

bool is_json(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && text[first] == '{';
}

/// A number in [0, most].
double number(const nlohmann::json& value,
              const JsonFields& fields,
              std::string_view name,
              double most) {
  if (!value.is_number() || !(value.get<double>() >= 0) || value.get<double>() > most) {
    fields.fail(name, "is " + value.dump() + ", expected a number in [0, " +
                          std::to_string(static_cast<std::int64_t>(most)) + "]");
  }
  return value.get<double>();
}

RooflineOptions read_roofline(const nlohmann::json& document,
                              const JsonFields& fields,
                              RooflineOptions options) {
  const std::array<std::pair<std::string_view, double*>, 6> plain = {{
      {"memory_efficiency", &options.memory_efficiency},
      {"compute_efficiency", &options.compute_efficiency},
      {"attention_efficiency", &options.attention_efficiency},
      {"link_efficiency", &options.link_efficiency},
      {"overhead_us", &options.overhead_us},
      {"reduce_us", &options.reduce_us},
  }};
  const std::array<std::pair<std::string_view, std::optional<double>*>, 4> optional = {{
      {"tb_per_s", &options.tb_per_s},
      {"tflops", &options.tflops},
      {"link_gb_per_s", &options.link_gb_per_s},
      {"weights_gib", &options.weights_gib},
  }};
  for (const auto& [key, value] : document.items()) {
    bool known = key == "schema_version" || key == "step_cost";
    for (const auto& [name, target] : plain) {
      if (key == name) {
        *target = number(value, fields, name, name.ends_with("efficiency") ? 1 : kFigureMax);
        known = true;
      }
    }
    for (const auto& [name, target] : optional) {
      if (key == name) {
        *target = number(value, fields, name, kFigureMax);
        known = true;
      }
    }
    if (!known) {
      // A misspelt figure would silently leave the default.
      fields.fail(key, "is not known, expected a figure of the roofline");
    }
  }
  return options;
}

}  // namespace

StepCostFile read_step_cost(const std::string& path, const RooflineOptions& defaults) {
  const std::string text = read_text_file(path, kFileBytesMax);
  if (!is_json(text)) {
    return std::make_unique<TableCost>(read_measured_steps(path));
  }
  const nlohmann::json document = parse_json_object(text, path);
  const JsonFields fields(document, path);
  fields.integer("schema_version", 1, 1);
  const std::string kind = fields.string("step_cost");
  if (kind == "linear") {
    return std::make_unique<LinearCost>(read_linear_cost(path));
  }
  if (kind == "roofline") {
    return read_roofline(document, fields, defaults);
  }
  fields.fail("step_cost", "is \"" + kind + "\", expected \"linear\" or \"roofline\"");
}

}  // namespace octavo::sim
