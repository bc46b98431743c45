// Products of small matrices by one warp (mma.sync), as kernels/platform.cuh has them: c += a b.
//
// Fragments lie in the lanes as the PTX ISA lays them out for m16n8k32 (8-bit) and m16n8k16
// (16-bit). Lane 4g + t holds of a the rows g and g + 8, of b the column g, of c the rows g and
// g + 8 and the columns 2t and 2t + 1.
#pragma once

#include <cstdint>

#include "site.h"

namespace octavo::emulation {

void multiply_s8_s8(int (&c)[4],
                    const std::uint32_t (&a)[4],
                    const std::uint32_t (&b)[2],
                    Site site);
void multiply_u8_s8(int (&c)[4],
                    const std::uint32_t (&a)[4],
                    const std::uint32_t (&b)[2],
                    Site site);
void multiply_bf16(float (&c)[4],
                   const std::uint32_t (&a)[4],
                   const std::uint32_t (&b)[2],
                   Site site);
void multiply_f16(float (&c)[4],
                  const std::uint32_t (&a)[4],
                  const std::uint32_t (&b)[2],
                  Site site);

}  // namespace octavo::emulation

namespace octavo::cuda {
inline namespace emulated {

inline void mma_s8_s8(int (&c)[4],
                      const std::uint32_t (&a)[4],
                      std::uint32_t b0,
                      std::uint32_t b1,
                      emulation::Site site = emulation::Site::current()) {
  emulation::multiply_s8_s8(c, a, {b0, b1}, site);
}
inline void mma_u8_s8(int (&c)[4],
                      const std::uint32_t (&a)[4],
                      std::uint32_t b0,
                      std::uint32_t b1,
                      emulation::Site site = emulation::Site::current()) {
  emulation::multiply_u8_s8(c, a, {b0, b1}, site);
}
inline void mma_bf16(float (&c)[4],
                     const std::uint32_t (&a)[4],
                     std::uint32_t b0,
                     std::uint32_t b1,
                     emulation::Site site = emulation::Site::current()) {
  emulation::multiply_bf16(c, a, {b0, b1}, site);
}
inline void mma_f16(float (&c)[4],
                    const std::uint32_t (&a)[4],
                    std::uint32_t b0,
                    std::uint32_t b1,
                    emulation::Site site = emulation::Site::current()) {
  emulation::multiply_f16(c, a, {b0, b1}, site);
}

}  // namespace emulated
}  // namespace octavo::cuda
