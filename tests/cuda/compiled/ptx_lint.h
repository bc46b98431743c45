// What float arithmetic the PTX of an exact kernel may hold: operations rounded to nearest where
// they are written, and moves of bits. Everything else that works on floats is an objection.
//
// Every instruction that names a float type must be on the list, so that what this file does not
// know is refused, not passed. Integers are exact: they are not looked at.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tests/cuda/compiled/ptx.h"

namespace octavo::compiled {

/// Why an instruction has no place in an exact kernel; nothing if it has.
std::optional<std::string> objection_to(std::string_view opcode);

/// Whether an instruction names a float type.
bool is_float(std::string_view opcode);

/// An instruction that the kernels of one file may use although there is an objection to it.
struct Allowance {
  std::string_view source;  ///< The file's name without its extension.
  std::string_view opcode;
  std::string_view reason;
};

struct LintFinding {
  std::string function;
  int line = 0;
  std::string opcode;
  std::string objection;
};

/// Objections to everything in `module` that no allowance of `source` covers.
std::vector<LintFinding> lint(const PtxModule& module,
                              std::string_view source,
                              std::span<const Allowance> allowances);

/// How often each opcode occurs.
using OpcodeCounts = std::map<std::string, std::size_t>;
void count_opcodes(const PtxModule& module, OpcodeCounts& counts);

}  // namespace octavo::compiled
