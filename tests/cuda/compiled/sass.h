// Machine code of GPUs from Volta to Hopper: as much as counting needs. An instruction is 16 bytes;
// its low nine bits name the operation, whatever its operands are.
//
// NVIDIA does not document the encoding; what is used here was found out, and decode_sass
// checks what it can: every branch leads to an instruction.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/cuda/compiled/elf.h"

namespace octavo::compiled {

enum class SassFlow {
  Next,      ///< On to the next instruction; calls of subroutines too, which come back.
  Branch,    ///< To the target, or on where a predicate says so.
  Jump,      ///< To the target.
  Diverged,  ///< To the target for warps whose threads have parted, else on.
  Indirect,  ///< To one of the targets of a table.
  Exit,      ///< Nowhere: the end of the thread, or of a subroutine.
};

struct SassInstruction {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  SassFlow flow = SassFlow::Next;
  std::vector<std::size_t> targets;  ///< By index.

  unsigned operation() const { return static_cast<unsigned>(low & 0x1FFu); }

  /// Its predicate is never true: ptxas pads some copies so.
  bool is_off() const { return (low >> 12 & 0xFu) == 0xFu; }
};

using SassCode = std::vector<SassInstruction>;

/// What the code alone does not tell.
struct SassNotes {
  /// Of the indirect branch at an index.
  std::map<std::size_t, std::vector<std::size_t>> indirect_targets;
  /// Where subroutines begin. A call of anything else is a jump: ptxas leaves loops by such calls.
  std::set<std::size_t> subroutines;
};

/// `architecture`: 80 or 90, say. Throws std::runtime_error for code that cannot be.
SassCode decode_sass(Bytes bytes, int architecture, const SassNotes& notes = {});

/// "FFMA"; the number of an operation without a known name.
std::string operation_name(unsigned operation);

/// Whether it reads or writes local memory: a register that was spilled, or an array that could not
/// be kept in registers.
bool is_local_memory(const SassInstruction& instruction);

}  // namespace octavo::compiled
