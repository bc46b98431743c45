// What the host functions over kernels check before they launch: sizes, grids and alignment.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>

#include "kernels/platform.cuh"
#include "octavo/dtype.h"
#include "octavo/error.h"

namespace octavo::cuda {
inline namespace OCTAVO_CUDA_TARGET {

constexpr std::int64_t kMaxGridX = 2147483647;  ///< Thread blocks.
constexpr std::int64_t kMaxGridY = 65535;

constexpr std::int64_t ceil_div(std::int64_t n, std::int64_t d) {
  return (n + d - 1) / d;
}

/// Of F32, F16 and BF16.
constexpr std::int64_t element_bytes(DType dtype) {
  return dtype == DType::F32 ? 4 : 2;
}

/// Raises Unimplemented: "<operation>: <what> of <value>; the kernels take at most <most>".
inline void check_at_most(const char* operation,
                          const char* what,
                          std::int64_t value,
                          std::int64_t most) {
  if (value > most) {
    throw Error(ErrorCode::Unimplemented, std::string(operation) + ": " + what + " of " +
                                              std::to_string(value) +
                                              "; the kernels take at most " + std::to_string(most));
  }
}

/// Whether packs of four elements lie at multiples of their size, from `data` on and along strides
/// that count elements. True where there is no data.
inline bool packs_align(const void* data,
                        DType dtype,
                        std::initializer_list<std::int64_t> strides) {
  const auto pack_bytes = static_cast<std::uintptr_t>(4 * element_bytes(dtype));
  bool aligned = reinterpret_cast<std::uintptr_t>(data) % pack_bytes == 0;
  for (const std::int64_t stride : strides) {
    aligned = aligned && stride % 4 == 0;
  }
  return aligned;
}

}  // namespace OCTAVO_CUDA_TARGET
}  // namespace octavo::cuda
