// Products on tensor cores (mma.sync) and the loads made for them (ldmatrix).
//
// Fragments as the PTX ISA lays them out (9.7.14): lane 4g + t holds, of a, rows g and g + 8; of b,
// column g; of c and d, rows g and g + 8 and columns 2t and 2t + 1. A register has elements that
// follow each other in a row of a or a column of b.
#include <bit>
#include <cstdint>
#include <cstring>

#include "cuda/emulation/tensor_core.h"
#include "tests/cuda/simulated_gpu/machine/access.h"
#include "tests/cuda/simulated_gpu/machine/instruction_set.h"
#include "tests/cuda/simulated_gpu/machine/warp.h"

namespace octavo::simulated_gpu {
namespace {

using emulation::HalfFormat;

constexpr unsigned kRows = 16;
constexpr unsigned kColumns = 8;

/// Where operands stand: d, a, b, c.
constexpr unsigned kFirstOfA = 4;
constexpr unsigned kFirstOfB = 8;
constexpr unsigned kFirstOfC = 10;

std::uint32_t bits_of(const Warp& warp,
                      const Instruction& instruction,
                      unsigned operand,
                      unsigned lane) {
  return warp.get<std::uint32_t>(instruction.operands[operand], lane);
}

// a(row, k), of `kPerRegister` elements each register: registers 0 and 2 have the upper rows, 0 and
// 1 the first half of k.
template <unsigned kPerRegister>
std::uint32_t element_of_a(const Warp& warp,
                           const Instruction& instruction,
                           unsigned row,
                           unsigned k) {
  const unsigned lane = row % 8 * 4 + k / kPerRegister % 4;
  const unsigned which = row / 8 + k / (4 * kPerRegister) * 2;
  return bits_of(warp, instruction, kFirstOfA + which, lane) >>
         (k % kPerRegister) * (32 / kPerRegister);
}

template <unsigned kPerRegister>
std::uint32_t element_of_b(const Warp& warp,
                           const Instruction& instruction,
                           unsigned k,
                           unsigned column) {
  const unsigned lane = column * 4 + k / kPerRegister % 4;
  const unsigned which = k / (4 * kPerRegister);
  return bits_of(warp, instruction, kFirstOfB + which, lane) >>
         (k % kPerRegister) * (32 / kPerRegister);
}

/// d(row, column) = sum(row, column, c(row, column)), which are 32 bits each.
template <typename Sum>
void set_result(Warp& warp, const Instruction& instruction, Sum sum) {
  for (unsigned row = 0; row < kRows; ++row) {
    for (unsigned column = 0; column < kColumns; ++column) {
      const unsigned lane = row % 8 * 4 + column / 2;
      const unsigned which = row / 8 * 2 + column % 2;
      const std::uint32_t c = bits_of(warp, instruction, kFirstOfC + which, lane);
      warp.set<std::uint32_t>(instruction.operands[which], lane, sum(row, column, c));
    }
  }
}

// m16n8k32 of bytes: exact modulo 2^32.
template <bool kSignedA>
void multiply_bytes(Warp& warp, const Instruction& instruction, Mask /*lanes*/) {
  constexpr unsigned kLength = 32;
  std::int32_t a[kRows][kLength];
  std::int32_t b[kLength][kColumns];
  for (unsigned k = 0; k < kLength; ++k) {
    for (unsigned row = 0; row < kRows; ++row) {
      const auto byte = static_cast<std::uint8_t>(element_of_a<4>(warp, instruction, row, k));
      a[row][k] = kSignedA ? std::int32_t{static_cast<std::int8_t>(byte)} : std::int32_t{byte};
    }
    for (unsigned column = 0; column < kColumns; ++column) {
      b[k][column] = static_cast<std::int8_t>(element_of_b<4>(warp, instruction, k, column));
    }
  }
  set_result(warp, instruction, [&](unsigned row, unsigned column, std::uint32_t c) {
    for (unsigned k = 0; k < kLength; ++k) {
      c += static_cast<std::uint32_t>(a[row][k] * b[k][column]);
    }
    return c;
  });
}

// m16n8k16 of 16-bit floats, by the model that the emulation has too: PTX leaves the order and the
// precision of the sum open.
template <HalfFormat kFormat>
void multiply_halves(Warp& warp, const Instruction& instruction, Mask /*lanes*/) {
  constexpr unsigned kLength = emulation::kTensorCoreTerms;
  emulation::TensorCoreTerms rows[kRows];
  emulation::TensorCoreTerms columns[kColumns];
  std::uint16_t codes[kLength];
  for (unsigned row = 0; row < kRows; ++row) {
    for (unsigned k = 0; k < kLength; ++k) {
      codes[k] = static_cast<std::uint16_t>(element_of_a<2>(warp, instruction, row, k));
    }
    rows[row] = emulation::tensor_core_terms(kFormat, codes);
  }
  for (unsigned column = 0; column < kColumns; ++column) {
    for (unsigned k = 0; k < kLength; ++k) {
      codes[k] = static_cast<std::uint16_t>(element_of_b<2>(warp, instruction, k, column));
    }
    columns[column] = emulation::tensor_core_terms(kFormat, codes);
  }
  set_result(warp, instruction, [&](unsigned row, unsigned column, std::uint32_t c) {
    return std::bit_cast<std::uint32_t>(
        emulation::tensor_core_sum(rows[row], columns[column], std::bit_cast<float>(c)));
  });
}

// Of each matrix of 8 x 8 halves, lane 8m + r has the address of row r of matrix m; lane 4g + t
// gets of it column g, rows 2t and 2t + 1.
void load_transposed(Warp& warp, const Instruction& instruction, Mask /*lanes*/) {
  constexpr unsigned kSide = 8;
  constexpr std::uint32_t kRowBytes = 16;
  const unsigned matrices = instruction.elements;
  std::uint16_t halves[4][kSide][kSide];
  for (unsigned lane = 0; lane < matrices * kSide; ++lane) {
    const std::uint64_t address = address_of(warp, instruction, matrices, lane);
    std::memcpy(halves[lane / kSide][lane % kSide],
                find_shared(warp, {instruction, lane, address, kRowBytes}), kRowBytes);
  }
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    for (unsigned m = 0; m < matrices; ++m) {
      const unsigned row = lane % 4 * 2;
      const unsigned column = lane / 4;
      warp.set(instruction.operands[m], lane,
               std::uint32_t{halves[m][row + 1][column]} << 16 | halves[m][row][column]);
    }
  }
}

}  // namespace

void add_matrix_instructions(InstructionSet& set) {
  const auto add = [&](const char* opcode, const char* operands, Handler execute,
                       std::uint8_t elements = 0) {
    Definition definition;
    definition.operands = operands;
    definition.form.flow = Flow::Collective;
    definition.form.execute = execute;
    definition.form.elements = elements;
    set.add(opcode, definition);
  };
  const char* const operands = "wwwwwwwwwwwwww";
  add("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32", operands, &multiply_bytes<true>);
  add("mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32", operands, &multiply_bytes<false>);
  add("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", operands,
      &multiply_halves<HalfFormat::F16>);
  add("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", operands,
      &multiply_halves<HalfFormat::BF16>);
  add("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16", "wwa", &load_transposed, 2);
  add("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16", "wwwwa", &load_transposed, 4);
}

}  // namespace octavo::simulated_gpu
