#include "tests/cuda/compiled/pipes.h"

#include <algorithm>
#include <utility>

namespace octavo::compiled {
namespace {

constexpr double kIssueClocks = 1.0 / 4;

// A pipe of `lanes` takes 32 / lanes clocks of a warp's instruction.
constexpr double clocks_of(int lanes) {
  return 32.0 / lanes;
}

struct Use {
  unsigned operation = 0;
  Pipe pipe = Pipe::Issue;
  double clocks = 0.0;
};

constexpr double kFloat = clocks_of(128);
constexpr double kInteger = clocks_of(64);
constexpr double kSpecial = clocks_of(16);
// m16n8k16 of halves and m16n8k32 of bytes: one a clock at the peak.
constexpr double kProduct = 2.0;

constexpr auto kUses = std::to_array<Use>({
    {0x020, Pipe::Float, kFloat},      // FMUL
    {0x021, Pipe::Float, kFloat},      // FADD
    {0x023, Pipe::Float, kFloat},      // FFMA
    {0x030, Pipe::Float, kFloat},      // HADD2
    {0x031, Pipe::Float, kFloat},      // HFMA2
    {0x032, Pipe::Float, kFloat},      // HMUL2
    {0x024, Pipe::Float, kInteger},    // IMAD
    {0x025, Pipe::Float, kInteger},    // IMAD.WIDE
    {0x027, Pipe::Float, kInteger},    // IMAD.HI
    {0x002, Pipe::Integer, kInteger},  // MOV
    {0x005, Pipe::Integer, kInteger},  // CS2R
    {0x006, Pipe::Integer, kInteger},  // VOTE
    {0x007, Pipe::Integer, kInteger},  // SEL
    {0x008, Pipe::Integer, kInteger},  // FSEL
    {0x009, Pipe::Integer, kInteger},  // FMNMX
    {0x00B, Pipe::Integer, kInteger},  // FSETP
    {0x00C, Pipe::Integer, kInteger},  // ISETP
    {0x010, Pipe::Integer, kInteger},  // IADD3
    {0x011, Pipe::Integer, kInteger},  // LEA
    {0x012, Pipe::Integer, kInteger},  // LOP3
    {0x013, Pipe::Integer, kInteger},  // IABS
    {0x016, Pipe::Integer, kInteger},  // PRMT
    {0x017, Pipe::Integer, kInteger},  // IMNMX
    {0x019, Pipe::Integer, kInteger},  // SHF
    {0x01C, Pipe::Integer, kInteger},  // PLOP3
    {0x036, Pipe::Integer, kInteger},  // VIADD
    {0x048, Pipe::Integer, kInteger},  // VIMNMX
    {0x045, Pipe::Integer, kInteger},  // I2FP
    {0x03E, Pipe::Narrow, kInteger},   // F2FP
    {0x100, Pipe::Special, kSpecial},  // FLO
    {0x104, Pipe::Special, kSpecial},  // F2F
    {0x105, Pipe::Special, kSpecial},  // F2I
    {0x106, Pipe::Special, kSpecial},  // I2F
    {0x107, Pipe::Special, kSpecial},  // FRND
    {0x108, Pipe::Special, kSpecial},  // MUFU
    {0x109, Pipe::Special, kSpecial},  // POPC
    {0x189, Pipe::Memory, 1.0},        // SHFL
    {0x037, Pipe::Tensor, kProduct},   // IMMA
    {0x03C, Pipe::Tensor, kProduct},   // HMMA
});

constexpr unsigned kLoadMatrices = 0x03B;  // LDSM

// Operations of memory whose width stands in bits 73 to 75: LDG, LDL, LDS, STG, STL, STS, ATOMS,
// LDGSTS.
constexpr auto kAccesses =
    std::to_array<unsigned>({0x181, 0x183, 0x184, 0x186, 0x187, 0x188, 0x18C, 0x1AE});

}  // namespace

std::string_view to_string(Pipe pipe) {
  switch (pipe) {
    case Pipe::Issue:
      return "issue";
    case Pipe::Float:
      return "float";
    case Pipe::Integer:
      return "integer";
    case Pipe::Narrow:
      return "narrow conversions";
    case Pipe::Special:
      return "special functions";
    case Pipe::Memory:
      return "shared memory";
    case Pipe::Tensor:
      return "tensor cores";
  }
  return "?";
}

PipeClocks& PipeClocks::operator+=(const PipeClocks& other) {
  for (std::size_t i = 0; i < kPipes; ++i) {
    of[i] += other.of[i];
  }
  return *this;
}

PipeClocks PipeClocks::operator*(double factor) const {
  PipeClocks result = *this;
  for (double& clocks : result.of) {
    clocks *= factor;
  }
  return result;
}

Pipe PipeClocks::busiest() const {
  const auto most = std::max_element(of.begin(), of.end());
  return static_cast<Pipe>(most - of.begin());
}

unsigned access_bytes(const SassInstruction& instruction) {
  constexpr auto kBytes = std::to_array<unsigned>({1, 1, 2, 2, 4, 8, 16, 16});
  const unsigned operation = instruction.operation();
  const bool is_access =
      std::find(kAccesses.begin(), kAccesses.end(), operation) != kAccesses.end();
  return is_access ? kBytes[instruction.high >> 9 & 7u] : 0;
}

PipeClocks pipe_clocks(const SassInstruction& instruction) {
  PipeClocks clocks;
  clocks[Pipe::Issue] = kIssueClocks;
  if (instruction.is_off()) {
    return clocks;
  }
  if (instruction.operation() == kLoadMatrices) {
    clocks[Pipe::Memory] = 1u << (instruction.high >> 8 & 3u);  // Of 128 bytes each.
    return clocks;
  }
  if (const unsigned bytes = access_bytes(instruction); bytes > 0) {
    clocks[Pipe::Memory] = std::max(1.0, bytes * 32 / 128.0);
    return clocks;
  }
  const unsigned operation = instruction.operation();
  const auto* const use = std::find_if(kUses.begin(), kUses.end(),
                                       [&](const Use& u) { return u.operation == operation; });
  if (use != kUses.end()) {
    clocks[use->pipe] = use->clocks;
  }
  return clocks;
}

}  // namespace octavo::compiled
