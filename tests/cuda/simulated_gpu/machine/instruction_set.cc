#include "tests/cuda/simulated_gpu/machine/instruction_set.h"

namespace octavo::simulated_gpu {

InstructionSet::InstructionSet() {
  add_integer_instructions(*this);
  add_comparisons(*this);
  add_float_instructions(*this);
  add_conversions(*this);
  add_memory_instructions(*this);
  add_atomics_and_copies(*this);
  add_warp_instructions(*this);
  add_matrix_instructions(*this);
  add_control(*this);
}

const InstructionSet& InstructionSet::instance() {
  static const InstructionSet set;
  return set;
}

void add_control(InstructionSet& set) {
  const auto add = [&](const char* opcode, const char* operands, Flow flow,
                       std::uint8_t elements = 0) {
    Definition definition;
    definition.operands = operands;
    definition.form.flow = flow;
    definition.form.elements = elements;
    set.add(opcode, definition);
  };
  add("bra", "l", Flow::Branch);
  add("bra.uni", "l", Flow::Branch);
  add("ret", "", Flow::Exit);
  // Of barriers all kernels use number 0 alone. Of two elements: one that asks.
  add("bar.sync", "n", Flow::Barrier, 1);
  add("bar.red.or.pred", "pnp", Flow::Barrier, 2);
}

}  // namespace octavo::simulated_gpu
