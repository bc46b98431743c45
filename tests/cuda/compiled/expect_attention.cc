#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "tests/cuda/compiled/expectation_parts.h"
#include "tests/cuda/compiled/loops.h"
#include "tests/cuda/compiled/slots.h"

namespace octavo::compiled {
namespace {

constexpr double kChunk = 256;
constexpr double kPartialBytes = (kCaseHeadDim + 2) * 4;  // Of a row and chunk.

struct AttendCase {
  std::string name;
  std::string_view kernel;
  std::string_view format;
  int rows = 0;             // Of a tile.
  double group = 1;         // Query heads of a KV head.
  double row_bytes = 0;     // Of one key or value with its scale.
  double flight_bytes = 0;  // Of a block, as its kernel's file says.
  double kv_heads = kCaseKvHeads;
  double batch = 32;
  double context = 4096;
  double query = 1;
  ExpectedUnit unit = ExpectedUnit::FractionOfCopy;
  double goal = 0.0;
};

// What the last block of a tile does for its rows, and waits for: of its warps each does a row
// after the other, with the chunks of an iteration on their way at a time.
void add_combination(const SlotCount& count, double rows, double chunks, LaunchWork& launch) {
  const double iterations = std::ceil(chunks / count.chunks_at_once);
  const PipeClocks row = count.combined_chunks->clocks * iterations;
  const double rows_of_warp = std::ceil(rows / kBlockWarps);
  PipeClocks clocks = row * rows;
  clocks += count.combined_row->clocks * std::max(rows, kBlockWarps);
  launch.clocks += clocks * (1.0 / chunks);           // A block has a chunk.
  launch.tail_trips = 2 + rows_of_warp * iterations;  // Fence and count come first.
  launch.tail_bytes = rows * chunks * kPartialBytes;
}

double causal_teraflops(const AttendCase& item, double us) {
  const double pairs = 0.5 * item.batch * item.query * item.context * item.group * item.kv_heads;
  return pairs * 4 * kCaseHeadDim / us * 1e-6;
}

// But for its value.
Expectation expectation_of(const AttendCase& item, const LaunchTime& time) {
  Expectation result;
  result.name = item.name;
  result.kernel = item.kernel;
  result.unit = item.unit;
  result.goal = item.goal;
  result.main = time;
  return result;
}

std::optional<Expectation> expect_case(const GpuFigures& gpu,
                                       const std::vector<SlotCount>& counts,
                                       const AttendCase& item) {
  const auto count = std::find_if(counts.begin(), counts.end(), [&item](const SlotCount& c) {
    return c.architecture == kExpectedArchitecture && c.kernel == item.kernel &&
           c.format == item.format && c.head_dim == static_cast<int>(kCaseHeadDim) &&
           c.rows == item.rows;
  });
  if (count == counts.end() || !count->keys || !count->values || !count->plain_softmax_of_row ||
      !count->rest || !count->combined_row || count->chunks_at_once == 0) {
    return std::nullopt;
  }
  const double rows = std::min(item.query * item.group, static_cast<double>(item.rows));
  const double tiles = item.batch * item.query * item.group / rows;
  const double chunks = item.context / kChunk;
  // Of a prompt half of the chunks are behind the query, and the diagonal is done whole.
  const double seen = item.query > 1 ? (chunks + 1) / 2 : chunks;
  const double partial_bytes = rows * kPartialBytes;
  LaunchWork launch;
  launch.needs = {kBlockThreads, count->registers, count->shared_bytes};
  launch.blocks = tiles * item.kv_heads * seen;
  launch.clocks = count->plain_softmax_of_row->clocks * rows;
  launch.clocks += count->keys->clocks;
  launch.clocks += count->values->clocks;
  launch.clocks += count->rest->clocks;
  launch.clocks = launch.clocks * kChunk;
  launch.read_bytes = 2 * kChunk * item.row_bytes;
  launch.cache_bytes = launch.read_bytes + 2 * partial_bytes;  // The last block reads them again.
  // The tiles of a prompt read the same rows again and again.
  launch.memory_bytes = partial_bytes + launch.read_bytes * (item.query > 1 ? 0.0 : 1.0);
  launch.flight_bytes = item.flight_bytes;
  add_combination(*count, rows, seen, launch);
  Expectation result = expectation_of(item, time_of(gpu, launch));
  const double us = result.main.us;
  if (item.unit == ExpectedUnit::Teraflops) {
    result.value = causal_teraflops(item, us);
    return result;
  }
  const double query_bytes = item.batch * item.kv_heads * item.group * kCaseHeadDim * 2;
  result.bytes = 2 * (item.batch * item.context * item.kv_heads * item.row_bytes + query_bytes);
  result.value =
      item.unit == ExpectedUnit::Microseconds ? us : fraction_of_copy(gpu, result.bytes, us);
  return result;
}

// Wide tiles: a block goes round its loop once a chunk, with eight warps, and has a multiprocessor
// to itself; of what it does besides nothing is counted. Both sides of its conditions are, so that
// the masks of chunks that some row sees a part of are in every one.
std::optional<Expectation> expect_wide(const GpuFigures& gpu,
                                       Kernels kernels,
                                       const AttendCase& item) {
  constexpr unsigned kFloatProduct = 0x03C;
  constexpr double kWarps = 8;
  constexpr double kRows = 128;
  const CompiledKernel* const kernel = find_kernel(kernels, item.kernel);
  if (kernel == nullptr) {
    return std::nullopt;
  }
  const Loop* chunks = nullptr;
  const std::vector<Loop> loops = find_loops(kernel->code);
  for (const Loop& loop : loops) {
    if (loop.count(kFloatProduct) > 0 &&
        (chunks == nullptr || loop.body.size() > chunks->body.size())) {
      chunks = &loop;
    }
  }
  if (chunks == nullptr) {
    return std::nullopt;
  }
  const double seen = (item.context / kChunk + 1) / 2;
  LaunchWork launch;
  launch.needs = {static_cast<std::size_t>(32 * kWarps), kernel->registers, kernel->shared_bytes};
  launch.blocks = item.batch * item.query * item.group / kRows * item.kv_heads;
  launch.clocks = clocks_of(kernel->code, chunks->body) * (kWarps * seen);
  launch.cache_bytes = 2 * kChunk * item.row_bytes * seen;
  Expectation result = expectation_of(item, time_of(gpu, launch));
  result.value = causal_teraflops(item, result.main.us);
  return result;
}

std::string in_words(double x) {
  return std::to_string(static_cast<int>(x));
}

AttendCase prefill_case(AttendCase item, std::string name, double goal) {
  item.name = std::move(name);
  item.group = 4;
  item.batch = 1;
  item.query = 4096;
  item.unit = ExpectedUnit::Teraflops;
  item.goal = goal;
  return item;
}

std::vector<AttendCase> attend_cases() {
  struct Rows {
    std::string_view name;
    std::string_view kernel;
    std::string_view format;
    int tile_rows = 0;  // 0: as many as the group.
    double row_bytes = 0;
    double flight_bytes = 0;
    std::array<double, 3> goals = {};  // Groups 1, 4, 8.
  };
  constexpr double kSlots = 7 * kBlockThreads;  // Copies on their way, of attend_float.
  std::vector<AttendCase> cases;
  for (const Rows& rows : {
           Rows{"decode bf16", "attend_float", "BF16", 0, 256, 16 * kSlots, {0.85, 0.85, 0.75}},
           {"decode e4m3", "attend_float", "E4M3", 0, 132, 8 * kSlots, {0.80, 0.60, 0.45}},
           {"decode int8", "attend_int_kernel", "Int8", 8, 132, 16384, {0.80, 0.80, 0.80}},
           {"decode int4", "attend_int_kernel", "Int4", 8, 68, 8192, {0.75, 0.75, 0.75}},
           {"fast decode bf16", "attend_fast_kernel", "BF16", 16, 256, 16384, {0.85, 0.85, 0.85}},
           {"fast decode e4m3", "attend_fast_kernel", "E4M3", 16, 132, 16384, {0.85, 0.85, 0.85}},
       }) {
    for (std::size_t i = 0; i < rows.goals.size(); ++i) {
      constexpr auto kGroups = std::to_array<int>({1, 4, 8});
      AttendCase item;
      item.name = std::string(rows.name) + " group " + in_words(kGroups[i]);
      item.kernel = rows.kernel;
      item.format = rows.format;
      item.rows = rows.tile_rows > 0 ? rows.tile_rows : kGroups[i];
      item.group = kGroups[i];
      item.row_bytes = rows.row_bytes;
      item.flight_bytes = rows.flight_bytes;
      item.goal = rows.goals[i];
      cases.push_back(item);
    }
  }
  for (const auto& [context, kv_heads, goal] :
       {std::tuple{4096.0, 8, 10.0}, {32768.0, 8, 25.0}, {32768.0, 4, 25.0}}) {
    AttendCase item = cases[2];  // BF16, group 8.
    item.name = "one sequence of " + in_words(context) + ", " + in_words(kv_heads) +
                " KV heads, bf16 group 8";
    item.kv_heads = kv_heads;
    item.batch = 1;
    item.context = context;
    item.unit = ExpectedUnit::Microseconds;
    item.goal = goal;
    cases.push_back(item);
  }
  cases.push_back(prefill_case(cases[2], "prefill bf16, 4096 tokens", 25.0));  // Tiles of eight.
  return cases;
}

}  // namespace

std::vector<Expectation> expect_attention(const GpuFigures& gpu, Kernels kernels) {
  const std::vector<SlotCount> counts = count_slots(kernels);
  std::vector<Expectation> results;
  for (const AttendCase& item : attend_cases()) {
    if (auto result = expect_case(gpu, counts, item)) {
      results.push_back(std::move(*result));
    }
  }
  AttendCase wide;
  wide.kernel = "attend_fast_wide_kernel<(DType)2, 128>";
  wide.row_bytes = 256;
  wide = prefill_case(wide, "fast prefill bf16, 4096 tokens", 350.0);
  if (auto result = expect_wide(gpu, kernels, wide)) {
    results.push_back(std::move(*result));
  }
  return results;
}

}  // namespace octavo::compiled
