// What stands in PTX text in place of a register: numbers, and names of shared memory and of
// parameters, each of which becomes a register that is set before the kernel starts.
//
// Pure functions: any thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "tests/cuda/simulated_gpu/machine/program.h"

namespace octavo::simulated_gpu {

/// "-5", "0x1F", "0f3F800000" (a binary32 by its bits); nothing for what is no number.
std::optional<std::uint64_t> number_of(const std::string& text);

/// Names and the addresses that they stand for.
using Symbols = std::map<std::string, std::uint64_t>;

/// A name, or a name + a number.
std::optional<std::uint64_t> symbol_of(const std::string& text, const Symbols& symbols);

}  // namespace octavo::simulated_gpu
