#include "tests/cuda/simulated_gpu/machine/assembler.h"

#include <map>
#include <stdexcept>
#include <utility>
#include <vector>

#include "tests/cuda/compiled/ptx_walk.h"
#include "tests/cuda/simulated_gpu/machine/instruction_set.h"
#include "tests/cuda/simulated_gpu/machine/layout.h"
#include "tests/cuda/simulated_gpu/machine/operand_table.h"

namespace octavo::simulated_gpu {
namespace {

class Assembler final : public compiled::PtxSink {
 public:
  int line() const { return line_; }

  Program finish() {
    if (program_.name.empty()) {
      throw std::runtime_error("no kernel");
    }
    for (const auto& [place, label] : jumps_) {
      const auto found = labels_.find(label);
      if (found == labels_.end()) {
        throw std::runtime_error("no label " + label);
      }
      program_.code[place].target = found->second;
    }
    operands_.place_unnamed(program_);
    return std::move(program_);
  }

  void declaration(const std::string& text, int line) override {
    line_ = line;
    if (text.rfind(".extern", 0) == 0) {
      dynamic_.push_back(room_of(text));
    } else if (text.rfind(".shared", 0) == 0) {
      place_shared(room_of(text));
    } else if (text.rfind(".reg", 0) == 0) {
      operands_.names().declare(text);
    } else if (text.rfind(".pragma", 0) != 0) {  // Advice alone.
      throw std::runtime_error("a declaration that the machine does not know: " + text);
    }
  }

  void function(const std::string& name, bool is_kernel, const std::string& head) override {
    if (!is_kernel || !program_.name.empty()) {
      throw std::runtime_error("more than one kernel: " + name);
    }
    program_.name = name;
    KernelInterface& interface = program_.interface;
    for (const Room& room : parameters_of(head)) {
      const std::uint32_t at = aligned(interface.parameter_bytes, room.align_bytes);
      interface.parameters.push_back({at, room.size_bytes});
      interface.parameter_bytes = at + room.size_bytes;
      operands_.symbols()[room.name] = at;
    }
    const std::uint32_t threads = directive_number(head, ".maxntid");
    interface.threads_max = threads == 0 ? interface.threads_max : threads;
  }

  void scope_begin() override { operands_.names().open_scope(); }
  void scope_end() override { operands_.names().close_scope(); }

  void label(const std::string& name) override {
    labels_[name] = static_cast<std::uint32_t>(program_.code.size());
  }

  void instruction(const compiled::PtxStatement& statement) override {
    line_ = statement.line;
    place_dynamic();
    const std::vector<std::string> operands = operands_of(statement.operands);
    const Definition* const definition =
        InstructionSet::instance().find(full_name(statement, operands));
    if (definition == nullptr || definition->operands.size() != operands.size()) {
      throw std::runtime_error(
          "an instruction that the machine does not know: " + statement.opcode + " with " +
          std::to_string(operands.size()) + " operands");
    }
    Instruction made = definition->form;
    made.line = statement.line;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      if (definition->operands[i] == 'l') {
        jumps_.emplace_back(program_.code.size(), operands[i]);
      } else {
        operands_.set(made, i, definition->operands[i], operands[i]);
      }
    }
    if (definition->members_operand >= 0) {
      made.members = made.operands[definition->members_operand];
    }
    operands_.set_guard(made, statement.guard);
    program_.code.push_back(made);
  }

 private:
  // Of what has several forms under one name.
  std::string full_name(const compiled::PtxStatement& statement,
                        const std::vector<std::string>& operands) {
    const std::string& opcode = statement.opcode;
    if (opcode == "mov.b32" && operands.size() == 3) {
      const std::size_t first = statement.operands.find_first_not_of(" \t");
      return opcode + (statement.operands[first] == '{' ? " to two" : " of two");
    }
    const bool is_wide = opcode == "cvt.s64.s32" && operands.size() == 2 &&
                         operands_.names().find(operands[1]).bytes == sizeof(std::uint64_t);
    return is_wide ? opcode + " of 64 bits" : opcode;
  }

  std::uint32_t place_shared(const Room& room) {
    std::uint32_t& used = program_.interface.static_shared_bytes;
    used = aligned(used, room.align_bytes);
    operands_.symbols()[room.name] = kSharedBase + used;
    used += room.size_bytes;
    return used;
  }

  // Behind all that is static, which is declared in front of the first instruction.
  void place_dynamic() {
    for (const Room& room : std::exchange(dynamic_, {})) {
      place_shared(room);
    }
  }

  Program program_;
  OperandTable operands_;
  std::vector<Room> dynamic_;
  std::map<std::string, std::uint32_t> labels_;
  std::vector<std::pair<std::size_t, std::string>> jumps_;  ///< From where, to which label.
  int line_ = 1;
};

}  // namespace

Program assemble(std::string_view text, const std::string& file, int first_line) {
  Assembler assembler;
  try {
    compiled::walk_ptx(text, assembler);
    Program program = assembler.finish();
    program.file = file;
    for (Instruction& instruction : program.code) {
      instruction.line += first_line - 1;
    }
    return program;
  } catch (const std::runtime_error& error) {
    throw std::runtime_error(file + ":" + std::to_string(assembler.line() + first_line - 1) + ": " +
                             error.what());
  }
}

}  // namespace octavo::simulated_gpu
