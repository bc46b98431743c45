#include "json_scanner.h"

#include <limits>

#include "octavo/sim/input_error.h"

namespace octavo::sim {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

int hex_value(char c) {
  if (is_digit(c)) {
    return c - '0';
  }
  if (c >= 'a' && c <= 'f') {
    return c - 'a' + 10;
  }
  if (c >= 'A' && c <= 'F') {
    return c - 'A' + 10;
  }
  return -1;
}

}  // namespace

std::string shown(std::string_view text) {
  constexpr std::size_t kShownMax = 40;
  std::string result;
  for (const char c : text.substr(0, kShownMax)) {
    result += c >= 0x20 && c < 0x7f ? c : '?';
  }
  if (text.size() > kShownMax) {
    result += "...";
  }
  return result;
}

void JsonScanner::refuse(std::string_view field, const std::string& what) const {
  throw InputError(file_, line_number_, field, what);
}

void JsonScanner::malformed(const std::string& what) const {
  const auto column = std::to_string(at_ - begin_ + 1);
  if (at_ == end_) {
    refuse("", "not JSON: the line ends at column " + column + ", " + what);
  }
  const char* stop = at_;
  while (stop != end_ && !is_space(*stop)) {
    ++stop;
  }
  refuse("", "not JSON: '" + shown({at_, static_cast<std::size_t>(stop - at_)}) + "' at column " +
                 column + ", " + what);
}

// The next character that is no white space, which stays unread; 0 at the end of the line. (A real
// 0 byte is legal nowhere, so that nobody takes one for something else.)
char JsonScanner::peek() {
  while (at_ != end_ && is_space(*at_)) {
    ++at_;
  }
  return at_ == end_ ? '\0' : *at_;
}

void JsonScanner::expect(char wanted, const char* where) {
  if (peek() != wanted) {
    malformed(std::string("expected '") + wanted + "' " + where);
  }
  ++at_;
}

void JsonScanner::start(std::string_view line, std::int64_t line_number) {
  begin_ = at_ = line.data();
  end_ = begin_ + line.size();
  line_number_ = line_number;
  first_member_ = true;
  expect('{', "for a JSON object");
}

bool JsonScanner::next_key(std::string_view& key) {
  const char c = peek();
  if (c == '}') {
    ++at_;
    if (peek() != '\0' || at_ != end_) {
      malformed("expected the end of the line after the object");
    }
    return false;
  }
  if (!first_member_) {
    if (c != ',') {
      malformed("expected ',' or '}' in an object");
    }
    ++at_;
    peek();
  }
  first_member_ = false;
  const std::string_view raw = string();
  key = raw.find('\\') == std::string_view::npos ? raw : decoded(raw);
  expect(':', "after a key");
  peek();
  return true;
}

// The text between the quotes, escapes checked but not decoded.
std::string_view JsonScanner::string() {
  if (at_ == end_ || *at_ != '"') {
    malformed("expected '\"' for a string");
  }
  const char* const start = ++at_;
  for (; at_ != end_; ++at_) {
    const char c = *at_;
    if (c == '"') {
      return {start, static_cast<std::size_t>(at_++ - start)};
    }
    if (static_cast<unsigned char>(c) < 0x20) {
      malformed("expected no control character in a string");
    }
    if (c != '\\') {
      continue;
    }
    if (++at_ == end_) {
      break;
    }
    if (*at_ == 'u') {
      for (int digit = 0; digit < 4; ++digit) {
        if (++at_ == end_ || hex_value(*at_) < 0) {
          malformed("expected four hexadecimal digits after \\u");
        }
      }
    } else if (std::string_view("\"\\/bfnrt").find(*at_) == std::string_view::npos) {
      malformed("expected an escape that JSON knows");
    }
  }
  malformed("expected '\"' at the end of a string");
}

// A key with its escapes resolved as far as ASCII goes; all else becomes '?', since no key that
// anybody asks for has it.
std::string_view JsonScanner::decoded(std::string_view raw) {
  key_.clear();
  for (std::size_t i = 0; i < raw.size(); ++i) {
    if (raw[i] != '\\') {
      key_ += raw[i];
      continue;
    }
    const char escape = raw[++i];
    if (escape == 'u') {
      int code = 0;
      for (int digit = 0; digit < 4; ++digit) {
        code = code * 16 + hex_value(raw[++i]);
      }
      key_ += code < 0x80 ? static_cast<char>(code) : '?';
    } else {
      key_ += escape == '"' || escape == '\\' || escape == '/' ? escape : '?';
    }
  }
  return key_;
}

