// Matrices of 8 x 8 halves from shared memory into the fragments of products (ldmatrix), as
// kernels/platform.cuh has them.
#pragma once

#include <cstdint>

#include "site.h"

namespace octavo::emulation {

/// Loads `count` matrices, transposed. An error of the kernel when a row is not aligned to 16 bytes
/// or not in shared memory.
void load_transposed(const void* row, std::uint32_t* x, int count, Site site);

}  // namespace octavo::emulation

namespace octavo::cuda {
inline namespace emulated {

inline void load_transposed(const void* row,
                            std::uint32_t (&x)[2],
                            emulation::Site site = emulation::Site::current()) {
  emulation::load_transposed(row, x, 2, site);
}
inline void load_transposed(const void* row,
                            std::uint32_t (&x)[4],
                            emulation::Site site = emulation::Site::current()) {
  emulation::load_transposed(row, x, 4, site);
}

}  // namespace emulated
}  // namespace octavo::cuda
