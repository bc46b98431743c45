#include "version.h"

namespace octavo::tools {

std::string version_line(const Version& version) {
  std::string line = "octavo ";
  line += version.version;
  line += " (commit ";
  line += version.commit;
  line += version.dirty ? " with changes, " : ", ";
  line += version.compiler;
  line += ", ";
  line += version.build_type;
  line += ")";
  return line;
}

// By hand: none of the parts can hold a quote or a backslash, and a JSON library would cost this
// small file six seconds of compilation.
std::string version_json(const Version& version) {
  std::string json = R"({"schema_version":1,"program":"octavo","version":")";
  json += version.version;
  json += R"(","commit":")";
  json += version.commit;
  json += R"(","dirty":)";
  json += version.dirty ? "true" : "false";
  json += R"(,"compiler":")";
  json += version.compiler;
  json += R"(","build_type":")";
  json += version.build_type;
  json += R"(","cuda":)";
  json += version.cuda ? "true" : "false";
  json += '}';
  return json;
}

}  // namespace octavo::tools
