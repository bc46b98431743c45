// Kernels that a warp passes once: rows and runs of bytes, and state.
#include <algorithm>
#include <string>
#include <utility>

#include "tests/cuda/compiled/expectation_parts.h"
#include "tests/cuda/compiled/flow.h"
#include "tests/cuda/compiled/ways.h"

namespace octavo::compiled {
namespace {

constexpr unsigned kNarrow = 0x03E;
constexpr unsigned kBarrier = 0x11D;
constexpr unsigned kCall = 0x144;
constexpr unsigned kLoad = 0x181;
constexpr unsigned kStore = 0x186;
constexpr unsigned kShuffle = 0x189;

struct WarpCase {
  std::string name;
  std::string_view kernel;
  double warp_bytes = 0;         // Read and written.
  double read_share = 0.5;       // Of those.
  double cache_bytes = 0;        // Further ones, of a warp.
  double flight_bytes = 0;       // Of a warp.
  std::size_t shared_bytes = 0;  // Dynamic, of a block.
  double bytes = 0;              // Of the case.
  double launches = 1;
  double goal = 0.0;
};

std::optional<Expectation> expect_warps(const GpuFigures& gpu,
                                        const CompiledKernel& kernel,
                                        const std::optional<Instructions>& way,
                                        const WarpCase& item) {
  if (!way) {
    return std::nullopt;
  }
  LaunchWork launch;
  launch.needs = {kBlockThreads, kernel.registers, kernel.shared_bytes + item.shared_bytes};
  launch.memory_bytes = kBlockWarps * item.warp_bytes;
  launch.cache_bytes = kBlockWarps * (item.warp_bytes + item.cache_bytes);
  launch.read_bytes = launch.memory_bytes * item.read_share;
  launch.flight_bytes = kBlockWarps * item.flight_bytes;
  launch.blocks = item.bytes / launch.memory_bytes / item.launches;
  launch.clocks = clocks_of(kernel.code, *way) * kBlockWarps;
  Expectation result;
  result.name = item.name;
  result.kernel = item.kernel;
  result.bytes = item.bytes;
  result.goal = item.goal;
  result.main = time_of(gpu, launch);
  result.other_us = result.main.us * (item.launches - 1);
  result.value = fraction_of_copy(gpu, item.bytes, result.main.us + result.other_us);
  return result;
}

// Accesses of `operation`, by so many bytes a lane, in blocks with no fewer and no more of them.
Instructions together(
    const SassCode& code, unsigned operation, unsigned bytes, std::size_t least, std::size_t most) {
  Instructions found;
  for (const FlowBlock& block : flow_of(code).blocks) {
    Instructions of_block;
    for (std::size_t i = block.begin; i < block.end; ++i) {
      if (code[i].operation() == operation && access_bytes(code[i]) == bytes) {
        of_block.push_back(i);
      }
    }
    if (of_block.size() >= least && of_block.size() <= most) {
      join(found, of_block);
    }
  }
  return found;
}

// The way of a warp that writes rows of 16-bit elements, four units a lane: aligned, 64-bit
// divisions avoided, the scale of a quantized row made from its own elements. The units are loaded
// side by side, a vector each (two of 32-bit elements), and so are all but the last stored.
std::optional<Instructions> way_of_append(const SassCode& code,
                                          unsigned store_bytes,
                                          bool narrows) {
  constexpr std::size_t kUnits = 4;
  WayRules rules;
  rules.avoids = all_of(code, kCall);
  rules.passes = {together(code, kLoad, 16, kUnits, kUnits),
                  together(code, kStore, store_bytes, kUnits - 1, kUnits)};
  if (store_bytes != 16) {
    rules.passes.push_back(all_of(code, kShuffle));
  }
  if (narrows) {
    rules.passes.push_back(all_of(code, kNarrow));
  } else {
    join(rules.avoids, all_of(code, kNarrow));
  }
  return shortest_way(code, rules);
}

}  // namespace

// Head dim 128: 4 lanes a row, so eight rows a warp.
std::vector<Expectation> expect_append(const GpuFigures& gpu, Kernels kernels) {
  constexpr double kRows = 2 * 8 * 4096 * kCaseKvHeads;
  struct Format {
    std::string_view name;
    double row_bytes = 0;
    unsigned store_bytes = 0;  // Of a unit.
    bool narrows = false;      // By the GPU's own conversion.
  };
  const CompiledKernel* const kernel = find_kernel(kernels, "append_kernel<4u>");
  if (kernel == nullptr) {
    return {};
  }
  std::vector<Expectation> results;
  for (const Format& format : {Format{"bf16", 256, 16, false},
                               {"e4m3", 132, 8, true},
                               {"int8", 132, 8, false},
                               {"int4", 68, 4, false}}) {
    WarpCase item;
    item.name = "append " + std::string(format.name);
    item.kernel = kernel->name;
    item.warp_bytes = 8 * (256 + format.row_bytes);
    item.read_share = 256 / (256 + format.row_bytes);
    item.flight_bytes = 2048;
    item.bytes = kRows * (256 + format.row_bytes);
    item.goal = 0.85;
    const auto way = way_of_append(kernel->code, format.store_bytes, format.narrows);
    if (auto result = expect_warps(gpu, *kernel, way, item)) {
      results.push_back(std::move(*result));
    }
  }
  return results;
}

// Runs of 4096 bytes, a warp each; 2048 lists of them a launch.
std::vector<Expectation> expect_copies(const GpuFigures& gpu, Kernels kernels) {
  const CompiledKernel* const kernel = find_kernel(kernels, "copy_blocks_kernel<2048u>");
  if (kernel == nullptr) {
    return {};
  }
  const SassCode& code = kernel->code;
  const Instructions stores = accesses(code, kStore, 16);
  const auto way = shortest_way(code, {.passes = {accesses(code, kLoad, 16), stores}});
  std::vector<Expectation> results;
  for (const double layers : {1.0, 64.0}) {
    WarpCase item;
    item.name = layers > 1 ? "copy of whole blocks, 64 arrays in one" : "copy of whole blocks";
    item.kernel = kernel->name;
    item.warp_bytes = 8192;
    item.flight_bytes = 2048;
    item.bytes = 2.0 * 8192 * kCaseKvHeads * 4096;
    item.launches = std::max(1.0, 8192 / layers / 2048);
    item.goal = 0.85;
    if (auto result = expect_warps(gpu, *kernel, way, item)) {
      results.push_back(std::move(*result));
    }
  }
  return results;
}

std::vector<Expectation> expect_recurrences(const GpuFigures& gpu, Kernels kernels) {
  constexpr double kHeads = 64 * 32;
  std::vector<Expectation> results;
  for (const bool is_delta : {true, false}) {
    for (const bool half : {false, true}) {
      const std::string name =
          std::string(is_delta ? "gated_delta_kernel" : "selective_state_kernel") +
          (half ? "<(DType)2, 4u>" : "<(DType)0, 4u>");
      const CompiledKernel* const kernel = find_kernel(kernels, name);
      if (kernel == nullptr) {
        continue;
      }
      const SassCode& code = kernel->code;
      const unsigned access = half ? 8 : 16;
      const double state_bytes = half ? 2 : 4;
      WarpCase item;
      item.name = std::string(is_delta ? "gated delta" : "selective state") + " update, " +
                  (half ? "bf16" : "f32") + " state";
      item.kernel = kernel->name;
      // A warp has 32 x 16 packs of the state; the operands and the result are 2 bytes each.
      item.warp_bytes = 2 * 32 * 16 * 4 * state_bytes + kCaseHeadDim * 4 * 2 / 8;
      item.flight_bytes = 32 * 16 * 4 * state_bytes;
      item.shared_bytes = 4 * (2 * 128 + 64 + 32 + 2 * 8 * 64);
      item.bytes = kHeads * kCaseHeadDim * (2 * kCaseHeadDim * state_bytes + 4 * 2);
      item.goal = is_delta && !half ? 0.85 : 0.0;
      const auto way =
          shortest_way(code, {.passes = {accesses(code, kLoad, access), all_of(code, kBarrier),
                                         accesses(code, kStore, access)}});
      if (auto result = expect_warps(gpu, *kernel, way, item)) {
        results.push_back(std::move(*result));
      }
    }
  }
  return results;
}

// A decode step of 64 sequences and 16384 channels, windows of three inputs, 16-bit elements.
std::vector<Expectation> expect_convolution(const GpuFigures& gpu, Kernels kernels) {
  const CompiledKernel* const kernel = find_kernel(kernels, "conv_kernel<3u, 4u, 1u, 1u>");
  if (kernel == nullptr) {
    return {};
  }
  const SassCode& code = kernel->code;
  constexpr double kChannels = 32 * 4;  // Of a warp.
  WarpCase item;
  item.name = "convolution update, bf16, width 3";
  item.kernel = kernel->name;
  item.warp_bytes = kChannels * 2 * (2 + 2 * 3);
  item.cache_bytes = kChannels * 2 * (4 + 1);
  item.flight_bytes = kChannels * 2 * (1 + 3);
  item.bytes = 64.0 * 16384 * 2 * (2 + 2 * 3);
  const auto way =
      shortest_way(code, {.passes = {accesses(code, kLoad, 8), accesses(code, kStore, 8)}});
  std::vector<Expectation> results;
  if (auto result = expect_warps(gpu, *kernel, way, item)) {
    results.push_back(std::move(*result));
  }
  return results;
}

}  // namespace octavo::compiled
