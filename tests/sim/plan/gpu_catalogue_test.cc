#include "octavo/sim/gpu_catalogue.h"

#include <limits>
#include <string>

#include "octavo/error.h"
#include <gtest/gtest.h>

namespace octavo::sim {
namespace {

std::string find_error(const std::string& name) {
  try {
    find_gpu(name);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::InvalidArgument);
    return error.what();
  }
  return "no error";
}

TEST(GpuCatalogue, EveryNameFindsItself) {
  EXPECT_EQ(gpu_catalogue().size(), 18U);
  for (const Gpu& gpu : gpu_catalogue()) {
    EXPECT_EQ(&find_gpu(gpu.name), &gpu);
    EXPECT_NE(gpu.total_source, FigureSource::Given);
    // What the framework sees is less than what nvidia-smi shows.
    if (gpu.smi_mib) {
      EXPECT_LT(gpu.total_gib * 1024, static_cast<double>(*gpu.smi_mib)) << gpu.name;
    }
    EXPECT_GT(gpu.bandwidth_tb_per_s, 0);
  }
}

TEST(GpuCatalogue, SpellingDoesNotMatter) {
  for (const char* name : {"h100", "H100", "h100-sxm", "H100_SXM5", "NVIDIA H100 80GB HBM3"}) {
    EXPECT_EQ(find_gpu(name).name, "H100 SXM") << name;
  }
  EXPECT_EQ(find_gpu("NVIDIA A100-SXM4-80GB").name, "A100 80 SXM");
  EXPECT_EQ(find_gpu("a100-40gb").name, "A100 40 SXM");
  EXPECT_EQ(find_gpu("NVIDIA GeForce RTX 4090").name, "RTX 4090");
  EXPECT_EQ(find_gpu("rtx3090").name, "RTX 3090");
  EXPECT_EQ(find_gpu("mi300x").name, "MI300X");
  EXPECT_EQ(find_gpu("L4").name, "L4");
  EXPECT_EQ(find_gpu("l40s").name, "L40S");
}

TEST(GpuCatalogue, FiguresAreWhatTheFrameworkReports) {
  EXPECT_DOUBLE_EQ(find_gpu("h100").total_gib, 79.18);
  EXPECT_EQ(find_gpu("h100").total_source, FigureSource::Log);
  EXPECT_DOUBLE_EQ(find_gpu("l4").total_gib, 22.03);
  EXPECT_EQ(find_gpu("l40s").total_source, FigureSource::Datasheet);
  EXPECT_DOUBLE_EQ(*find_gpu("l40s").fp8_tflops, 733);
  EXPECT_FALSE(find_gpu("a10g").fp8_tflops.has_value());
  EXPECT_FALSE(find_gpu("gb10").smi_mib.has_value());
  // Those that the table of logs marks as from memory.
  std::string marked;
  for (const Gpu& gpu : gpu_catalogue()) {
    if (gpu.total_source == FigureSource::Datasheet) {
      marked += gpu.name + ";";
    }
  }
  EXPECT_EQ(marked, "H100 PCIe;H100 NVL;GB200;L40S;RTX 4090;RTX PRO 6000;");
}

TEST(GpuCatalogue, AnUnknownNameListsTheKnownOnes) {
  for (const char* name : {"h900", "", "nvidia", "---"}) {
    const std::string error = find_error(name);
    for (const Gpu& gpu : gpu_catalogue()) {
      EXPECT_NE(error.find(gpu.name), std::string::npos) << error;
    }
  }
}

TEST(GpuCatalogue, AnAmbiguousNameNamesTheChoices) {
  EXPECT_EQ(find_error("A100"), "gpu \"A100\" may be any of: A100 40 SXM, A100 80 SXM");
}

TEST(GpuCatalogue, ACustomGpuIsItsMemory) {
  EXPECT_DOUBLE_EQ(custom_gpu(47.5).total_gib, 47.5);
  EXPECT_EQ(custom_gpu(47.5).total_source, FigureSource::Given);
  EXPECT_THROW(custom_gpu(0), Error);
  EXPECT_THROW(custom_gpu(-1), Error);
  EXPECT_THROW(custom_gpu(1e9), Error);
  EXPECT_THROW(custom_gpu(std::numeric_limits<double>::quiet_NaN()), Error);
}

}  // namespace
}  // namespace octavo::sim
