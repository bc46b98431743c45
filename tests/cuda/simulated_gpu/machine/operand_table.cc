#include "tests/cuda/simulated_gpu/machine/operand_table.h"

#include <stdexcept>
#include <string_view>

namespace octavo::simulated_gpu {
namespace {

// On the place of a register without a name.
constexpr std::uint32_t kMark = 0x80000000u;

constexpr std::string_view kSpecialNames[] = {"%tid", "%ctaid", "%ntid", "%nctaid"};

bool is_special(const std::string& text) {
  const std::size_t dot = text.find('.');
  if (dot == std::string::npos || dot + 2 != text.size() || text.back() < 'x' ||
      text.back() > 'z') {
    return false;
  }
  for (const std::string_view name : kSpecialNames) {
    if (text.compare(0, dot, name) == 0) {
      return true;
    }
  }
  return false;
}

std::string without_brackets(const std::string& text) {
  return text.front() == '[' ? text.substr(1, text.size() - 2) : text;
}

[[noreturn]] void fail(const std::string& what, const std::string& text) {
  throw std::runtime_error(what + ": " + text);
}

}  // namespace

std::vector<std::string> operands_of(const std::string& text) {
  std::vector<std::string> operands;
  std::string word;
  for (const char c : text + ",") {
    if (std::string_view(", {}|\t\n").find(c) == std::string_view::npos) {
      word += c;
    } else if (!word.empty()) {
      operands.push_back(word);
      word.clear();
    }
  }
  return operands;
}

void OperandTable::set(Instruction& made, std::size_t i, char kind, const std::string& text) {
  switch (kind) {
    case 'n':
      made.number = static_cast<std::uint32_t>(constant_of(text));
      break;
    case 'a':
      set_address(made, i, without_brackets(text));
      break;
    case 'x':
      set_any_size(made, i, text);
      break;
    default:
      made.operands[i] = value(kind, without_brackets(text));
  }
}

void OperandTable::set_guard(Instruction& made, const std::string& guard) const {
  if (guard.empty()) {
    return;
  }
  made.is_guard_negated = guard.front() == '!';
  const Register found = names_.find(guard.substr(made.is_guard_negated ? 1 : 0));
  if (found.at == kNoRegister || found.bytes != 0) {
    fail("no predicate", guard);
  }
  made.guard = found.at;
}

std::uint64_t OperandTable::constant_of(const std::string& text) const {
  if (const auto number = number_of(text)) {
    return *number;
  }
  if (const auto symbol = symbol_of(text, symbols_)) {
    return *symbol;
  }
  fail("neither a register nor a constant", text);
}

// A register, or a constant that becomes one.
std::uint32_t OperandTable::value(char kind, const std::string& text) {
  const std::uint8_t bytes = kind == 'p' ? 0 : (kind == 'h' ? 2 : (kind == 'w' ? 4 : 8));
  if (is_special(text)) {
    const auto [found, is_new] = special_.try_emplace(text, next_unnamed_);
    return is_new ? unnamed(4) : kMark | found->second;
  }
  const Register found = names_.find(text);
  if (found.at == kNoRegister) {
    return constant(bytes, constant_of(text));
  }
  if (found.bytes != bytes) {
    fail("a register of another size than the instruction's", text);
  }
  return found.at;
}

std::uint32_t OperandTable::constant(std::uint8_t bytes, std::uint64_t value) {
  const auto [found, is_new] = constants_.try_emplace({bytes, value}, next_unnamed_);
  return is_new ? unnamed(bytes) : kMark | found->second;
}

std::uint32_t OperandTable::unnamed(std::uint8_t bytes) {
  const std::uint32_t at = next_unnamed_;
  next_unnamed_ += bytes_of_all_lanes(bytes);
  return kMark | at;
}

void OperandTable::set_any_size(Instruction& made, std::size_t i, const std::string& text) const {
  const Register found = names_.find(text);
  if (found.bytes == 0 || found.bytes < made.element_bytes ||
      (made.register_bytes != 0 && made.register_bytes != found.bytes)) {
    fail("no register for what is loaded or stored", text);
  }
  made.register_bytes = found.bytes;
  made.operands[i] = found.at;
}

void OperandTable::set_address(Instruction& made, std::size_t i, const std::string& text) {
  const std::size_t plus = text.find('+');
  const Register base = names_.find(text.substr(0, plus));
  if (base.at == kNoRegister) {
    made.operands[i] = constant(8, constant_of(text));
    made.address_bytes = 8;
    return;
  }
  if (base.bytes < 4) {
    fail("no register for an address", text);
  }
  made.operands[i] = base.at;
  made.address_bytes = base.bytes;
  if (plus != std::string::npos) {
    const auto offset = number_of(text.substr(plus + 1));
    if (!offset) {
      fail("no offset of an address", text);
    }
    made.offset_bytes = static_cast<std::int32_t>(*offset);
  }
}

void OperandTable::place_unnamed(Program& program) const {
  const std::uint32_t begin = names_.size_bytes();
  const auto place = [&](std::uint32_t& at) {
    if (at != kNoRegister && (at & kMark) != 0) {
      at = begin + (at & ~kMark);
    }
  };
  for (Instruction& instruction : program.code) {
    for (std::uint32_t& at : instruction.operands) {
      place(at);
    }
    place(instruction.members);
  }
  for (const auto& [key, at] : constants_) {
    program.constants.push_back({begin + at, key.first, key.second});
  }
  std::uint32_t(*const registers[])[3] = {&program.special.tid, &program.special.ctaid,
                                          &program.special.ntid, &program.special.nctaid};
  for (const auto& [name, at] : special_) {
    for (std::size_t i = 0; i < std::size(kSpecialNames); ++i) {
      if (name.substr(0, name.size() - 2) == kSpecialNames[i]) {
        (*registers[i])[name.back() - 'x'] = begin + at;
      }
    }
  }
  program.register_bytes = begin + next_unnamed_;
}

}  // namespace octavo::simulated_gpu
