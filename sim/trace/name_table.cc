#include "name_table.h"

namespace octavo::sim {

std::uint64_t NameTable::number(std::string_view name) {
  if (const auto found = numbers_.find(name); found != numbers_.end()) {
    return found->second;
  }
  const std::uint64_t number = numbers_.size();
  numbers_.emplace(name, number);
  return number;
}

}  // namespace octavo::sim
