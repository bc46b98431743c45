// The files of the checkout as the tidy rules see them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace octavo::tidy {

/// A character of a name or a number.
inline bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/// One text file. `lines` is what stands in it; `code` has the same lines with every comment and
/// everything inside of string and character literals blanked, columns kept (C++ files only; empty
/// for others). Lines carry no line feed.
struct Source {
  std::string path;  ///< From the root of the checkout, with '/': "core/src/base/error.cc".
  std::vector<std::string> lines;
  std::vector<std::string> code;
  bool ends_with_line_feed = true;

  /// The file's name, or the part behind its last dot.
  std::string_view name() const;
  std::string_view extension() const;
  bool is_cpp() const;     ///< .h .cc .cu .cuh
  bool is_header() const;  ///< .h .cuh
  bool is_cmake() const;   ///< CMakeLists.txt or .cmake
  bool is_markdown() const;

  /// The top-level folder, "" for a file at the root.
  std::string_view top() const;
};

/// A source from its text; `path` decides what kind it is.
Source make_source(std::string path, std::string_view text);

/// Every text file that belongs to the project, in the order of their paths: the known folders and
/// the dotfiles, without build folders.
std::vector<Source> load_tree(const std::string& root);

struct Finding {
  std::string path;
  std::size_t line = 0;  ///< From 1; 0 is the whole file.
  std::string message;   ///< What is wrong, and what to write instead.
};

/// "path:line: message"
std::string to_string(const Finding& finding);

using Findings = std::vector<Finding>;
using Tree = std::vector<Source>;

}  // namespace octavo::tidy
