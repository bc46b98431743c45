#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "rules.h"

namespace octavo::tidy {
namespace {

struct Include {
  std::string_view path;
  bool angled = false;
};

// The include of a line of code, empty when it has none.
Include include_of(std::string_view code) {
  constexpr std::string_view kDirective = "#include ";
  if (!code.starts_with(kDirective) || code.size() < kDirective.size() + 2) {
    return {};
  }
  code.remove_prefix(kDirective.size());
  const bool angled = code.front() == '<';
  const std::size_t end = code.find(angled ? '>' : '"', 1);
  return end == std::string_view::npos ? Include{} : Include{code.substr(1, end - 1), angled};
}

// The folder whose public headers a path names: "octavo/sim/trace.h" -> "sim".
std::string_view included_folder(std::string_view include) {
  for (const std::string_view folder : {"sim", "ref_cpu", "cuda"}) {
    if (include.starts_with("octavo/" + std::string(folder) + "/")) {
      return folder;
    }
  }
  return include.starts_with("octavo/") ? std::string_view("core") : std::string_view();
}

// <vector>, <cstdint>: neither a folder nor a suffix.
bool is_standard(const Include& include) {
  return include.angled && include.path.find_first_of("/.") == std::string_view::npos;
}

bool may_include(std::string_view from, std::string_view to) {
  if (to.empty() || from == to || from == "tests" || from == "tools") {
    return true;
  }
  return to == "core" && (from == "ref_cpu" || from == "cuda" || from == "sim");
}

// xxHash, the system, and the vector instructions of the processor.
bool is_allowed_in_core(std::string_view include) {
  return include == "xxhash.h" || include.starts_with("sys/") || include == "unistd.h" ||
         include.ends_with("mmintrin.h") || include == "arm_neon.h";
}

bool is_public_header(const Source& source) {
  return source.is_header() && source.path.find("/include/") != std::string::npos;
}

// What is wrong with `include` in `source`, empty if nothing.
std::string wrong_include(const Source& source, const Include& include) {
  const std::string_view from = source.top();
  const std::string path(include.path);
  if (path.find("../") != std::string::npos) {
    return "\"" + path + "\" climbs out of its folder; name it from an include folder";
  }
  if (include.angled && !included_folder(path).empty()) {
    return "<" + path + ">: our own headers stand in quotes";
  }
  if (!may_include(from, included_folder(path))) {
    return std::string(from) + " must not know " + std::string(included_folder(path)) + " (" +
           path + ")";
  }
  if (from == "core" && include.angled && !is_standard(include) && !is_allowed_in_core(path)) {
    return "core knows the standard library, the system and xxHash, not <" + path + ">";
  }
  if (is_public_header(source) && path.starts_with("nlohmann/")) {
    return "nlohmann/json in a public header reaches all that include it; keep it private";
  }
  if (path.starts_with("Eigen/") && from != "ref_cpu" && from != "tests") {
    return "Eigen belongs to ref_cpu";
  }
  if (path.starts_with("CLI/") && from != "tools" && from != "tests") {
    return "CLI11 belongs to tools";
  }
  return {};
}

// Whether `text` holds `path` as a whole word of a CMake file.
bool names_file(std::string_view text, std::string_view path) {
  const auto joins = [](char c) {
    return c != ' ' && c != '\n' && c != ')' && c != '(' && c != '"' && c != ';';
  };
  for (std::size_t at = text.find(path); at != std::string_view::npos;
       at = text.find(path, at + 1)) {
    const std::size_t end = at + path.size();
    if ((at == 0 || !joins(text[at - 1])) && (end == text.size() || !joins(text[end]))) {
      return true;
    }
  }
  return false;
}

std::string text_without_comments(const Source& source) {
  std::string text;
  for (const std::string& line : source.lines) {
    text += line.substr(0, line.find('#'));
    text += '\n';
  }
  return text;
}

std::string folder_part(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return std::string(slash == std::string_view::npos ? "" : path.substr(0, slash));
}

// Resolves "." and "..", both separators single; a path that leaves the root keeps its "..".
std::string normal(std::string_view path) {
  std::vector<std::string> parts;
  while (!path.empty()) {
    const std::size_t end = std::min(path.find('/'), path.size());
    const std::string part(path.substr(0, end));
    path.remove_prefix(std::min(end + 1, path.size()));
    if (part == ".." && !parts.empty() && parts.back() != "..") {
      parts.pop_back();
    } else if (!part.empty() && part != ".") {
      parts.push_back(part);
    }
  }
  std::string joined;
  for (const std::string& part : parts) {
    joined += joined.empty() ? part : "/" + part;
  }
  return joined;
}

std::vector<std::string> links_of(std::string_view line) {
  std::vector<std::string> links;
  for (std::size_t at = line.find("]("); at != std::string_view::npos;
       at = line.find("](", at + 1)) {
    const std::size_t end = line.find(')', at);
    if (end != std::string_view::npos) {
      links.emplace_back(line.substr(at + 2, end - at - 2));
    }
  }
  return links;
}

// Every file and every folder that holds one.
std::set<std::string> places_of(const Tree& tree) {
  std::set<std::string> places;
  for (const Source& source : tree) {
    std::string place = source.path;
    while (!place.empty()) {
      places.insert(place);
      place = folder_part(place);
    }
  }
  return places;
}

void check_links(const Source& source,
                 std::size_t index,
                 const std::set<std::string>& places,
                 Findings& findings) {
  for (const std::string& link : links_of(source.lines[index])) {
    const std::string file = link.substr(0, link.find('#'));
    if (file.empty() || file.find("://") != std::string::npos || file.starts_with("mailto:")) {
      continue;
    }
    if (!places.contains(normal(folder_part(source.path) + "/" + file))) {
      findings.push_back({source.path, index + 1, "the link " + link + " leads nowhere"});
    }
  }
}

}  // namespace

Findings check_include_direction(const Tree& tree) {
  Findings findings;
  for (const Source& source : tree) {
    for (std::size_t i = 0; i < source.code.size(); ++i) {
      const Include include = include_of(source.code[i]);
      if (include.path.empty()) {
        continue;
      }
      if (std::string wrong = wrong_include(source, include); !wrong.empty()) {
        findings.push_back({source.path, i + 1, std::move(wrong)});
      }
    }
  }
  return findings;
}

Findings check_headers(const Tree& tree) {
  Findings findings;
  for (const Source& source : tree) {
    if (!source.is_header()) {
      continue;
    }
    if (source.lines.empty() || !source.lines.front().starts_with("//")) {
      findings.push_back({source.path, 1, "a header opens with a comment: what it is, for whom"});
    }
    bool has_pragma = false;
    for (std::size_t i = 0; i < source.code.size(); ++i) {
      const std::string& code = source.code[i];
      if (code == "#pragma once") {
        has_pragma = true;
      } else if (code.starts_with("#include") && !has_pragma) {
        break;
      }
      if (code.find("using namespace ") != std::string::npos) {
        findings.push_back(
            {source.path, i + 1, "\"using namespace\" in a header reaches everybody"});
      }
    }
    if (!has_pragma) {
      findings.push_back({source.path, 0, "no #pragma once in front of the first include"});
    }
  }
  return findings;
}

Findings check_listed(const Tree& tree) {
  std::map<std::string, std::string> cmake_text;  // by folder
  std::set<std::string> included;                 // the last parts of included paths
  for (const Source& source : tree) {
    if (source.is_cmake()) {
      cmake_text[folder_part(source.path)] += text_without_comments(source);
    }
    for (const std::string& code : source.code) {
      const std::string_view path = include_of(code).path;
      if (!path.empty()) {
        included.emplace(path.substr(path.rfind('/') + 1));
      }
    }
  }
  Findings findings;
  for (const Source& source : tree) {
    if (!source.is_cpp()) {
      continue;
    }
    // A public header of the simulator is installed nowhere; that somebody uses it is enough.
    const bool need_not_be_listed =
        source.is_header() && (!is_public_header(source) || source.top() == "sim");
    bool found = need_not_be_listed && included.contains(std::string(source.name()));
    for (std::string folder = folder_part(source.path); !found; folder = folder_part(folder)) {
      const auto text = cmake_text.find(folder);
      const std::string_view below =
          std::string_view(source.path).substr(folder.empty() ? 0 : folder.size() + 1);
      // octavo_bench(x_bench) is made of x_bench.cc.
      const bool by_stem = below.ends_with("_bench.cc");
      found = text != cmake_text.end() &&
              (names_file(text->second, below) ||
               (by_stem && names_file(text->second, below.substr(0, below.size() - 3))));
      if (folder.empty()) {
        break;
      }
    }
    if (!found) {
      findings.push_back({source.path, 0,
                          need_not_be_listed
                              ? "nobody includes this header"
                              : "no CMake file of its folder or one above names it"});
    }
  }
  return findings;
}

Findings check_markdown(const Tree& tree) {
  const std::set<std::string> places = places_of(tree);
  Findings findings;
  for (const Source& source : tree) {
    if (!source.is_markdown()) {
      continue;
    }
    bool in_code = false;
    for (std::size_t i = 0; i < source.lines.size(); ++i) {
      const std::string& line = source.lines[i];
      if (line.starts_with("```")) {
        in_code = !in_code;
      }
      if (in_code) {
        continue;
      }
      if (line.starts_with("# ") && i > 0) {
        findings.push_back({source.path, i + 1, "a second title; one # heading a file"});
      }
      check_links(source, i, places, findings);
    }
    if (source.lines.empty() || !source.lines.front().starts_with("# ")) {
      findings.push_back({source.path, 1, "the first line is no title (# ...)"});
    }
    if (in_code) {
      findings.push_back({source.path, 0, "a code block that is never closed"});
    }
  }
  return findings;
}

}  // namespace octavo::tidy
