// RegisterNames: which register a name of PTX text means, and where it lies in the register file of
// a warp.
//
// Those of an inner scope are free again where it ends. Owned by the OperandTable. Threads: one.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tests/cuda/simulated_gpu/machine/program.h"

namespace octavo::simulated_gpu {

struct Register {
  std::uint32_t at = kNoRegister;
  std::uint8_t bytes = 0;  ///< Of a lane; 0: a predicate.
};

class RegisterNames {
 public:
  /// ".reg .b32 %r<7>" (%r0 to %r6) or ".reg .b16 low,high". Throws std::runtime_error for what it
  /// cannot read.
  void declare(const std::string& declaration);

  void open_scope() { scopes_.push_back({{}, next_at_}); }
  void close_scope();

  /// `at` is kNoRegister where nobody has that name.
  Register find(const std::string& name) const;

  std::uint32_t size_bytes() const { return most_bytes_; }

 private:
  struct Family {
    Register first;
    std::uint32_t count = 1;
    bool is_numbered = false;
  };
  struct Scope {
    std::map<std::string, Family> families;
    std::uint32_t begin_at = 0;
  };

  Register take(std::uint8_t bytes, std::uint32_t count);

  std::vector<Scope> scopes_;
  std::uint32_t next_at_ = 0;
  std::uint32_t most_bytes_ = 0;
};

/// What one register takes of a warp's register file.
std::uint32_t bytes_of_all_lanes(std::uint8_t bytes);

}  // namespace octavo::simulated_gpu
