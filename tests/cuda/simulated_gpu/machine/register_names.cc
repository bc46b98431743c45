#include "tests/cuda/simulated_gpu/machine/register_names.h"

#include <algorithm>
#include <stdexcept>

namespace octavo::simulated_gpu {
namespace {

constexpr const char* kDigits = "0123456789";

std::uint8_t bytes_of_type(const std::string& type) {
  if (type == ".pred") {
    return 0;
  }
  if (type == ".b16" || type == ".u16" || type == ".s16" || type == ".f16") {
    return 2;
  }
  if (type == ".b32" || type == ".u32" || type == ".s32" || type == ".f32") {
    return 4;
  }
  if (type == ".b64" || type == ".u64" || type == ".s64") {
    return 8;
  }
  throw std::runtime_error("registers of type " + type);
}

}  // namespace

std::uint32_t bytes_of_all_lanes(std::uint8_t bytes) {
  return bytes == 0 ? static_cast<std::uint32_t>(sizeof(Mask)) : kLanes * bytes;
}

Register RegisterNames::take(std::uint8_t bytes, std::uint32_t count) {
  const Register first{next_at_, bytes};
  next_at_ += count * bytes_of_all_lanes(bytes);
  most_bytes_ = std::max(most_bytes_, next_at_);
  return first;
}

void RegisterNames::declare(const std::string& declaration) {
  std::vector<std::string> words(1);
  for (const char c : declaration) {
    if (c == ' ' || c == '\t' || c == ',' || c == '\n') {
      words.emplace_back();
    } else {
      words.back() += c;
    }
  }
  std::erase(words, std::string());
  if (words.size() < 3 || words[0] != ".reg") {
    throw std::runtime_error("no declaration of registers: " + declaration);
  }
  const std::uint8_t bytes = bytes_of_type(words[1]);
  for (std::size_t i = 2; i < words.size(); ++i) {
    const std::size_t angle = words[i].find('<');
    Family family;
    family.is_numbered = angle != std::string::npos;
    if (family.is_numbered) {
      family.count = static_cast<std::uint32_t>(std::stoul(words[i].substr(angle + 1)));
    }
    family.first = take(bytes, family.count);
    scopes_.back().families[words[i].substr(0, angle)] = family;
  }
}

void RegisterNames::close_scope() {
  next_at_ = scopes_.back().begin_at;
  scopes_.pop_back();
}

Register RegisterNames::find(const std::string& name) const {
  const std::size_t last = name.find_last_not_of(kDigits);
  const std::string stem = name.substr(0, last + 1);
  const bool has_number = stem.size() < name.size();
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    const auto whole = scope->families.find(name);
    if (whole != scope->families.end() && !whole->second.is_numbered) {
      return whole->second.first;
    }
    const auto family = scope->families.find(stem);
    if (has_number && family != scope->families.end() && family->second.is_numbered) {
      const auto number = static_cast<std::uint32_t>(std::stoul(name.substr(last + 1)));
      if (number < family->second.count) {
        Register found = family->second.first;
        found.at += number * bytes_of_all_lanes(found.bytes);
        return found;
      }
    }
  }
  return {};
}

}  // namespace octavo::simulated_gpu
