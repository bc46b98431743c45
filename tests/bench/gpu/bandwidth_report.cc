#include "bandwidth_report.h"

#include <array>
#include <cstdio>

#include <nlohmann/json.hpp>

namespace octavo::bench {
namespace {

using Json = nlohmann::ordered_json;

template <typename... Arguments>
std::string text_of(const char* format, Arguments... arguments) {
  std::array<char, 256> text = {};
  std::snprintf(text.data(), text.size(), format, arguments...);
  return text.data();
}

std::string percent(double fraction) {
  return fraction > 0.0 ? text_of("%.1f %%", 100.0 * fraction) : "";
}

std::string goal_text(const Measurement& measurement, const Figure& figure) {
  if (measurement.goal == 0.0) {
    return "";
  }
  return measurement.bytes > 0 ? text_of("%.0f %%", 100.0 * measurement.goal)
                               : text_of("%g %s", measurement.goal, figure.unit.c_str());
}

Json to_json(const Measurement& measurement, const Ceilings& ceilings) {
  const Figure figure = figure_of(measurement, ceilings);
  return {{"name", measurement.name},   {"time_us", measurement.time_us},
          {"bytes", measurement.bytes}, {"operations", measurement.operations},
          {"unit", figure.unit},        {"value", figure.value},
          {"of_copy", figure.of_copy},  {"of_read", figure.of_read},
          {"goal", measurement.goal},   {"meets_goal", figure.meets_goal}};
}

}  // namespace

Figure figure_of(const Measurement& measurement, const Ceilings& ceilings) {
  const double goal = measurement.goal;
  if (measurement.bytes > 0) {
    const double gb_per_s = static_cast<double>(measurement.bytes) / measurement.time_us * 1e-3;
    const double of_copy = gb_per_s / ceilings.copy_gb_per_s;
    return {"GB/s", gb_per_s, of_copy, gb_per_s / ceilings.read_gb_per_s, of_copy >= goal};
  }
  if (measurement.operations > 0.0) {
    const double tflops = measurement.operations / measurement.time_us * 1e-6;
    return {"TFLOP/s", tflops, 0.0, 0.0, tflops >= goal};
  }
  return {"us", measurement.time_us, 0.0, 0.0, goal == 0.0 || measurement.time_us <= goal};
}

std::string heading_of(const BandwidthReport& report) {
  return text_of("%s, %d SMs: copy %.0f GB/s, read %.0f GB/s, empty launch %.1f us\n",
                 report.gpu.c_str(), report.sms, report.ceilings.copy_gb_per_s,
                 report.ceilings.read_gb_per_s, report.ceilings.launch_us) +
         text_of("%-44s %10s %8s %-7s %8s %8s %12s\n", "", "us", "", "", "of copy", "of read",
                 "goal");
}

std::string line_of(const Measurement& measurement, const Ceilings& ceilings) {
  const Figure figure = figure_of(measurement, ceilings);
  return text_of("%-44s %10.2f %8.1f %-7s %8s %8s %12s%s\n", measurement.name.c_str(),
                 measurement.time_us, figure.value, figure.unit.c_str(),
                 percent(figure.of_copy).c_str(), percent(figure.of_read).c_str(),
                 goal_text(measurement, figure).c_str(), figure.meets_goal ? "" : " missed");
}

Json to_json(const BandwidthReport& report) {
  Json cases = Json::array();
  for (const Measurement& measurement : report.cases) {
    cases.push_back(to_json(measurement, report.ceilings));
  }
  return {{"schema_version", 1},
          {"gpu", report.gpu},
          {"commit", report.commit},
          {"sms", report.sms},
          {"cuda_driver", report.driver},
          {"cuda_runtime", report.runtime},
          {"copy_gb_per_s", report.ceilings.copy_gb_per_s},
          {"read_gb_per_s", report.ceilings.read_gb_per_s},
          {"launch_us", report.ceilings.launch_us},
          {"cases", cases}};
}

}  // namespace octavo::bench
