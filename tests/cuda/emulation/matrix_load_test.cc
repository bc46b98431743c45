// load_transposed: which half of which row of shared memory a lane gets, and what is no row.
#include <cstdint>
#include <vector>

#include "kernel_test.h"
#include <gmock/gmock-matchers.h>

namespace octavo::cuda {
inline namespace emulated {
namespace {

using testing::HasSubstr;

constexpr unsigned kRowHalves = 24;  // 48 bytes apart: rows need not follow each other.
constexpr unsigned kRows = 32;

struct Rows {
  alignas(16) std::uint16_t halves[kRows * kRowHalves];
};

// Lane l names row (l * step) % 32. Half h of row r is r * 100 + h.
template <int kCount>
__global__ void load(std::uint32_t* out, unsigned step) {
  OCTAVO_SHARED(Rows, rows);
  const unsigned lane = threadIdx.x % 32;
  for (unsigned h = 0; h < kRowHalves; ++h) {
    rows.halves[lane * kRowHalves + h] = static_cast<std::uint16_t>(lane * 100 + h);
  }
  __syncthreads();
  std::uint32_t x[static_cast<unsigned>(kCount)];
  load_transposed(&rows.halves[lane * step % kRows * kRowHalves], x);
  for (unsigned i = 0; i < kCount; ++i) {
    out[lane * kCount + i] = x[i];
  }
}

template <int kCount>
void expect_columns(unsigned step, std::uint64_t seed) {
  std::vector<std::uint32_t> out(32 * kCount);
  SeededStream stream({.seed = seed});
  launch(load<kCount>, {1, 32}, stream, out.data(), step);
  for (unsigned lane = 0; lane < 32; ++lane) {
    for (unsigned i = 0; i < kCount; ++i) {
      const auto half = [&](unsigned row) { return (8 * i + row) * step % kRows * 100 + lane / 4; };
      const unsigned upper = lane % 4 * 2;
      EXPECT_EQ(out[lane * kCount + i], half(upper) | half(upper + 1) << 16) << lane << ' ' << i;
    }
  }
}

TEST(MatrixLoad, LanesGetColumnsOfTheRowsThatOthersName) {
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    for (const unsigned step : {1u, 5u, 31u}) {
      expect_columns<2>(step, seed);
      expect_columns<4>(step, seed);
    }
  }
}

enum class Wrong { Nothing, Alignment, Memory, Place };

__global__ void load_wrongly(std::uint32_t* out, Wrong wrong) {
  OCTAVO_SHARED(Rows, rows);
  const unsigned lane = threadIdx.x % 32;
  const std::uint16_t* row = &rows.halves[lane * kRowHalves];
  if (lane == 9 && wrong == Wrong::Alignment) {
    row += 4;
  } else if (lane == 9 && wrong == Wrong::Memory) {
    row = reinterpret_cast<const std::uint16_t*>(out);
  }
  std::uint32_t x[2] = {};
  if (wrong != Wrong::Place || lane < 31) {
    load_transposed(row, x);
  }
  out[8 * lane] = x[0];
}

TEST(MatrixLoad, OfWhatIsNoRowIsAnError) {
  std::vector<uint4> memory(2 * 32);
  auto* const out = reinterpret_cast<std::uint32_t*>(memory.data());
  launch(load_wrongly, {1, 32}, {}, out, Wrong::Nothing);
  EXPECT_THAT(kernel_error(load_wrongly, {1, 32}, {}, out, Wrong::Alignment),
              HasSubstr("a row is not aligned to 16 bytes"));
  EXPECT_THAT(kernel_error(load_wrongly, {1, 32}, {}, out, Wrong::Memory),
              HasSubstr("a row is not in shared memory"));
  EXPECT_THAT(kernel_error(load_wrongly, {1, 32}, {}, out, Wrong::Place),
              HasSubstr("load_transposed at"));
}

}  // namespace
}  // namespace emulated
}  // namespace octavo::cuda
