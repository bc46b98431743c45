// What a project that embeds the library does first. It is compiled against an installed Octavo, so
// it may only know what is installed.
#include <cstdio>

#include "octavo/error.h"

int main() {
  try {
    throw octavo::Error(octavo::ErrorCode::InvalidArgument, "admit: slot 7 is outside [0, 4)");
  } catch (const octavo::Error& error) {
    const std::string_view code = octavo::to_string(error.code());
    std::printf("%.*s: %s\n", static_cast<int>(code.size()), code.data(), error.what());
  }
  return 0;
}
