#include "tests/cuda/compiled/ptx.h"

#include <algorithm>
#include <cctype>
#include <stdexcept>

namespace octavo::compiled {
namespace {

bool is_space(char c) {
  return std::isspace(static_cast<unsigned char>(c)) != 0;
}

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$' || c == '%' ||
         c == '.' || c == ':';
}

// Comments become blanks, so that offsets and lines stay what they were.
std::string without_comments(std::string_view text) {
  std::string result(text);
  bool in_string = false;
  for (std::size_t i = 0; i < result.size(); ++i) {
    if (result[i] == '"') {
      in_string = !in_string;
    }
    if (in_string || result[i] != '/' || i + 1 == result.size()) {
      continue;
    }
    std::size_t end = i;
    if (result[i + 1] == '/') {
      end = std::min(result.find('\n', i), result.size());
    } else if (result[i + 1] == '*') {
      const std::size_t close = result.find("*/", i + 2);
      end = close == std::string::npos ? result.size() : close + 2;
    }
    std::replace_if(
        result.begin() + static_cast<std::ptrdiff_t>(i),
        result.begin() + static_cast<std::ptrdiff_t>(end), [](char c) { return c != '\n'; }, ' ');
  }
  return result;
}

// "13.0.88" from the comment "Cuda compilation tools, release 13.0, V13.0.88".
std::string compiler_of(std::string_view text) {
  const std::size_t line = text.find("Cuda compilation tools, release");
  const std::size_t at = line == std::string_view::npos ? line : text.find(", V", line);
  if (at == std::string_view::npos) {
    return {};
  }
  std::string_view version = text.substr(at + 3);
  return std::string(version.substr(0, version.find_first_not_of("0123456789.")));
}

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(without_comments(text)) {
    module_.compiler = compiler_of(text);
  }

  PtxModule read() {
    while (skip_spaces()) {
      read_declaration();
    }
    if (module_.target.empty()) {
      fail("no .target");
    }
    return std::move(module_);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw std::runtime_error("PTX line " + std::to_string(line_) + ": " + what);
  }

  void step() {
    line_ += text_[at_] == '\n' ? 1 : 0;
    ++at_;
  }

  // False at the end.
  bool skip_spaces() {
    while (at_ < text_.size() && is_space(text_[at_])) {
      step();
    }
    return at_ < text_.size();
  }

  std::string read_word() {
    std::string word;
    for (; at_ < text_.size() && is_word(text_[at_]); step()) {
      word += text_[at_];
    }
    return word;
  }

  std::string read_line() {
    std::string line;
    for (; at_ < text_.size() && text_[at_] != '\n'; step()) {
      line += text_[at_];
    }
    return line;
  }

  // To a ';' (which goes too), or to a '{' that opens a body: one that no '=' stands before.
  std::string read_statement(bool body_may_follow) {
    std::string statement;
    bool in_string = false;
    for (; at_ < text_.size() && (in_string || text_[at_] != ';'); step()) {
      in_string = in_string != (text_[at_] == '"');
      if (body_may_follow && text_[at_] == '{' && statement.find('=') == std::string::npos) {
        return statement;
      }
      statement += text_[at_];
    }
    if (at_ == text_.size()) {
      fail("the file ends within a statement");
    }
    step();
    return statement;
  }

  static bool is_line_directive(std::string_view word) {
    return word == ".version" || word == ".target" || word == ".address_size" || word == ".file" ||
           word == ".loc";
  }

  void read_declaration() {
    if (text_[at_] == '{' || text_[at_] == '}') {
      fail("a brace outside of functions");
    }
    const std::string word = read_word();
    if (is_line_directive(word)) {
      const std::string rest = read_line();
      if (word == ".target") {
        const std::size_t from = rest.find_first_not_of(" \t");
        module_.target = from == std::string::npos
                             ? std::string()
                             : rest.substr(from, rest.find_first_of(", \t\r", from) - from);
      }
      return;
    }
    const std::string statement = word + read_statement(true);
    if (at_ < text_.size() && text_[at_] == '{') {
      read_body(statement);
    }
  }

  static std::string name_of(const std::string& head) {
    // The name follows .entry, or .func and what that returns, and a '(' or the end follows it.
    std::size_t at = head.find(".entry");
    at = at == std::string::npos ? head.find(".func") + 5 : at + 6;
    at = head.find_first_not_of(" \t\r\n", at);
    if (at != std::string::npos && head[at] == '(') {
      at = head.find(')', at);
      at = at == std::string::npos ? at : head.find_first_not_of(" \t\r\n", at + 1);
    }
    std::string name;
    for (; at < head.size() && is_word(head[at]); ++at) {
      name += head[at];
    }
    return name;
  }

  void read_body(const std::string& head) {
    PtxFunction function;
    function.is_kernel = head.find(".entry") != std::string::npos;
    if (!function.is_kernel && head.find(".func") == std::string::npos) {
      fail("a body that belongs to no function");
    }
    function.name = name_of(head);
    if (function.name.empty()) {
      fail("a function without a name");
    }
    int depth = 0;
    do {
      if (!skip_spaces()) {
        fail("the file ends within " + function.name);
      }
      if (text_[at_] == '{' || text_[at_] == '}') {
        depth += text_[at_] == '{' ? 1 : -1;
        step();
      } else {
        read_body_statement(function);
      }
    } while (depth > 0);
    module_.functions.push_back(std::move(function));
  }

  void read_body_statement(PtxFunction& function) {
    if (text_[at_] == ';') {
      step();
      return;
    }
    if (text_[at_] == '@') {  // A predicate.
      step();
      if (at_ < text_.size() && text_[at_] == '!') {
        step();
      }
      read_word();
      skip_spaces();
    }
    const int line = line_;
    const std::string word = read_word();
    if (word.empty()) {
      fail("no instruction");
    }
    if (is_line_directive(word)) {
      read_line();
    } else if (word.back() != ':') {  // Not a label.
      if (word.front() != '.') {      // Nor a declaration.
        function.instructions.push_back({word, line});
      }
      read_statement(false);
    }
  }

  std::string text_;
  std::size_t at_ = 0;
  int line_ = 1;
  PtxModule module_;
};

}  // namespace

PtxModule read_ptx(std::string_view text) {
  return Reader(text).read();
}

}  // namespace octavo::compiled
