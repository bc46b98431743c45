#include "tests/cuda/compiled/sass.h"

#include <array>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace octavo::compiled {
namespace {

constexpr unsigned kRelativeCall = 0x944;  // All twelve bits.
constexpr unsigned kBranch = 0x147;
constexpr unsigned kIndirectBranch = 0x149;
constexpr unsigned kExit = 0x14D;
constexpr unsigned kReturn = 0x150;
constexpr unsigned kLoadLocal = 0x183;
constexpr unsigned kStoreLocal = 0x187;

constexpr auto kNames = std::to_array<std::pair<unsigned, std::string_view>>({
    {0x002, "MOV"},       {0x005, "CS2R"},   {0x006, "VOTE"},      {0x007, "SEL"},
    {0x008, "FSEL"},      {0x009, "FMNMX"},  {0x00B, "FSETP"},     {0x00C, "ISETP"},
    {0x010, "IADD3"},     {0x011, "LEA"},    {0x012, "LOP3"},      {0x013, "IABS"},
    {0x016, "PRMT"},      {0x017, "IMNMX"},  {0x019, "SHF"},       {0x01C, "PLOP3"},
    {0x020, "FMUL"},      {0x021, "FADD"},   {0x023, "FFMA"},      {0x024, "IMAD"},
    {0x025, "IMAD.WIDE"}, {0x026, "IDP"},    {0x027, "IMAD.HI"},   {0x030, "HADD2"},
    {0x031, "HFMA2"},     {0x032, "HMUL2"},  {0x036, "VIADD"},     {0x037, "IMMA"},
    {0x03B, "LDSM"},      {0x03C, "HMMA"},   {0x03E, "F2FP"},      {0x045, "I2FP"},
    {0x048, "VIMNMX"},    {0x082, "UMOV"},   {0x08C, "UISETP"},    {0x090, "UIADD3"},
    {0x091, "ULEA"},      {0x092, "ULOP3"},  {0x099, "USHF"},      {0x0A4, "UIMAD"},
    {0x0B9, "ULDC"},      {0x100, "FLO"},    {0x104, "F2F"},       {0x105, "F2I"},
    {0x106, "I2F"},       {0x107, "FRND"},   {0x108, "MUFU"},      {0x109, "POPC"},
    {0x118, "NOP"},       {0x119, "S2R"},    {0x11A, "DEPBAR"},    {0x11D, "BAR"},
    {0x141, "BSYNC"},     {0x144, "CALL"},   {0x145, "BSSY"},      {0x147, "BRA"},
    {0x148, "WARPSYNC"},  {0x149, "BRX"},    {0x14D, "EXIT"},      {0x150, "RET"},
    {0x181, "LDG"},       {0x182, "LDC"},    {0x183, "LDL"},       {0x184, "LDS"},
    {0x186, "STG"},       {0x187, "STL"},    {0x188, "STS"},       {0x189, "SHFL"},
    {0x1A8, "ATOMG"},     {0x1AE, "LDGSTS"}, {0x1AF, "LDGDEPBAR"}, {0x1C2, "R2UR"},
});

// Bytes from the instruction after the branch to its target, which the code has in units of four:
// 48 bits, and since Hopper the byte at bit 16 below them.
std::int64_t branch_distance(const SassInstruction& instruction, int architecture) {
  std::uint64_t distance = instruction.low >> 34 | (instruction.high & 0x3FFFFu) << 30;
  if (distance >> 47 != 0) {
    distance |= ~std::uint64_t{0} << 48;
  }
  if (architecture >= 90) {
    distance = distance << 8 | (instruction.low >> 16 & 0xFFu);
  }
  return static_cast<std::int64_t>(distance << 2);
}

bool has_predicate(const SassInstruction& instruction) {
  return (instruction.low >> 12 & 0xFu) != 7;
}

// A branch has a second predicate among its operands, and forms that look at a uniform one.
SassFlow flow_of_branch(const SassInstruction& instruction) {
  if ((instruction.low >> 32 & 3u) == 2) {
    return SassFlow::Diverged;
  }
  const bool plain = (instruction.low & 0xFFFu) == 0x947 && (instruction.low >> 32 & 3u) == 0 &&
                     (instruction.high >> 23 & 0xFu) == 7;
  return plain && !has_predicate(instruction) ? SassFlow::Jump : SassFlow::Branch;
}

std::size_t checked_target(std::int64_t target, std::size_t count, std::size_t from) {
  if (target < 0 || target % 16 != 0 || target / 16 >= static_cast<std::int64_t>(count)) {
    throw std::runtime_error("SASS: the branch at " + std::to_string(16 * from) +
                             " leads to no instruction");
  }
  return static_cast<std::size_t>(target / 16);
}

}  // namespace

SassCode decode_sass(Bytes bytes, int architecture, const SassNotes& notes) {
  if (bytes.size() % 16 != 0) {
    throw std::runtime_error("SASS: code that is no whole number of instructions");
  }
  SassCode code(bytes.size() / 16);
  for (std::size_t i = 0; i < code.size(); ++i) {
    SassInstruction& instruction = code[i];
    instruction.low = read_integer<std::uint64_t>(bytes, 16 * i);
    instruction.high = read_integer<std::uint64_t>(bytes, 16 * i + 8);
    const unsigned operation = instruction.operation();
    const auto target = [&] {
      const auto next = static_cast<std::int64_t>(16 * (i + 1));
      return checked_target(next + branch_distance(instruction, architecture), code.size(), i);
    };
    if (operation == kBranch) {
      instruction.flow = flow_of_branch(instruction);
      instruction.targets = {target()};
    } else if ((instruction.low & 0xFFFu) == kRelativeCall &&
               !notes.subroutines.contains(target())) {
      instruction.flow = has_predicate(instruction) ? SassFlow::Branch : SassFlow::Jump;
      instruction.targets = {target()};
    } else if (operation == kIndirectBranch) {
      instruction.flow = SassFlow::Indirect;
      const auto targets = notes.indirect_targets.find(i);
      if (targets != notes.indirect_targets.end()) {
        for (const std::size_t index : targets->second) {
          instruction.targets.push_back(
              checked_target(static_cast<std::int64_t>(16 * index), code.size(), i));
        }
      }
    } else if ((operation == kReturn || operation == kExit) && !has_predicate(instruction)) {
      instruction.flow = SassFlow::Exit;
    }
  }
  return code;
}

std::string operation_name(unsigned operation) {
  for (const auto& [number, name] : kNames) {
    if (number == operation) {
      return std::string(name);
    }
  }
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  return {'0', 'x', kDigits[operation >> 8 & 0xFu], kDigits[operation >> 4 & 0xFu],
          kDigits[operation & 0xFu]};
}

bool is_local_memory(const SassInstruction& instruction) {
  return instruction.operation() == kLoadLocal || instruction.operation() == kStoreLocal;
}

}  // namespace octavo::compiled
