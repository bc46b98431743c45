// A pull scanner for one JSON object, mostly on one line: the caller asks for keys and takes or
// skips values.
//
// Traces are read at the speed of this loop and by the million lines, so it works on the bytes of
// the line where they lie, allocates nothing, and keeps integers exact up to 2^64 - 1, which
// general JSON libraries turn into doubles at one place or another. It accepts what JSON (RFC 8259)
// accepts, except that the bytes of strings need not be UTF-8 and values nest at most kDepthMax
// deep. The tests hold it against nlohmann/json.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace octavo::sim {

/// A number as it is written; nothing is rounded.
struct JsonNumber {
  std::string_view text;
  bool negative = false;
  bool integral = true;         ///< No fraction and no exponent.
  bool overflow = false;        ///< Integral, but the magnitude exceeds 64 bits.
  std::uint64_t magnitude = 0;  ///< When integral and no overflow.
};

class JsonScanner {
 public:
  static constexpr int kDepthMax = 100;

  /// Scans for errors in `file`, whose name must outlive the scanner.
  explicit JsonScanner(const std::string& file) : file_(file) {}

  /// Starts on a line and enters its object. Like all calls below, raises InputError when the line
  /// is not JSON; the message gives the column. The text may also be a document of many lines, the
  /// first of which has that number.
  void start(std::string_view line, std::int64_t line_number);

  /// Goes to the next member; its value must then be read or skipped. At the end of the object
  /// checks that nothing follows and returns false. The key holds until the next call.
  bool next_key(std::string_view& key);

  void skip_value() { skip(0); }

  /// Reads a number, or returns false and leaves the value unread when it is something else.
  bool number(JsonNumber& number);

  /// Reads a string, its escapes resolved, or returns false and leaves the value unread when it is
  /// something else. The text holds until the next string or key.
  bool text(std::string_view& text);

  /// Takes a null, or returns false and leaves the value unread.
  bool null();

  /// Takes true or false, or returns false and leaves the value unread.
  bool boolean(bool& value);

  /// Enters an object inside of the line, or returns false when the value is something else.
  bool enter_object();

  /// Goes to the next member of the object entered last; false at its end. `first` is true before
  /// the first one. (Of the outermost object, `next_key` does.)
  bool next_member(std::string_view& key, bool first);

  /// Enters an array, or returns false when the value is something else.
  bool enter_array();

  /// Goes to the next element of the array entered; false at its end. `first` is true before the
  /// first one.
  bool next_element(bool first);

  /// The next value when it is a plain integer of at most 19 digits, by the shortest way; otherwise
  /// returns false and leaves the value unread.
  bool quick_integer(std::uint64_t& value);

  /// The value at hand in words, for messages: `a string ("12")`.
  std::string describe_value() const;

  /// Raises InputError for a field of this line.
  [[noreturn]] void refuse(std::string_view field, const std::string& what) const;

  /// What messages put before the name of a field from here on: "requests[3]."
  void within(std::string prefix) { prefix_ = std::move(prefix); }

  /// The line that is being read. Takes time for what has been read since it was asked last.
  std::int64_t line_number() noexcept;

 private:
  char peek();
  void expect(char wanted, const char* where);
  std::string_view string();
  std::string_view key_text();
  void skip(int depth);
  void literal(std::string_view word);
  void digits();
  std::string_view decoded(std::string_view raw);
  [[noreturn]] void malformed(const std::string& what) const;

  const std::string& file_;
  const char* begin_ = nullptr;
  const char* at_ = nullptr;
  const char* end_ = nullptr;
  std::int64_t line_number_ = 0;   // Of begin_.
  const char* counted_ = nullptr;  // Line ends in [begin_, counted_) are in counted_lines_.
  std::int64_t counted_lines_ = 0;
  bool first_member_ = true;
  std::string prefix_;
  std::string decoded_;  // A key or a string that had escapes in it.
};

/// Text of a file as it may stand in a message: printable, and cut when long.
std::string shown(std::string_view text);

}  // namespace octavo::sim
