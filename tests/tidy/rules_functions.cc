#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "rules.h"

namespace octavo::tidy {
namespace {

constexpr std::size_t kFunctionLines = 70;

enum class Block {
  Scope,     // namespace, class, struct, union, extern "C": functions may stand in it
  Function,  // a body, or the end of a constructor's initialisers
  Inside,    // a block within a function, or the values of an object or an enumeration
};

struct Open {
  Block block;
  std::size_t line;
};

bool has_word(std::string_view text, std::string_view word) {
  for (std::size_t at = text.find(word); at != std::string_view::npos;
       at = text.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((at == 0 || !is_word(text[at - 1])) && (end == text.size() || !is_word(text[end]))) {
      return true;
    }
  }
  return false;
}

// `text` without what stands in () and in <>, so that default arguments and template parameters do
// not look like an initialiser.
std::string bare(std::string_view text) {
  std::string out;
  int parens = 0;
  int angles = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    parens += c == '(' ? 1 : (c == ')' ? -1 : 0);
    if (parens == 0 && c == '<' && has_word(out, "template")) {
      ++angles;
    } else if (angles > 0 && c == '>') {
      --angles;
    }
    if (parens == 0 && angles == 0) {
      out += c;
    }
  }
  return out;
}

bool has_arguments_last(std::string_view text) {
  const std::size_t last = text.find_last_not_of(' ');
  return last != std::string_view::npos && text[last] == ')';
}

// What the block is whose head (since the last ; or brace) is `head`, directly in a scope.
Block classify(std::string_view head) {
  const std::string text = bare(head);
  if (has_word(text, "enum")) {
    return Block::Inside;
  }
  const bool has_arguments = head.find('(') != std::string_view::npos;
  if (has_word(text, "namespace") || (has_word(text, "extern") && !has_arguments)) {
    return Block::Scope;
  }
  const bool is_type =
      has_word(text, "class") || has_word(text, "struct") || has_word(text, "union");
  // "struct Point make(int x) {" is a function; "class alignas(64) Slab {" is none.
  if (is_type && !has_arguments_last(text)) {
    return Block::Scope;
  }
  if (text.find('=') != std::string::npos && !has_word(text, "operator")) {
    return Block::Inside;
  }
  return Block::Function;
}

}  // namespace

Findings check_function_length(const Tree& tree) {
  Findings findings;
  for (const Source& source : tree) {
    std::vector<Open> open;
    std::string head;
    bool in_directive = false;  // a macro's braces need not be balanced
    for (std::size_t i = 0; i < source.code.size(); ++i) {
      in_directive = in_directive || source.code[i].starts_with("#");
      if (in_directive) {
        in_directive = source.code[i].ends_with("\\");
        continue;
      }
      for (const char c : source.code[i]) {
        const bool in_scope = open.empty() || open.back().block == Block::Scope;
        if (c == '{') {
          open.push_back({in_scope ? classify(head) : Block::Inside, i});
          head.clear();
        } else if (c == '}' && !open.empty()) {
          const std::size_t length = i - open.back().line + 1;
          if (open.back().block == Block::Function && length > kFunctionLines) {
            findings.push_back(
                {source.path, open.back().line + 1,
                 "a function of " + std::to_string(length) + " lines; split it below 70"});
          }
          open.pop_back();
          head.clear();
        } else if (c == ';') {
          head.clear();
        } else {
          head += c;
        }
      }
      head += ' ';
    }
  }
  return findings;
}

}  // namespace octavo::tidy
