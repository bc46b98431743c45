// Declarations of PTX text with room behind them: parameters and shared memory.
//
// Pure functions: any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace octavo::simulated_gpu {

struct Room {
  std::string name;
  std::uint32_t align_bytes = 1;
  std::uint32_t size_bytes = 0;  ///< 0 of an array without a size: dynamic shared memory.
};

/// Of ".shared .align 16 .b8 name[64]", ".param .u32 name", ".extern .shared .b8 name[]". Throws
/// std::runtime_error for what it cannot read.
Room room_of(const std::string& declaration);

/// The parameters in a kernel's head, in order.
std::vector<Room> parameters_of(const std::string& head);

/// The number behind `directive` in a kernel's head; 0 where there is none.
std::uint32_t directive_number(const std::string& head, const std::string& directive);

constexpr std::uint32_t aligned(std::uint32_t at, std::uint32_t align_bytes) {
  return (at + align_bytes - 1) / align_bytes * align_bytes;
}

}  // namespace octavo::simulated_gpu
