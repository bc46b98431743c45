// Numbers for names: sessions and workers that a trace calls by strings.
//
// Takes memory for each distinct name.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace octavo::sim {

class NameTable {
 public:
  /// The number of the name: 0 for the first one asked for, 1 for the next one, ...
  std::uint64_t number(std::string_view name);

 private:
  std::map<std::string, std::uint64_t, std::less<>> numbers_;
};

}  // namespace octavo::sim
