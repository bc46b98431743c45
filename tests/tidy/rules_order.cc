#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <string_view>

#include "rules.h"

namespace octavo::tidy {
namespace {

constexpr std::array<std::string_view, 4> kUnordered{"unordered_map<", "unordered_set<",
                                                     "unordered_multimap<", "unordered_multiset<"};

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) {
    text += line;
    text += '\n';
  }
  return text;
}

// The names behind the types: "m" in "std::unordered_map<int, std::vector<int>> m;".
void add_names(const std::string& code, std::set<std::string>& names) {
  for (const std::string_view type : kUnordered) {
    for (std::size_t at = code.find(type); at != std::string::npos; at = code.find(type, at + 1)) {
      std::size_t end = at + type.size();
      for (int open = 1; open > 0 && end < code.size(); ++end) {
        open += code[end] == '<' ? 1 : (code[end] == '>' ? -1 : 0);
      }
      end = std::min(code.find_first_not_of(" \n&", end), code.size());
      std::size_t stop = end;
      while (stop < code.size() && is_word(code[stop])) {
        ++stop;
      }
      if (stop > end) {
        names.insert(code.substr(end, stop - end));
      }
    }
  }
}

std::string folder_of(const std::string& path) {
  return path.substr(0, path.rfind('/') + 1);
}

// What stands in front of `at`, blanks left out, ends like this.
bool follows(std::string_view code, std::size_t at, std::string_view end) {
  const std::size_t last = code.substr(0, at).find_last_not_of(" \n");
  return last != std::string_view::npos && code.substr(0, last + 1).ends_with(end);
}

// Whether the name at [at, end) is walked over there.
bool is_walked(std::string_view code, std::size_t at, std::size_t end) {
  for (const std::string_view call : {".begin(", ".cbegin("}) {
    if (code.substr(end).starts_with(call)) {
      return true;
    }
  }
  for (const std::string_view call : {"erase_if(", "std::begin(", "ranges::begin("}) {
    if (follows(code, at, call)) {
      return true;
    }
  }
  const std::size_t statement = code.substr(0, at).find_last_of(";{}");
  const std::string_view head = code.substr(statement + 1, at - statement - 1);
  return follows(code, at, ":") && !follows(code, at, "::") &&
         head.find("for (") != std::string_view::npos;
}

}  // namespace

Findings check_unordered_walks(const Tree& tree) {
  Findings findings;
  for (const Source& source : tree) {
    if (!source.is_cpp() || (source.top() != "core" && source.top() != "sim")) {
      continue;
    }
    const std::string code = joined(source.code);
    std::set<std::string> names;
    add_names(code, names);
    for (const Source& header : tree) {
      const std::string include = "#include \"" + std::string(header.name()) + "\"";
      if (header.is_header() && folder_of(header.path) == folder_of(source.path) &&
          std::find(source.lines.begin(), source.lines.end(), include) != source.lines.end()) {
        add_names(joined(header.code), names);
      }
    }
    for (const std::string& name : names) {
      for (std::size_t at = code.find(name); at != std::string::npos;
           at = code.find(name, at + 1)) {
        const std::size_t end = at + name.size();
        if ((at > 0 && is_word(code[at - 1])) || (end < code.size() && is_word(code[end]))) {
          continue;
        }
        if (is_walked(code, at, end)) {
          const auto line = static_cast<std::size_t>(
              std::count(code.begin(), code.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
          findings.push_back({source.path, line + 1,
                              name + " is unordered and walked here: its order differs between "
                                     "standard libraries; use a vector or a std::map"});
        }
      }
    }
  }
  return findings;
}

}  // namespace octavo::tidy
