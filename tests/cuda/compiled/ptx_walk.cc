#include "tests/cuda/compiled/ptx_walk.h"

#include <algorithm>
#include <cctype>
#include <stdexcept>
#include <string>

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

class Reader {
 public:
  Reader(std::string_view text, PtxSink& sink) : text_(without_comments(text)), sink_(sink) {}

  void read() {
    while (skip_spaces()) {
      read_declaration();
    }
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
        if (from != std::string::npos) {
          sink_.target(rest.substr(from, rest.find_first_of(", \t\r", from) - from));
        }
      }
      return;
    }
    const int line = line_;
    const std::string statement = word + read_statement(true);
    if (at_ < text_.size() && text_[at_] == '{') {
      read_body(statement);
    } else {
      sink_.declaration(statement, line);
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
    const bool is_kernel = head.find(".entry") != std::string::npos;
    if (!is_kernel && head.find(".func") == std::string::npos) {
      fail("a body that belongs to no function");
    }
    const std::string name = name_of(head);
    if (name.empty()) {
      fail("a function without a name");
    }
    sink_.function(name, is_kernel, head);
    int depth = 0;
    do {
      if (!skip_spaces()) {
        fail("the file ends within " + name);
      }
      if (text_[at_] == '{' || text_[at_] == '}') {
        const bool opens = text_[at_] == '{';
        depth += opens ? 1 : -1;
        step();
        opens ? sink_.scope_begin() : sink_.scope_end();
      } else {
        read_body_statement();
      }
    } while (depth > 0);
  }

  void read_body_statement() {
    if (text_[at_] == ';') {
      step();
      return;
    }
    std::string guard;
    if (text_[at_] == '@') {
      step();
      if (at_ < text_.size() && text_[at_] == '!') {
        guard = '!';
        step();
      }
      guard += read_word();
      skip_spaces();
    }
    const int line = line_;
    const std::string word = read_word();
    if (word.empty()) {
      fail("no instruction");
    }
    if (is_line_directive(word)) {
      read_line();
    } else if (word.back() == ':') {
      sink_.label(word.substr(0, word.size() - 1));
    } else if (word.front() == '.') {
      sink_.declaration(word + read_statement(false), line);
    } else {
      sink_.instruction({guard, word, read_statement(false), line});
    }
  }

  std::string text_;
  std::size_t at_ = 0;
  int line_ = 1;
  PtxSink& sink_;
};

}  // namespace

void walk_ptx(std::string_view text, PtxSink& sink) {
  Reader(text, sink).read();
}

}  // namespace octavo::compiled
