#include "octavo/sim/gpu_catalogue.h"

#include <cmath>

#include "number_text.h"
#include "octavo/error.h"

namespace octavo::sim {
namespace {

constexpr double kTotalGibMax = 65536;

struct Alias {
  std::string_view alias;  ///< Normalized: lower case, letters and digits only.
  std::string_view name;
};

// What people type and what nvidia-smi prints, beside the names themselves.
constexpr Alias kGpuAliases[] = {
    {"a10040", "A100 40 SXM"},
    {"a10040gb", "A100 40 SXM"},
    {"a100sxm440gb", "A100 40 SXM"},
    {"a100sxm40gb", "A100 40 SXM"},
    {"a10080", "A100 80 SXM"},
    {"a10080gb", "A100 80 SXM"},
    {"a100sxm480gb", "A100 80 SXM"},
    {"a100sxm80gb", "A100 80 SXM"},
    {"h100", "H100 SXM"},
    {"h10080", "H100 SXM"},
    {"h10080gb", "H100 SXM"},
    {"h100sxm5", "H100 SXM"},
    {"h100sxm80gb", "H100 SXM"},
    {"h10080gbhbm3", "H100 SXM"},
    {"h100pcie80gb", "H100 PCIe"},
    {"h200sxm", "H200"},
    {"h200141gb", "H200"},
    {"3090", "RTX 3090"},
    {"4090", "RTX 4090"},
    {"5090", "RTX 5090"},
    {"pro6000", "RTX PRO 6000"},
    {"rtxpro6000blackwell", "RTX PRO 6000"},
    {"dgxspark", "GB10"},
    {"mi300", "MI300X"},
};

struct Ambiguous {
  std::string_view name;
  std::string_view choices;
};
constexpr Ambiguous kAmbiguous[] = {
    {"a100", "A100 40 SXM, A100 80 SXM"},
    {"a100sxm", "A100 40 SXM, A100 80 SXM"},
    {"a100sxm4", "A100 40 SXM, A100 80 SXM"},
};

std::string normalized(std::string_view name) {
  std::string result;
  for (const char c : name) {
    if (c >= 'A' && c <= 'Z') {
      result += static_cast<char>(c - 'A' + 'a');
    } else if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) {
      result += c;
    }
  }
  for (const std::string_view vendor_word : {"nvidia", "geforce", "amdinstinct", "amd"}) {
    if (result.starts_with(vendor_word)) {
      result.erase(0, vendor_word.size());
    }
  }
  return result;
}

}  // namespace

std::string_view to_string(FigureSource source) {
  switch (source) {
    case FigureSource::Log:
      return "log";
    case FigureSource::Datasheet:
      return "datasheet";
    case FigureSource::Given:
      break;
  }
  return "given";
}

const std::vector<Gpu>& gpu_catalogue() {
  static const std::vector<Gpu> catalogue = {
      {"A100 40 SXM", 39.39, FigureSource::Log, 40960, 1.555, 312, {}, ""},
      {"A100 80 SXM", 79.1, FigureSource::Log, 81920, 2.039, 312, {}, "logs show 79.1 to 79.3 GiB"},
      {"H100 SXM", 79.18, FigureSource::Log, 81559, 3.35, 989, 1978, ""},
      {"H100 PCIe", 79.1, FigureSource::Datasheet, 81559, 2.0, 756, 1513, ""},
      {"H100 NVL", 93.1, FigureSource::Datasheet, 95830, 3.9, 835, 1671, ""},
      {"H200", 139.81, FigureSource::Log, 143771, 4.8, 989, 1978,
       "measured: 4.3 TB/s of copying, about 790 TFLOP/s in bf16"},
      {"B200", 178.36, FigureSource::Log, 183359, 7.7, 2250, 4500, ""},
      {"GB200", 184, FigureSource::Datasheet, 189471, 8.0, 2500, 5000, ""},
      {"GB300", 276.62, FigureSource::Log, 284208, 8.0, 2500, 5000, ""},
      {"L4", 22.03, FigureSource::Log, 23034, 0.300, 121, 242, ""},
      {"L40S", 44.4, FigureSource::Datasheet, 46068, 0.864, 362, 733, ""},
      {"A10G", 22.06, FigureSource::Log, 23028, 0.600, 70, {}, ""},
      {"RTX 3090", 23.58, FigureSource::Log, 24576, 0.936, 71, {}, ""},
      {"RTX 4090", 23.55, FigureSource::Datasheet, 24564, 1.008, 165, 330, ""},
      {"RTX 5090", 31.36, FigureSource::Log, 32607, 1.792, 210, 419, "31.84 GiB under WSL"},
      {"RTX PRO 6000", 95, FigureSource::Datasheet, 97887, 1.792, 468, 936, ""},
      {"MI300X", 191.98, FigureSource::Log, 196592, 5.3, 1307, 2614, ""},
      {"GB10", 121.7, FigureSource::Log, {}, 0.273, {}, {}, "memory shared with the CPU"},
  };
  return catalogue;
}

const Gpu& find_gpu(std::string_view name) {
  const std::string wanted = normalized(name);
  for (const Ambiguous& ambiguous : kAmbiguous) {
    if (ambiguous.name == wanted) {
      throw Error(ErrorCode::InvalidArgument, "gpu \"" + std::string(name) + "\" may be any of: " +
                                                  std::string(ambiguous.choices));
    }
  }
  std::string_view target;
  for (const Alias& alias : kGpuAliases) {
    if (alias.alias == wanted) {
      target = alias.name;
    }
  }
  std::string known;
  for (const Gpu& gpu : gpu_catalogue()) {
    if (gpu.name == target || normalized(gpu.name) == wanted) {
      return gpu;
    }
    known += known.empty() ? gpu.name : ", " + gpu.name;
  }
  throw Error(ErrorCode::InvalidArgument,
              "gpu \"" + std::string(name) + "\" is not known; known are: " + known);
}

Gpu custom_gpu(double total_gib) {
  if (!(total_gib > 0) || total_gib > kTotalGibMax) {
    throw Error(ErrorCode::InvalidArgument, "the GPU's memory is " + decimal(total_gib, 3) +
                                                " GiB, expected more than 0 and at most 65,536");
  }
  Gpu gpu;
  gpu.name = "GPU of " + decimal(total_gib, 2) + " GiB";
  gpu.total_gib = total_gib;
  return gpu;
}

}  // namespace octavo::sim
