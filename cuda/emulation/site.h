// A place in a kernel's source: what a barrier or a collective is told apart by, and what messages
// name.
#pragma once

#if !defined(__has_builtin) || !__has_builtin(__builtin_COLUMN)
#include <source_location>
#endif

namespace octavo::emulation {

struct Site {
  const char* file = "";
  unsigned line = 0;
  unsigned column = 0;

  /// As a default argument: where the call stands.
#if defined(__has_builtin) && __has_builtin(__builtin_COLUMN)
  static constexpr Site current(const char* file = __builtin_FILE(),
                                unsigned line = __builtin_LINE(),
                                unsigned column = __builtin_COLUMN()) {
    return {file, line, column};
  }
#else
  static constexpr Site current(std::source_location here = std::source_location::current()) {
    return {here.file_name(), here.line(), here.column()};
  }
#endif

  /// Instances of one template stand at one site.
  bool operator==(const Site& other) const {
    return line == other.line && column == other.column &&
           (file == other.file || __builtin_strcmp(file, other.file) == 0);
  }
};

}  // namespace octavo::emulation
