// The error of a file that cannot be read as what it should be.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "octavo/error.h"

namespace octavo::sim {

/// Thrown for a missing, unreadable, malformed or unsupported input file. The message is one line:
/// "FILE:LINE: FIELD: what is wrong (VALUE), what was expected"; parts that do not apply are left
/// out (line 0, an empty field).
class InputError : public Error {
 public:
  InputError(std::string_view file,
             std::int64_t line,
             std::string_view field,
             std::string_view what)
      : Error(ErrorCode::InvalidArgument, compose(file, line, field, what)) {}

 private:
  static std::string compose(std::string_view file,
                             std::int64_t line,
                             std::string_view field,
                             std::string_view what) {
    std::string text(file);
    if (line > 0) {
      text += ':';
      text += std::to_string(line);
    }
    text += ": ";
    if (!field.empty()) {
      text += field;
      text += ": ";
    }
    text += what;
    return text;
  }
};

}  // namespace octavo::sim
