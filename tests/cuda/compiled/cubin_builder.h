// Cubins by hand, for the tests of their reader: one kernel, as ptxas lays it out.
//
// A value type of its caller.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace octavo::compiled {

inline constexpr unsigned kExit = 0x94D;
inline constexpr unsigned kMultiplyAdd = 0x223;

/// Instructions, by what the reader looks at. Branches say how many instructions they skip: -1
/// leads to the branch itself.
struct SassWriter {
  int architecture = 90;
  std::vector<std::uint64_t> words;

  void add(unsigned operation, std::uint64_t low = kAlways, std::uint64_t high = 0);
  void branch(std::int64_t skip, std::uint64_t predicate = kAlways);
  void call(std::int64_t skip, std::uint64_t predicate = kAlways);
  void diverged_branch(std::int64_t skip);

  static constexpr std::uint64_t kAlways = 0x7000;  ///< Predicate PT.
  static constexpr std::uint64_t kIf = 0x0000;      ///< Predicate P0.

 private:
  void add_branch(unsigned operation, std::int64_t skip, std::uint64_t bits);
};

struct CubinBuilder {
  std::string kernel = "_Z6kernelPf";
  int architecture = 90;
  std::uint8_t abi_version = 8;
  std::uint32_t registers = 40;
  std::uint32_t frame_bytes = 0;
  std::uint64_t shared_bytes = 0;               ///< Of the section; 0: no section.
  std::vector<std::uint32_t> indirect_targets;  ///< {branch, 0, count, target ...}, in bytes.
  std::vector<std::uint64_t> subroutines;       ///< Where they begin, in bytes.
  std::vector<std::uint64_t> code;

  std::vector<std::byte> build() const;
};

}  // namespace octavo::compiled
