#include "json_scanner.h"

#include <algorithm>
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

// Four checked hexadecimal digits.
std::uint32_t hex_code(std::string_view digits) {
  std::uint32_t code = 0;
  for (const char digit : digits) {
    code = code * 16 + static_cast<std::uint32_t>(hex_value(digit));
  }
  return code;
}

void append_utf8(std::string& text, std::uint32_t code) {
  const auto tail = [&](unsigned shift) {
    text += static_cast<char>(0x80 | (code >> shift & 0x3f));
  };
  if (code < 0x80) {
    text += static_cast<char>(code);
  } else if (code < 0x800) {
    text += static_cast<char>(0xc0 | code >> 6);
    tail(0);
  } else if (code < 0x10000) {
    text += static_cast<char>(0xe0 | code >> 12);
    tail(6);
    tail(0);
  } else {
    text += static_cast<char>(0xf0 | code >> 18);
    tail(12);
    tail(6);
    tail(0);
  }
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
  const std::int64_t line = line_number_ + std::count(begin_, at_, '\n');
  throw InputError(file_, line, field.empty() ? "" : prefix_ + std::string(field), what);
}

std::int64_t JsonScanner::line_number() noexcept {
  counted_lines_ += std::count(counted_, at_, '\n');
  counted_ = at_;
  return line_number_ + counted_lines_;
}

void JsonScanner::malformed(const std::string& what) const {
  const char* line_begin = at_;
  while (line_begin != begin_ && line_begin[-1] != '\n') {
    --line_begin;
  }
  const auto column = std::to_string(at_ - line_begin + 1);
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
  begin_ = at_ = counted_ = line.data();
  end_ = begin_ + line.size();
  line_number_ = line_number;
  counted_lines_ = 0;
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
  key = key_text();
  return true;
}

// A key and the colon behind it.
std::string_view JsonScanner::key_text() {
  const std::string_view raw = string();
  const std::string_view key = raw.find('\\') == std::string_view::npos ? raw : decoded(raw);
  expect(':', "after a key");
  peek();
  return key;
}

bool JsonScanner::enter_object() {
  if (peek() != '{') {
    return false;
  }
  ++at_;
  return true;
}

bool JsonScanner::next_member(std::string_view& key, bool first) {
  const char c = peek();
  if (c == '}') {
    ++at_;
    return false;
  }
  if (!first) {
    expect(',', "or '}' in an object");
    peek();
  }
  key = key_text();
  return true;
}

bool JsonScanner::text(std::string_view& text) {
  if (peek() != '"') {
    return false;
  }
  const std::string_view raw = string();
  text = raw.find('\\') == std::string_view::npos ? raw : decoded(raw);
  return true;
}

bool JsonScanner::boolean(bool& value) {
  const char c = peek();
  if (c != 't' && c != 'f') {
    return false;
  }
  value = c == 't';
  literal(value ? "true" : "false");
  return true;
}

bool JsonScanner::null() {
  if (peek() != 'n') {
    return false;
  }
  literal("null");
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

// A checked string with its escapes resolved, as UTF-8; half a surrogate pair becomes the three
// bytes of its own number, so that different strings stay different.
std::string_view JsonScanner::decoded(std::string_view raw) {
  constexpr std::string_view kEscapes = "\"\\/bfnrt";
  constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
  decoded_.clear();
  for (std::size_t i = 0; i < raw.size(); ++i) {
    if (raw[i] != '\\') {
      decoded_ += raw[i];
    } else if (raw[++i] != 'u') {
      decoded_ += kMeanings[kEscapes.find(raw[i])];
    } else {
      std::uint32_t code = hex_code(raw.substr(i + 1, 4));
      i += 4;
      if (code >= 0xd800 && code < 0xdc00 && raw.substr(i + 1, 2) == "\\u") {
        const std::uint32_t low = hex_code(raw.substr(i + 3, 4));
        if (low >= 0xdc00 && low < 0xe000) {
          code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
          i += 6;
        }
      }
      append_utf8(decoded_, code);
    }
  }
  return decoded_;
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
