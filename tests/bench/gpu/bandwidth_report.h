// What gpu_bandwidth has measured, as the table that it prints and the JSON that it writes. Knows
// nothing of CUDA.
//
// Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace octavo::bench {

/// What a GPU's memory gives: the figures that all others are a fraction of.
struct Ceilings {
  double copy_gb_per_s = 0.0;  ///< Read and written bytes of a copy, 16 bytes a thread.
  double read_gb_per_s = 0.0;  ///< Of a sum over as many bytes.
  double launch_us = 0.0;      ///< An empty kernel in a replayed graph.
};

struct Measurement {
  std::string name = {};
  double time_us = 0.0;     ///< Of one operation.
  std::int64_t bytes = 0;   ///< Read and written, each once; 0: time or operations count.
  double operations = 0.0;  ///< Floating-point ones, where they bound it; else 0.
  double goal = 0.0;        ///< Fraction of the copy ceiling, TFLOP/s or microseconds; 0: none.
};

struct BandwidthReport {
  std::string gpu = {};
  std::string commit = {};  ///< Of the sources; "-dirty" behind it where they were changed.
  int sms = 0;              ///< Multiprocessors.
  int driver = 0;           ///< CUDA versions as CUDA has them: 13000 is 13.0.
  int runtime = 0;
  Ceilings ceilings = {};
  std::vector<Measurement> cases = {};
};

/// What a case is measured in, and how it stands to its goal.
struct Figure {
  std::string unit = {};  ///< "GB/s", "TFLOP/s" or "us"
  double value = 0.0;
  double of_copy = 0.0;  ///< Fractions of the ceilings; 0 where bytes do not count.
  double of_read = 0.0;
  bool meets_goal = true;
};

Figure figure_of(const Measurement& measurement, const Ceilings& ceilings);

/// Two lines above the cases, and a line for each.
std::string heading_of(const BandwidthReport& report);
std::string line_of(const Measurement& measurement, const Ceilings& ceilings);

nlohmann::ordered_json to_json(const BandwidthReport& report);

}  // namespace octavo::bench
