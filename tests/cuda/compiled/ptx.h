// PTX text as functions and their instructions: as much of the language as nvcc writes.
//
// Plain data; the functions may be called by any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace octavo::compiled {

struct PtxInstruction {
  std::string opcode;  ///< With its modifiers: "fma.rn.f32".
  int line = 0;        ///< In the file, from 1.
};

struct PtxFunction {
  std::string name;  ///< Mangled.
  bool is_kernel = false;
  std::vector<PtxInstruction> instructions;
};

struct PtxModule {
  std::string target;    ///< "sm_90a"
  std::string compiler;  ///< "13.0.88"; empty where the text does not say.
  std::vector<PtxFunction> functions;
};

/// Throws std::runtime_error, with the line, for text that is not such PTX.
PtxModule read_ptx(std::string_view text);

}  // namespace octavo::compiled
