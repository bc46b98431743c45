// Where an instruction finds its memory, once it is known to lie in what there is and to be aligned
// to its size.
//
// Raise MachineError, with the address, through Warp::fail.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tests/cuda/simulated_gpu/machine/program.h"
#include "tests/cuda/simulated_gpu/machine/warp.h"

namespace octavo::simulated_gpu {

/// One lane's access.
struct Access {
  const Instruction& instruction;
  unsigned lane;
  std::uint64_t address;
  std::uint32_t size_bytes;
};

const std::byte* find_parameter(Warp& warp, const Access& access);
std::byte* find_shared(Warp& warp, const Access& access);
std::byte* find_global(Warp& warp, const Access& access);

/// That of the operand with number `operand`.
inline std::uint64_t address_of(const Warp& warp,
                                const Instruction& instruction,
                                unsigned operand,
                                unsigned lane) {
  const auto offset = static_cast<std::uint64_t>(std::int64_t{instruction.offset_bytes});
  const std::uint32_t at = instruction.operands[operand];
  return instruction.address_bytes == 4
             ? static_cast<std::uint32_t>(warp.get<std::uint32_t>(at, lane) + offset)
             : warp.get<std::uint64_t>(at, lane) + offset;
}

}  // namespace octavo::simulated_gpu
