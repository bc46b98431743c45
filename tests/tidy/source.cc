#include "source.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

namespace octavo::tidy {
namespace {

std::vector<std::string> split_lines(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

// Blanks comments and the insides of literals, in one pass over the characters.
class Mask {
 public:
  explicit Mask(std::string_view text) : text_(text), out_(text) {}

  std::string run() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (text_.substr(at_, 2) == "//") {
        blank_to(line_comment_end());
      } else if (text_.substr(at_, 2) == "/*") {
        blank_to(end_of("*/", at_ + 2));
      } else if (c == '"' && raw_string()) {
        const std::size_t open = std::min(text_.find('(', at_), text_.size());
        const std::string close = ")" + std::string(text_.substr(at_ + 1, open - at_ - 1)) + "\"";
        blank_to(end_of(close, open));
      } else if (c == '"' || (c == '\'' && !digit_separator())) {
        literal(c);
      } else {
        ++at_;
      }
    }
    return std::move(out_);
  }

 private:
  std::size_t line_comment_end() const {
    std::size_t end = text_.find('\n', at_);
    while (end != std::string_view::npos && text_[end - 1] == '\\') {
      end = text_.find('\n', end + 1);
    }
    return std::min(end, text_.size());
  }

  std::size_t end_of(std::string_view close, std::size_t from) const {
    const std::size_t found = text_.find(close, from);
    return found == std::string_view::npos ? text_.size() : found + close.size();
  }

  bool raw_string() const {
    return at_ > 0 && text_[at_ - 1] == 'R' && (at_ < 2 || !is_word(text_[at_ - 2]));
  }

  // 1'000'000, but not u8'x'.
  bool digit_separator() const {
    std::size_t begin = at_;
    while (begin > 0 && (is_word(text_[begin - 1]) || text_[begin - 1] == '\'')) {
      --begin;
    }
    return begin < at_ && text_[begin] >= '0' && text_[begin] <= '9';
  }

  // The quotes stay, so that "a" "b" remains two things.
  void literal(char quote) {
    std::size_t end = at_ + 1;
    while (end < text_.size() && text_[end] != quote && text_[end] != '\n') {
      end += text_[end] == '\\' ? 2U : 1U;
    }
    ++at_;
    blank_to(std::min(end, text_.size()));
    at_ = std::min(at_ + 1, text_.size());
  }

  void blank_to(std::size_t end) {
    for (; at_ < end; ++at_) {
      if (out_[at_] != '\n') {
        out_[at_] = ' ';
      }
    }
  }

  std::string_view text_;
  std::string out_;
  std::size_t at_ = 0;
};

// An include's file name is what the rules look at, so #include lines keep their quotes' content.
void restore_includes(Source& source) {
  for (std::size_t i = 0; i < source.code.size(); ++i) {
    if (source.code[i].starts_with("#include")) {
      source.code[i] = source.lines[i].substr(0, source.lines[i].find("  //"));
    }
  }
}

constexpr std::array<std::string_view, 9> kFolders{"core",  "ref_cpu", "cuda", "sim", "tools",
                                                   "tests", "traces",  ".ci",  "docs"};
constexpr std::array<std::string_view, 13> kExtensions{
    "h", "cc", "cu", "cuh", "txt", "cmake", "in", "md", "sh", "json", "py", "clang-tidy", "yml"};

bool is_text(const Source& source) {
  return source.extension().empty() ||
         std::find(kExtensions.begin(), kExtensions.end(), source.extension()) != kExtensions.end();
}

}  // namespace

std::string_view Source::name() const {
  const std::string_view whole = path;
  const std::size_t slash = whole.rfind('/');
  return slash == std::string_view::npos ? whole : whole.substr(slash + 1);
}

std::string_view Source::extension() const {
  const std::size_t dot = name().rfind('.');
  return dot == std::string_view::npos ? std::string_view() : name().substr(dot + 1);
}

bool Source::is_cpp() const {
  return is_header() || extension() == "cc" || extension() == "cu";
}

bool Source::is_header() const {
  return extension() == "h" || extension() == "cuh";
}

bool Source::is_cmake() const {
  return name() == "CMakeLists.txt" || extension() == "cmake";
}

bool Source::is_markdown() const {
  return extension() == "md";
}

std::string_view Source::top() const {
  const std::string_view whole = path;
  const std::size_t slash = whole.find('/');
  return slash == std::string_view::npos ? std::string_view() : whole.substr(0, slash);
}

Source make_source(std::string path, std::string_view text) {
  Source source;
  source.path = std::move(path);
  source.lines = split_lines(text);
  source.ends_with_line_feed = text.empty() || text.back() == '\n';
  if (source.is_cpp()) {
    source.code = split_lines(Mask(text).run());
    restore_includes(source);
  }
  return source;
}

std::vector<Source> load_tree(const std::string& root) {
  namespace fs = std::filesystem;
  std::vector<std::string> paths;
  for (const fs::directory_entry& entry : fs::directory_iterator(root)) {
    if (entry.is_regular_file()) {
      paths.push_back(entry.path().filename().string());
    }
  }
  for (const std::string_view folder : kFolders) {
    const fs::path top = fs::path(root) / folder;
    if (!fs::exists(top)) {
      continue;
    }
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(top)) {
      if (entry.is_regular_file()) {
        paths.push_back(fs::relative(entry.path(), root).generic_string());
      }
    }
  }
  std::sort(paths.begin(), paths.end());
  std::vector<Source> sources;
  for (std::string& path : paths) {
    Source probe;
    probe.path = path;
    if (!is_text(probe)) {
      continue;
    }
    std::ifstream file(fs::path(root) / path, std::ios::binary);
    const std::string text((std::istreambuf_iterator<char>(file)),
                           std::istreambuf_iterator<char>());
    sources.push_back(make_source(std::move(path), text));
  }
  return sources;
}

std::string to_string(const Finding& finding) {
  std::string text = finding.path;
  if (finding.line > 0) {
    text += ':';
    text += std::to_string(finding.line);
  }
  text += ": ";
  text += finding.message;
  return text;
}

}  // namespace octavo::tidy
