// What this build of Octavo is. Written at build time (tools/cmake/OctavoVersion.cmake).
#pragma once

#include <string>

namespace octavo::tools {

struct Version {
  const char* version;     ///< "0.1.0"
  const char* commit;      ///< Abbreviated hash, or "unknown" outside of a git checkout.
  bool dirty;              ///< Tracked files differ from the commit.
  const char* compiler;    ///< "GNU 12.2.0"
  const char* build_type;  ///< "Release"
  bool cuda;               ///< Whether kernels for GPUs are built in.
};

const Version& version() noexcept;

/// One line for people: "octavo 0.1.0 (commit 1234567890ab, GNU 12.2.0, Release)".
std::string version_line(const Version& version);

/// The same as one JSON object with a "schema_version".
std::string version_json(const Version& version);

}  // namespace octavo::tools
