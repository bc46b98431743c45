// InstructionSet: the PTX instructions that the machine knows, by their whole names.
//
// Made once, unchanged since: any number of threads may read it.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "tests/cuda/simulated_gpu/machine/program.h"

namespace octavo::simulated_gpu {

/// What an instruction is but for its operands.
struct Definition {
  /// Of each operand what it is:
  ///   p h w d  a predicate, a register of 16, 32 or 64 bits, or a constant in its place
  ///   x        a register of any of these sizes; all of them in one instruction are alike
  ///   a        an address in brackets; its offset goes to offset_bytes
  ///   n        a constant, which goes to `number`
  ///   l        a label
  std::string operands;
  /// Everything else of the instruction.
  Instruction form;
  /// Which operand names the lanes of a collective; none when it is less than 0.
  int members_operand = -1;
};

class InstructionSet {
 public:
  static const InstructionSet& instance();

  /// Null for what there is not.
  const Definition* find(const std::string& opcode) const {
    const auto found = definitions_.find(opcode);
    return found == definitions_.end() ? nullptr : &found->second;
  }

  void add(const std::string& opcode, const Definition& definition) {
    definitions_[opcode] = definition;
  }

 private:
  InstructionSet();

  std::map<std::string, Definition> definitions_;
};

// The families, one file each.
void add_integer_instructions(InstructionSet& set);
void add_comparisons(InstructionSet& set);
void add_float_instructions(InstructionSet& set);
void add_conversions(InstructionSet& set);
void add_memory_instructions(InstructionSet& set);
void add_atomics_and_copies(InstructionSet& set);
void add_warp_instructions(InstructionSet& set);
void add_matrix_instructions(InstructionSet& set);
void add_control(InstructionSet& set);

}  // namespace octavo::simulated_gpu
