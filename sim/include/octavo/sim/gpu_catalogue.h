// The GPUs that the planner knows: what the framework reports as usable, never the marketing size.
//
// Immutable after the first call; may be read from any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace octavo::sim {

/// Where a figure comes from.
enum class FigureSource {
  Log,        ///< Seen in the log of an engine or tool on that GPU.
  Datasheet,  ///< Not seen in any log; shown with a "~".
  Given,      ///< By the user.
};

struct Gpu {
  std::string name;      ///< e.g. "H100 SXM".
  double total_gib = 0;  ///< What the framework sees as total memory.
  FigureSource total_source = FigureSource::Given;
  std::optional<std::int64_t> smi_mib = {};  ///< What nvidia-smi shows; none for unified memory.
  double bandwidth_tb_per_s = 0;             ///< 0: unknown.
  std::optional<double> bf16_tflops = {};    ///< Dense.
  std::optional<double> fp8_tflops = {};     ///< Dense; none where the GPU has no fp8 units.
  std::string note = {};
};

/// In the order in which they are shown.
const std::vector<Gpu>& gpu_catalogue();

/// The GPU of a name or alias; case, blanks, '-' and '_' do not matter, nor do the vendor's words
/// ("NVIDIA GeForce RTX 4090"). Raises InvalidArgument for an unknown name, listing the known ones,
/// and for one that several GPUs answer to ("a100"), naming those.
const Gpu& find_gpu(std::string_view name);

/// A GPU of which only the memory is known. Raises InvalidArgument outside (0, 65536] GiB.
Gpu custom_gpu(double total_gib);

/// "log", "datasheet" or "given".
std::string_view to_string(FigureSource source);

}  // namespace octavo::sim
