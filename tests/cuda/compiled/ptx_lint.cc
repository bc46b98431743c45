#include "tests/cuda/compiled/ptx_lint.h"

#include <algorithm>
#include <array>

namespace octavo::compiled {
namespace {

std::vector<std::string_view> parts_of(std::string_view opcode) {
  std::vector<std::string_view> parts;
  for (std::size_t at = 0; at <= opcode.size();) {
    const std::size_t dot = std::min(opcode.find('.', at), opcode.size());
    parts.push_back(opcode.substr(at, dot - at));
    at = dot + 1;
  }
  return parts;
}

template <std::size_t kCount>
bool contains(const std::array<std::string_view, kCount>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

bool is_float_type(std::string_view part) {
  constexpr auto kPrefixes = std::to_array<std::string_view>(
      {"f16", "f32", "f64", "bf16", "tf32", "e4m3", "e5m2", "e3m2", "e2m3", "e2m1", "ue8m0"});
  constexpr auto kSuffixes = std::to_array<std::string_view>({"", "x2", "x4"});
  for (const std::string_view prefix : kPrefixes) {
    if (part.starts_with(prefix)) {
      return contains(kSuffixes, part.substr(prefix.size()));
    }
  }
  return false;
}

// Floats are computed with by these alone, each rounded once, to nearest even, denormals kept.
constexpr auto kRounded = std::to_array<std::string_view>(
    {"add.rn.f32", "sub.rn.f32", "mul.rn.f32", "fma.rn.f32", "div.rn.f32", "sqrt.rn.f32"});
constexpr auto kArithmetic =
    std::to_array<std::string_view>({"add", "sub", "mul", "mad", "fma", "div", "sqrt"});
// These move, compare or choose: no float comes out that did not go in, but for its sign.
constexpr auto kMoves =
    std::to_array<std::string_view>({"ld", "ldu", "st", "mov", "selp", "setp", "set", "slct",
                                     "testp", "abs", "neg", "copysign", "min", "max"});
constexpr auto kFromIntegers =
    std::to_array<std::string_view>({"s8", "s16", "s32", "s64", "u8", "u16", "u32", "u64"});

// Conversions that lose nothing, or round as the storage formats say. The first part is "cvt".
bool is_specified_conversion(const std::vector<std::string_view>& parts) {
  if (parts.size() < 3) {
    return false;
  }
  const std::string_view from = parts.back();
  const std::string_view to = parts[parts.size() - 2];
  const std::vector<std::string_view> how(parts.begin() + 1, parts.end() - 2);
  const auto is_how = [&how](std::initializer_list<std::string_view> words) {
    return std::equal(how.begin(), how.end(), words.begin(), words.end());
  };
  if (to == "f32" && contains(kFromIntegers, from)) {
    return is_how({"rn"});
  }
  if (from == "f32" && (contains(kFromIntegers, to) || to == "f32")) {
    return is_how({"rni"}) || is_how({"rzi"}) || is_how({"rmi"}) || is_how({"rpi"});
  }
  if (to == "f32" && (from == "f16" || from == "bf16")) {
    return how.empty();
  }
  if (from == "f32" && (to == "f16" || to == "bf16" || to == "f16x2" || to == "bf16x2")) {
    return is_how({"rn"});
  }
  if (to == "e4m3x2" || to == "e5m2x2") {
    return (from == "f32" || from == "f16x2") && is_how({"rn", "satfinite"});
  }
  return to == "f16x2" && (from == "e4m3x2" || from == "e5m2x2") && is_how({"rn"});
}

}  // namespace

bool is_float(std::string_view opcode) {
  const auto parts = parts_of(opcode);
  return std::any_of(parts.begin() + 1, parts.end(), is_float_type);
}

std::optional<std::string> objection_to(std::string_view opcode) {
  const auto parts = parts_of(opcode);
  const auto has = [&parts](std::string_view part) {
    return std::find(parts.begin() + 1, parts.end(), part) != parts.end();
  };
  if (has("approx") || has("full")) {
    return "approximate";
  }
  if (has("ftz")) {
    return "flushes denormals to zero";
  }
  if (!is_float(opcode)) {
    return std::nullopt;
  }
  const std::string_view base = parts.front();
  if (has("f64") && base != "ld" && base != "st" && base != "mov") {
    return "double precision";
  }
  if (base == "atom" || base == "red") {
    return "the order of float atomics is nobody's";
  }
  if (contains(kRounded, opcode)) {
    return std::nullopt;
  }
  if (contains(kArithmetic, base)) {
    return has("rn") || !has("f32") ? "not float32 arithmetic rounded to nearest, unsaturated"
                                    : "its rounding is not written, so ptxas may fuse it";
  }
  if (contains(kMoves, base)) {
    return std::nullopt;
  }
  if (base == "cvt") {
    if (is_specified_conversion(parts)) {
      return std::nullopt;
    }
    return "a conversion that no storage format asks for";
  }
  return "float arithmetic that is not on the list";
}

std::vector<LintFinding> lint(const PtxModule& module,
                              std::string_view source,
                              std::span<const Allowance> allowances) {
  std::vector<LintFinding> findings;
  for (const PtxFunction& function : module.functions) {
    for (const PtxInstruction& instruction : function.instructions) {
      const auto objection = objection_to(instruction.opcode);
      const bool allowed =
          std::any_of(allowances.begin(), allowances.end(), [&](const Allowance& allowance) {
            return allowance.source == source && allowance.opcode == instruction.opcode;
          });
      if (objection && !allowed) {
        findings.push_back({function.name, instruction.line, instruction.opcode, *objection});
      }
    }
  }
  return findings;
}

void count_opcodes(const PtxModule& module, OpcodeCounts& counts) {
  for (const PtxFunction& function : module.functions) {
    for (const PtxInstruction& instruction : function.instructions) {
      ++counts[instruction.opcode];
    }
  }
}

}  // namespace octavo::compiled
