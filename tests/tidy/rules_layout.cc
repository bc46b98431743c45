#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "rules.h"

namespace octavo::tidy {
namespace {

constexpr std::size_t kColumns = 100;
constexpr std::size_t kFileLines = 500;

// Columns are code points here: a dash in a comment is one column and three bytes.
std::size_t columns_of(std::string_view line) {
  return static_cast<std::size_t>(
      std::count_if(line.begin(), line.end(), [](char c) { return (c & '\xC0') != '\x80'; }));
}

// Data, and prose, which an editor wraps.
bool has_long_lines(const Source& source) {
  return source.is_markdown() || source.extension() == "json" ||
         source.path.starts_with("traces/") || source.path.find("/golden/") != std::string::npos ||
         source.path.find("/data/") != std::string::npos;
}

// The same trick twice: these words must not stand in this file either.
constexpr std::array<std::string_view, 4> kNotes{
    "TO"
    "DO",
    "FIX"
    "ME",
    "XX"
    "X",
    "HA"
    "CK"};
constexpr std::array<std::string_view, 4> kPlaces{
    "/wo"
    "rk/",
    "/ho"
    "me/",
    "/ro"
    "ot/",
    "/Us"
    "ers/"};

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

bool holds_note(std::string_view line, std::string_view note) {
  for (std::size_t at = line.find(note); at != std::string_view::npos;
       at = line.find(note, at + 1)) {
    const std::size_t end = at + note.size();
    if ((at == 0 || !is_letter(line[at - 1])) && (end == line.size() || !is_letter(line[end]))) {
      return true;
    }
  }
  return false;
}

}  // namespace

Findings check_layout(const Tree& tree) {
  Findings findings;
  for (const Source& source : tree) {
    const auto say = [&](std::size_t line, std::string message) {
      findings.push_back({source.path, line, std::move(message)});
    };
    if (!source.ends_with_line_feed) {
      say(0, "the last line has no line feed");
    }
    if ((source.is_cpp() || source.is_cmake()) && source.lines.size() > kFileLines) {
      say(0, std::to_string(source.lines.size()) + " lines; split it below 500");
    }
    for (std::size_t i = 0; i < source.lines.size(); ++i) {
      const std::string& line = source.lines[i];
      const std::size_t columns = columns_of(line);
      if (columns > kColumns && !has_long_lines(source)) {
        say(i + 1, std::to_string(columns) + " columns; break it at 100");
      }
      if (line.ends_with('\r')) {
        say(i + 1, "a carriage return at the end of the line");
      } else if (line.ends_with(' ') || line.ends_with('\t')) {
        say(i + 1, "blanks at the end of the line");
      }
      if (line.find('\t') != std::string::npos) {
        say(i + 1, "a tab; use blanks");
      }
    }
  }
  return findings;
}

Findings check_leftovers(const Tree& tree) {
  Findings findings;
  for (const Source& source : tree) {
    for (std::size_t i = 0; i < source.lines.size(); ++i) {
      const std::string& line = source.lines[i];
      for (const std::string_view note : kNotes) {
        if (holds_note(line, note)) {
          findings.push_back({source.path, i + 1,
                              std::string(note) + " is left over: do it, or describe the limit"});
        }
      }
      for (const std::string_view place : kPlaces) {
        const std::size_t at = line.find(place);
        const bool is_whole = at == 0 || (at != line.npos && !is_letter(line[at - 1]) &&
                                          line[at - 1] != '.' && line[at - 1] != '}');
        if (is_whole) {
          findings.push_back({source.path, i + 1,
                              std::string(place) + " is a path of one machine; make it relative"});
        }
      }
    }
  }
  return findings;
}

}  // namespace octavo::tidy
