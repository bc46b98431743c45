// Program: one kernel of PTX, ready to run: its instructions with their operands found, and what a
// launch lays out for it.
//
// Operands are places in the register file of a warp. Numbers that the text names are registers
// too, which are set before a warp starts, so that an instruction has one form only. A register of
// 16, 32 or 64 bits holds that much of each lane in turn; a predicate is one bit a lane.
//
// Plain data, unchanged once it is assembled: any number of threads may read it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/cuda/simulated_gpu/machine/machine.h"

namespace octavo::simulated_gpu {

class Warp;
struct Instruction;

using Mask = std::uint32_t;  ///< Bit i: lane i.
inline constexpr unsigned kLanes = 32;
inline constexpr Mask kAllLanes = 0xFFFFFFFFu;

/// Does what the instruction says in `lanes`, of which there is one at least.
using Handler = void (*)(Warp& warp, const Instruction& instruction, Mask lanes);

/// How an instruction meets the others.
enum class Flow : std::uint8_t {
  Next,        ///< Lane by lane, in any order.
  Branch,      ///< To `target`.
  Exit,        ///< The lanes end.
  Collective,  ///< All lanes of a mask together.
  Barrier,     ///< All threads of the block together.
};

inline constexpr unsigned kOperandsMax = 14;  ///< mma.sync has as many.
inline constexpr std::uint32_t kNoRegister = 0xFFFFFFFFu;

struct Instruction {
  Handler execute = nullptr;  ///< Null for Branch, Exit and bar.sync.
  std::uint32_t operands[kOperandsMax] = {};
  std::uint32_t guard = kNoRegister;    ///< A predicate.
  std::uint32_t members = kNoRegister;  ///< Of a Collective: 32 bits; none: all lanes.
  std::uint32_t target = 0;             ///< Index of an instruction.
  std::int32_t offset_bytes = 0;        ///< From the address that a register holds.
  std::uint32_t number = 0;             ///< A constant of the instruction itself.
  int line = 0;                         ///< Of the PTX file.
  Flow flow = Flow::Next;
  bool is_guard_negated = false;
  bool is_signed = false;           ///< A load that extends.
  std::uint8_t element_bytes = 0;   ///< Of what is loaded or stored.
  std::uint8_t elements = 0;        ///< Of a vector.
  std::uint8_t register_bytes = 0;  ///< Of each of its elements.
  std::uint8_t address_bytes = 0;   ///< Of the register with the address.
};

/// A register whose value is known before the launch.
struct Constant {
  std::uint32_t at = 0;
  std::uint8_t bytes = 0;
  std::uint64_t value = 0;
};

/// Registers that PTX names %tid.x and so on; kNoRegister where the kernel has no use for one.
struct SpecialRegisters {
  std::uint32_t tid[3] = {kNoRegister, kNoRegister, kNoRegister};
  std::uint32_t ctaid[3] = {kNoRegister, kNoRegister, kNoRegister};
  std::uint32_t ntid[3] = {kNoRegister, kNoRegister, kNoRegister};
  std::uint32_t nctaid[3] = {kNoRegister, kNoRegister, kNoRegister};
};

struct Program {
  std::string name;  ///< Mangled.
  std::string file;
  KernelInterface interface;
  std::vector<Instruction> code;
  std::vector<Constant> constants;
  SpecialRegisters special;
  std::uint32_t register_bytes = 0;  ///< Of a warp.
};

/// The registers of a warp. Whoever runs a kernel again gives them back to it: constants stay.
using RegisterFile = std::vector<std::uint64_t>;

/// Where shared memory begins: an address below it is nobody's.
inline constexpr std::uint32_t kSharedBase = 1024;

}  // namespace octavo::simulated_gpu
