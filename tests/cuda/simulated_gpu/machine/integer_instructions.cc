// Integer arithmetic, bits, and moves.
#include <cstdint>
#include <limits>
#include <type_traits>

#include "tests/cuda/simulated_gpu/machine/instruction_set.h"
#include "tests/cuda/simulated_gpu/machine/lanewise.h"

namespace octavo::simulated_gpu {
namespace {

using std::int32_t;
using std::int64_t;
using std::uint16_t;
using std::uint32_t;
using std::uint64_t;

// Unsigned: a sum that overflows wraps.
template <typename T>
T add(T a, T b) {
  return static_cast<T>(a + b);
}
template <typename T>
T subtract(T a, T b) {
  return static_cast<T>(a - b);
}
template <typename T>
T multiply_low(T a, T b) {
  return static_cast<T>(a * b);
}
uint32_t multiply_add_low(uint32_t a, uint32_t b, uint32_t c) {
  return a * b + c;
}
template <typename Wide, typename T>
Wide multiply_wide(T a, T b) {
  return static_cast<Wide>(static_cast<Wide>(a) * static_cast<Wide>(b));
}
int32_t multiply_high(int32_t a, int32_t b) {
  return static_cast<int32_t>(int64_t{a} * int64_t{b} >> 32);
}
template <typename T>
T least(T a, T b) {
  return b < a ? b : a;
}
template <typename T>
T greatest(T a, T b) {
  return a < b ? b : a;
}

template <typename T>
T bits_and(T a, T b) {
  return static_cast<T>(a & b);
}
template <typename T>
T bits_or(T a, T b) {
  return static_cast<T>(a | b);
}
template <typename T>
T bits_xor(T a, T b) {
  return static_cast<T>(a ^ b);
}
template <typename T>
T bits_not(T a) {
  return static_cast<T>(~a);
}

// By more than all bits: as by all.
template <typename T>
T shift_left(T a, uint32_t by) {
  return by >= 8 * sizeof(T) ? T{0} : static_cast<T>(a << by);
}
template <typename T>
T shift_right(T a, uint32_t by) {
  constexpr uint32_t kBits = 8 * sizeof(T);
  if (by >= kBits) {
    return static_cast<T>(std::is_signed_v<T> && a < 0 ? -1 : 0);
  }
  return static_cast<T>(a >> by);
}

// Four bytes of b:a, by the nibbles of `selector`; a nibble's high bit asks for the byte's sign.
uint32_t permute_bytes(uint32_t a, uint32_t b, uint32_t selector) {
  const uint64_t both = uint64_t{b} << 32 | a;
  uint32_t result = 0;
  for (unsigned i = 0; i < 4; ++i) {
    const uint32_t nibble = selector >> (4 * i);
    uint32_t byte = static_cast<uint32_t>(both >> (8 * (nibble & 7u))) & 0xFFu;
    if ((nibble & 8u) != 0) {
      byte = (byte & 0x80u) != 0 ? 0xFFu : 0;
    }
    result |= byte << (8 * i);
  }
  return result;
}

// Bit 4a + 2b + c of `table` for the bits a, b and c.
uint32_t look_up_bits(uint32_t a, uint32_t b, uint32_t c, uint32_t table) {
  uint32_t result = 0;
  for (unsigned i = 0; i < 8; ++i) {
    if ((table >> i & 1u) != 0) {
      result |= ((i & 4u) != 0 ? a : ~a) & ((i & 2u) != 0 ? b : ~b) & ((i & 1u) != 0 ? c : ~c);
    }
  }
  return result;
}

// `length` bits of `field` in place of those of `base` from `first` on.
uint32_t insert_bits(uint32_t field, uint32_t base, uint32_t first, uint32_t length) {
  first &= 0xFFu;
  length &= 0xFFu;
  const uint32_t mask = shift_left(length >= 32 ? ~0u : (1u << length) - 1, first);
  return (base & ~mask) | (shift_left(field, first) & mask);
}

template <typename T>
T move(T a) {
  return a;
}
template <typename T>
T select(T a, T b, bool first) {
  return first ? a : b;
}
uint32_t pack(uint16_t low, uint16_t high) {
  return uint32_t{high} << 16 | low;
}

// Of no value: PTX leaves open what comes out, so it must not happen.
template <typename T, bool kRemainder>
void divide(Warp& warp, const Instruction& instruction, Mask lanes) {
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    if ((lanes >> lane & 1u) == 0) {
      continue;
    }
    const T a = warp.get<T>(instruction.operands[1], lane);
    const T b = warp.get<T>(instruction.operands[2], lane);
    if (b == 0) {
      warp.fail(instruction, lane, "a division by zero");
    }
    if (std::is_signed_v<T> && b == static_cast<T>(-1)) {  // The least number has no opposite.
      using U = std::make_unsigned_t<T>;
      warp.set<T>(instruction.operands[0], lane,
                  kRemainder ? T{0} : static_cast<T>(U{0} - static_cast<U>(a)));
      continue;
    }
    warp.set<T>(instruction.operands[0], lane, static_cast<T>(kRemainder ? a % b : a / b));
  }
}

void unpack(Warp& warp, const Instruction& instruction, Mask lanes) {
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    if ((lanes >> lane & 1u) != 0) {
      const auto both = warp.get<uint32_t>(instruction.operands[2], lane);
      warp.set(instruction.operands[0], lane, static_cast<uint16_t>(both));
      warp.set(instruction.operands[1], lane, static_cast<uint16_t>(both >> 16));
    }
  }
}

