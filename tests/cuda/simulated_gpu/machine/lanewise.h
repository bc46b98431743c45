// Instructions that do the same in every lane: made of a function of one lane's values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

#include "tests/cuda/simulated_gpu/machine/instruction_set.h"
#include "tests/cuda/simulated_gpu/machine/program.h"
#include "tests/cuda/simulated_gpu/machine/warp.h"

namespace octavo::simulated_gpu {

/// As Definition::operands has it.
template <typename T>
constexpr char operand_kind() {
  if constexpr (std::is_same_v<T, bool>) {
    return 'p';
  } else {
    return sizeof(T) == 2 ? 'h' : (sizeof(T) == 4 ? 'w' : 'd');
  }
}

/// Of an operand: its 32 values.
template <typename T>
struct Values {
  Values(const Warp& from, std::uint32_t place) : warp(from), at(place) {}
  T operator[](unsigned lane) const { return warp.get<T>(at, lane); }
  const Warp& warp;
  std::uint32_t at;
};

template <>
struct Values<bool> {
  Values(const Warp& from, std::uint32_t place) : bits(from.predicate(place)) {}
  bool operator[](unsigned lane) const { return (bits >> lane & 1u) != 0; }
  Mask bits;
};

template <auto kFunction>
struct Lanewise;

template <typename Result, typename... Arguments, Result (*kFunction)(Arguments...)>
struct Lanewise<kFunction> {
  static Definition definition() {
    Definition made;
    made.operands = std::string{operand_kind<Result>(), operand_kind<Arguments>()...};
    made.form.execute = &execute;
    return made;
  }

 private:
  static void execute(Warp& warp, const Instruction& instruction, Mask lanes) {
    execute_of(warp, instruction, lanes, std::index_sequence_for<Arguments...>());
  }

  template <std::size_t... kIndices>
  static void execute_of(Warp& warp,
                         const Instruction& instruction,
                         Mask lanes,
                         std::index_sequence<kIndices...> /*indices*/) {
    const auto result = [&](unsigned lane) {
      return kFunction(Values<Arguments>(warp, instruction.operands[1 + kIndices])[lane]...);
    };
    if constexpr (std::is_same_v<Result, bool>) {
      Mask results = 0;
      for (unsigned lane = 0; lane < kLanes; ++lane) {
        results |= static_cast<Mask>(result(lane)) << lane;
      }
      warp.set_predicate(instruction.operands[0], lanes, results);
    } else {
      for (unsigned lane = 0; lane < kLanes; ++lane) {
        if ((lanes >> lane & 1u) != 0) {
          warp.set<Result>(instruction.operands[0], lane, result(lane));
        }
      }
    }
  }
};

/// set.add of it, for a family's table.
template <auto kFunction>
void add_lanewise(InstructionSet& set, const char* opcode) {
  set.add(opcode, Lanewise<kFunction>::definition());
}

}  // namespace octavo::simulated_gpu