void JsonScanner::literal(std::string_view word) {
  if (std::string_view(at_, static_cast<std::size_t>(end_ - at_)).substr(0, word.size()) != word) {
    malformed("expected a JSON value");
  }
  at_ += word.size();
}

void JsonScanner::digits() {
  if (at_ == end_ || !is_digit(*at_)) {
    malformed("expected a digit");
  }
  while (at_ != end_ && is_digit(*at_)) {
    ++at_;
  }
}

bool JsonScanner::number(JsonNumber& number) {
  const char c = peek();
  if (c != '-' && !is_digit(c)) {
    return false;
  }
  number = {};
  const char* const start = at_;
  if (c == '-') {
    number.negative = true;
    ++at_;
  }
  const char* const first_digit = at_;
  digits();
  if (*first_digit == '0' && at_ - first_digit > 1) {
    at_ = first_digit;
    malformed("expected a number without leading zeros");
  }
  for (const char* digit = first_digit; digit != at_; ++digit) {
    const auto value = static_cast<std::uint64_t>(*digit - '0');
    number.overflow |= number.magnitude > (std::numeric_limits<std::uint64_t>::max() - value) / 10;
    number.magnitude = number.magnitude * 10 + value;
  }
  if (at_ != end_ && *at_ == '.') {
    number.integral = false;
    ++at_;
    digits();
  }
  if (at_ != end_ && (*at_ == 'e' || *at_ == 'E')) {
    number.integral = false;
    ++at_;
    if (at_ != end_ && (*at_ == '+' || *at_ == '-')) {
      ++at_;
    }
    digits();
  }
  number.text = {start, static_cast<std::size_t>(at_ - start)};
  return true;
}

bool JsonScanner::quick_integer(std::uint64_t& value) {
  const char* p = at_;
  while (p != end_ && *p == ' ') {
    ++p;
  }
  const char* const start = p;
  std::uint64_t sum = 0;
  for (; p != end_ && is_digit(*p); ++p) {
    sum = sum * 10 + static_cast<std::uint64_t>(*p - '0');
  }
  const auto length = p - start;
  if (length == 0 || length > 19 || (*start == '0' && length > 1) ||
      (p != end_ && *p != ',' && *p != ']' && *p != '}' && *p != ' ')) {
    return false;
  }
  at_ = p;
  value = sum;
  return true;
}

bool JsonScanner::enter_array() {
  if (peek() != '[') {
    return false;
  }
  ++at_;
  return true;
}

bool JsonScanner::next_element(bool first) {
  const char c = peek();
  if (c == ']') {
    ++at_;
    return false;
  }
  if (!first) {
    if (c != ',') {
      malformed("expected ',' or ']' in an array");
    }
    ++at_;
    if (peek() == ']') {
      malformed("expected a value after ','");
    }
  }
  return true;
}

void JsonScanner::skip(int depth) {
  if (depth > kDepthMax) {
    malformed("expected at most " + std::to_string(kDepthMax) + " levels of values");
  }
  const char c = peek();
  if (c == '"') {
    string();
  } else if (c == '[') {
    ++at_;
    for (bool first = true; next_element(first); first = false) {
      skip(depth + 1);
    }
  } else if (c == '{') {
    ++at_;
    for (bool first = true; peek() != '}'; first = false) {
      if (!first) {
        expect(',', "or '}' in an object");
        peek();
      }
      string();
      expect(':', "after a key");
      skip(depth + 1);
    }
    ++at_;
  } else if (c == 't') {
    literal("true");
  } else if (c == 'f') {
    literal("false");
  } else if (c == 'n') {
    literal("null");
  } else {
    JsonNumber ignored;
    if (!number(ignored)) {
      malformed("expected a JSON value");
    }
  }
}

std::string JsonScanner::describe_value() const {
  JsonScanner copy = *this;
  const char c = copy.peek();
  const char* const start = copy.at_;
  copy.skip_value();  // Raises when there is no value at all.
  const std::string text = shown({start, static_cast<std::size_t>(copy.at_ - start)});
  switch (c) {
    case '"':
      return "a string (" + text + ")";
    case '[':
      return "an array (" + text + ")";
    case '{':
      return "an object (" + text + ")";
    case 't':
    case 'f':
    case 'n':
      return "'" + text + "'";
    default:
      return "a number (" + text + ")";
  }
}

}  // namespace octavo::sim