void add_with(InstructionSet& set, const char* opcode, const char* operands, Handler execute) {
  Definition definition;
  definition.operands = operands;
  definition.form.execute = execute;
  set.add(opcode, definition);
}

void add_arithmetic(InstructionSet& set) {
  add_lanewise<&add<uint16_t>>(set, "add.s16");
  add_lanewise<&add<uint32_t>>(set, "add.s32");
  add_lanewise<&add<uint64_t>>(set, "add.s64");
  add_lanewise<&subtract<uint32_t>>(set, "sub.s32");
  add_lanewise<&subtract<uint64_t>>(set, "sub.s64");
  add_lanewise<&multiply_low<uint32_t>>(set, "mul.lo.s32");
  add_lanewise<&multiply_low<uint64_t>>(set, "mul.lo.s64");
  add_lanewise<&multiply_add_low>(set, "mad.lo.s32");
  add_lanewise<&multiply_wide<uint32_t, uint16_t>>(set, "mul.wide.u16");
  add_lanewise<&multiply_wide<uint64_t, uint32_t>>(set, "mul.wide.u32");
  add_lanewise<&multiply_wide<int64_t, int32_t>>(set, "mul.wide.s32");
  add_lanewise<&multiply_high>(set, "mul.hi.s32");
  add_lanewise<&least<int32_t>>(set, "min.s32");
  add_lanewise<&least<uint32_t>>(set, "min.u32");
  add_lanewise<&least<int64_t>>(set, "min.s64");
  add_lanewise<&greatest<int32_t>>(set, "max.s32");
  add_lanewise<&greatest<uint32_t>>(set, "max.u32");
  add_lanewise<&greatest<int64_t>>(set, "max.s64");
  add_with(set, "div.s32", "www", &divide<int32_t, false>);
  add_with(set, "div.u32", "www", &divide<uint32_t, false>);
  add_with(set, "div.s64", "ddd", &divide<int64_t, false>);
  add_with(set, "div.u64", "ddd", &divide<uint64_t, false>);
  add_with(set, "rem.s32", "www", &divide<int32_t, true>);
  add_with(set, "rem.u32", "www", &divide<uint32_t, true>);
  add_with(set, "rem.s64", "ddd", &divide<int64_t, true>);
}

void add_bits(InstructionSet& set) {
  add_lanewise<&bits_and<uint16_t>>(set, "and.b16");
  add_lanewise<&bits_and<uint32_t>>(set, "and.b32");
  add_lanewise<&bits_and<uint64_t>>(set, "and.b64");
  add_lanewise<&bits_or<uint32_t>>(set, "or.b32");
  add_lanewise<&bits_or<uint64_t>>(set, "or.b64");
  add_lanewise<&bits_xor<uint32_t>>(set, "xor.b32");
  add_lanewise<&bits_not<uint32_t>>(set, "not.b32");
  add_lanewise<&bits_not<uint64_t>>(set, "not.b64");
  add_lanewise<&shift_left<uint16_t>>(set, "shl.b16");
  add_lanewise<&shift_left<uint32_t>>(set, "shl.b32");
  add_lanewise<&shift_left<uint64_t>>(set, "shl.b64");
  add_lanewise<&shift_right<uint16_t>>(set, "shr.u16");
  add_lanewise<&shift_right<uint32_t>>(set, "shr.u32");
  add_lanewise<&shift_right<uint64_t>>(set, "shr.u64");
  add_lanewise<&shift_right<int32_t>>(set, "shr.s32");
  add_lanewise<&shift_right<int64_t>>(set, "shr.s64");
  add_lanewise<&permute_bytes>(set, "prmt.b32");
  add_lanewise<&look_up_bits>(set, "lop3.b32");
  add_lanewise<&insert_bits>(set, "bfi.b32");
}

void add_moves(InstructionSet& set) {
  for (const char* opcode : {"mov.b16", "mov.u16"}) {
    add_lanewise<&move<uint16_t>>(set, opcode);
  }
  for (const char* opcode : {"mov.b32", "mov.u32", "mov.f32"}) {
    add_lanewise<&move<uint32_t>>(set, opcode);
  }
  // Addresses of global memory are what generic ones are.
  for (const char* opcode : {"mov.b64", "mov.u64", "cvta.to.global.u64"}) {
    add_lanewise<&move<uint64_t>>(set, opcode);
  }
  for (const char* opcode : {"selp.b16", "selp.u16"}) {
    add_lanewise<&select<uint16_t>>(set, opcode);
  }
  for (const char* opcode : {"selp.b32", "selp.u32", "selp.f32"}) {
    add_lanewise<&select<uint32_t>>(set, opcode);
  }
  add_lanewise<&select<uint64_t>>(set, "selp.b64");
  add_lanewise<&pack>(set, "mov.b32 of two");
  add_with(set, "mov.b32 to two", "hhw", &unpack);
}

}  // namespace

void add_integer_instructions(InstructionSet& set) {
  add_arithmetic(set);
  add_bits(set);
  add_moves(set);
}

}  // namespace octavo::simulated_gpu
