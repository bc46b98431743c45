// Loads and stores.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "tests/cuda/simulated_gpu/machine/access.h"
#include "tests/cuda/simulated_gpu/machine/block_run.h"
#include "tests/cuda/simulated_gpu/machine/instruction_set.h"
#include "tests/cuda/simulated_gpu/machine/warp.h"

namespace octavo::simulated_gpu {
namespace {

// Into a register that may be wider.
void set_register(Warp& warp,
                  const Instruction& instruction,
                  std::uint32_t at,
                  unsigned lane,
                  const std::byte* from) {
  std::uint64_t value = 0;
  std::memcpy(&value, from, instruction.element_bytes);
  const unsigned bits = 8u * instruction.element_bytes;
  if (instruction.is_signed && bits < 64 && (value >> (bits - 1) & 1u) != 0) {
    value |= ~std::uint64_t{0} << bits;
  }
  switch (instruction.register_bytes) {
    case 2:
      warp.set(at, lane, static_cast<std::uint16_t>(value));
      break;
    case 4:
      warp.set(at, lane, static_cast<std::uint32_t>(value));
      break;
    default:
      warp.set(at, lane, value);
  }
}

void get_register(const Warp& warp,
                  const Instruction& instruction,
                  std::uint32_t at,
                  unsigned lane,
                  std::byte* to) {
  std::uint64_t value = 0;
  switch (instruction.register_bytes) {
    case 2:
      value = warp.get<std::uint16_t>(at, lane);
      break;
    case 4:
      value = warp.get<std::uint32_t>(at, lane);
      break;
    default:
      value = warp.get<std::uint64_t>(at, lane);
  }
  std::memcpy(to, &value, instruction.element_bytes);
}

template <auto kFind>
void load(Warp& warp, const Instruction& instruction, Mask lanes) {
  const std::uint32_t size = std::uint32_t{instruction.element_bytes} * instruction.elements;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    if ((lanes >> lane & 1u) == 0) {
      continue;
    }
    const std::uint64_t address = address_of(warp, instruction, instruction.elements, lane);
    const std::byte* from = kFind(warp, {instruction, lane, address, size});
    for (unsigned i = 0; i < instruction.elements; ++i) {
      set_register(warp, instruction, instruction.operands[i], lane, from);
      from += instruction.element_bytes;
    }
  }
}

template <auto kFind>
void store(Warp& warp, const Instruction& instruction, Mask lanes) {
  const std::uint32_t size = std::uint32_t{instruction.element_bytes} * instruction.elements;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    if ((lanes >> lane & 1u) == 0) {
      continue;
    }
    const std::uint64_t address = address_of(warp, instruction, 0, lane);
    std::byte* to = kFind(warp, {instruction, lane, address, size});
    for (unsigned i = 0; i < instruction.elements; ++i) {
      get_register(warp, instruction, instruction.operands[1 + i], lane, to);
      to += instruction.element_bytes;
    }
  }
}

struct ElementType {
  const char* name;
  std::uint8_t bytes;
  bool is_signed;
};
constexpr ElementType kTypes[] = {
    {"u8", 1, false},  {"s8", 1, true},   {"b8", 1, false},  {"u16", 2, false}, {"s16", 2, true},
    {"b16", 2, false}, {"u32", 4, false}, {"s32", 4, true},  {"b32", 4, false}, {"f32", 4, false},
    {"u64", 8, false}, {"s64", 8, true},  {"b64", 8, false},
};

// `name`: "ld.global.nc", for every type and vector of it.
void add_types(InstructionSet& set, const std::string& name, bool is_load, Handler execute) {
  for (const unsigned elements : {1u, 2u, 4u}) {
    for (const ElementType& type : kTypes) {
      if (elements * type.bytes > 16) {
        continue;
      }
      Definition definition;
      const std::string registers(elements, 'x');
      definition.operands = is_load ? registers + "a" : "a" + registers;
      definition.form.execute = execute;
      definition.form.elements = static_cast<std::uint8_t>(elements);
      definition.form.element_bytes = type.bytes;
      definition.form.is_signed = type.is_signed;
      const std::string vector = elements == 1 ? "" : ".v" + std::to_string(elements);
      set.add(name + vector + "." + type.name, definition);
    }
  }
}

}  // namespace

void add_memory_instructions(InstructionSet& set) {
  add_types(set, "ld.param", true, &load<&find_parameter>);
  add_types(set, "ld.shared", true, &load<&find_shared>);
  // Caches are not modelled: .cg and .nc read what is there.
  for (const char* name : {"ld.global", "ld.global.nc", "ld.global.cg"}) {
    add_types(set, name, true, &load<&find_global>);
  }
  add_types(set, "st.shared", false, &store<&find_shared>);
  add_types(set, "st.global", false, &store<&find_global>);
}

}  // namespace octavo::simulated_gpu
