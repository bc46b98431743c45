// OperandTable: from what PTX text writes as an operand to a place in a warp's register file.
//
// Owned by the Assembler, one a kernel. Threads: one. All raise std::runtime_error for what they
// cannot read.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/cuda/simulated_gpu/machine/constants.h"
#include "tests/cuda/simulated_gpu/machine/program.h"
#include "tests/cuda/simulated_gpu/machine/register_names.h"

namespace octavo::simulated_gpu {

/// What stands between commas, braces and bars; an address with its brackets.
std::vector<std::string> operands_of(const std::string& text);

class OperandTable {
 public:
  RegisterNames& names() { return names_; }
  Symbols& symbols() { return symbols_; }

  /// Operand `i` of `made`, which is of a kind that Definition::operands has, labels apart.
  void set(Instruction& made, std::size_t i, char kind, const std::string& text);
  void set_guard(Instruction& made, const std::string& guard) const;

  /// To be called once, at the end: constants and special registers get their places, behind those
  /// that have a name.
  void place_unnamed(Program& program) const;

 private:
  std::uint64_t constant_of(const std::string& text) const;
  std::uint32_t value(char kind, const std::string& text);
  std::uint32_t constant(std::uint8_t bytes, std::uint64_t value);
  std::uint32_t unnamed(std::uint8_t bytes);
  void set_any_size(Instruction& made, std::size_t i, const std::string& text) const;
  void set_address(Instruction& made, std::size_t i, const std::string& text);

  RegisterNames names_;
  Symbols symbols_;
  /// Of registers without a name, until place_unnamed, with a mark.
  std::uint32_t next_unnamed_ = 0;
  std::map<std::pair<std::uint8_t, std::uint64_t>, std::uint32_t> constants_;
  std::map<std::string, std::uint32_t> special_;
};

}  // namespace octavo::simulated_gpu
