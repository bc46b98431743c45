// The rules of the house that a compiler does not know. Each looks at the whole tree and says what
// it finds; none changes anything.
#pragma once

#include "source.h"

namespace octavo::tidy {

/// No identifiers whose results differ between machines or runs, or that have a better one here;
/// and no unordered container in core and sim without a comment "never iterated" above it.
Findings check_banned_names(const Tree& tree);

/// In core and sim, nobody walks an unordered container that the file, or a header of its folder
/// that it includes, declares by name: no range-for over it, no begin(), no erase_if. (Where its
/// order reaches anything, results differ between standard libraries.)
Findings check_unordered_walks(const Tree& tree);

/// Lines of at most 100 columns (but in Markdown and in data), files of at most 500 lines (sources
/// and CMake files), no tabs (but in Makefiles), no blanks at the end of a line, no carriage
/// returns, a line feed at the end.
Findings check_layout(const Tree& tree);

/// Functions of at most 70 lines, from the line of the opening brace to that of the closing one.
Findings check_function_length(const Tree& tree);

/// core <- {ref_cpu, cuda, sim} <- tools, tests see all; core knows xxHash and nothing else that is
/// neither the standard library's nor the system's; no nlohmann/json in a public header, Eigen only
/// in ref_cpu.
Findings check_include_direction(const Tree& tree);

/// A header opens with a comment and has #pragma once in front of its first include; no "using
/// namespace" in it.
Findings check_headers(const Tree& tree);

/// No notes for later in the tree, and no paths of somebody's machine.
Findings check_leftovers(const Tree& tree);

/// Every source file, and every header that is installed, is named in a CMake file of its folder or
/// one above; every other header is included by somebody. (A file that nobody compiles is not
/// tested.)
Findings check_listed(const Tree& tree);

/// A Markdown file has one title, in its first line, and its relative links lead to files of `tree`
/// or to folders that hold some.
Findings check_markdown(const Tree& tree);

}  // namespace octavo::tidy
