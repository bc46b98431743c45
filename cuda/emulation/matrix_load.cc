#include "matrix_load.h"

#include <array>
#include <cstddef>
#include <cstring>
#include <string>
#include <utility>

#include "block.h"
#include "messages.h"
#include "thread.h"
#include "warp_functions.h"

namespace octavo::emulation {
namespace {

constexpr std::size_t kRowBytes = 16;
constexpr unsigned kMatrixRows = 8;
constexpr std::size_t kMostMatrices = 4;

void check_row(const void* row, Site site) {
  Block& block = *current_thread->block;
  Quiet quiet;
  std::string wrong;
  if (reinterpret_cast<std::uintptr_t>(row) % kRowBytes != 0) {
    wrong = "a row is not aligned to 16 bytes";
  } else if (!block.shared().holds(row, kRowBytes)) {
    wrong = "a row is not in shared memory";
  }
  if (!wrong.empty()) {
    wrong = "load_transposed at " + to_text(site) + ": " + wrong;
    block.raise(quiet, std::move(wrong));
  }
}

// What a lane brings, and the rows that it reads.
struct Rows {
  const void* own;
  std::array<const void*, 2 * kMostMatrices> read;
};

// Lane 4g + t reads rows 2t and 2t + 1 of every matrix, which lanes 8i + 2t and 8i + 2t + 1 name.
void exchange(const std::uint64_t* lanes) {
  for (std::size_t lane = 0; lane < 32; ++lane) {
    Rows& rows = *reinterpret_cast<Rows*>(lanes[lane]);
    for (std::size_t i = 0; i < rows.read.size(); ++i) {
      const std::size_t from = i / 2 * kMatrixRows + lane % 4 * 2 + i % 2;
      rows.read[i] = reinterpret_cast<const Rows*>(lanes[from])->own;
    }
  }
}

}  // namespace

// Lanes exchange addresses and each reads for itself, so that a race is seen to be its own. The
// order of memory is that of a shuffle: none.
void load_transposed(const void* row, std::uint32_t* x, int count, Site site) {
  const unsigned lane = current_thread->lane;
  const auto matrices = static_cast<unsigned>(count);
  if (lane < kMatrixRows * matrices) {
    check_row(row, site);
  }
  Rows rows = {row, {}};
  take_part({Operation::MatrixLoad, 0xFFFFFFFFu, 32, site, &exchange},
            reinterpret_cast<std::uint64_t>(&rows));
  for (unsigned i = 0; i < matrices; ++i) {
    std::uint16_t upper = 0;
    std::uint16_t lower = 0;
    const std::size_t column = sizeof upper * (lane / 4);
    std::memcpy(&upper, static_cast<const char*>(rows.read[2 * i]) + column, sizeof upper);
    std::memcpy(&lower, static_cast<const char*>(rows.read[2 * i + 1]) + column, sizeof lower);
    x[i] = std::uint32_t{upper} | std::uint32_t{lower} << 16;
  }
}

}  // namespace octavo::emulation
