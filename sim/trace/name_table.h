// Numbers for names: sessions and workers that a trace calls by strings.
//
// Takes memory for each distinct name.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

namespace octavo::sim {

class NameTable {
 public:
  /// The number of the name: 0 for the first one asked for, 1 for the next one, ...
  std::uint64_t number(std::string_view name);

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const noexcept {
      return std::hash<std::string_view>{}(text);
    }
  };

  // Never iterated, looked up by name.
  std::unordered_map<std::string, std::uint64_t, Hash, std::equal_to<>> numbers_;
};

}  // namespace octavo::sim
