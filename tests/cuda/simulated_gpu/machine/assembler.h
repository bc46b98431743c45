// The assembler: from the PTX text of one kernel to a Program.
//
// A pure function: any thread.
#pragma once

#include <string>
#include <string_view>

#include "tests/cuda/simulated_gpu/machine/program.h"

namespace octavo::simulated_gpu {

/// `text` holds one kernel and what it needs of its file's declarations; its first line has the
/// number `first_line` in `file`. Throws std::runtime_error, with file and line, for an instruction
/// that is not in the InstructionSet, operands that do not suit it, and whatever else it cannot
/// read.
Program assemble(std::string_view text, const std::string& file, int first_line);

}  // namespace octavo::simulated_gpu
