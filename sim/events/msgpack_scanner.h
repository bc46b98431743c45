// A pull scanner for MessagePack values in memory.
//
// A general library turns a document into a tree and blurs what a log distinguishes (strings and
// byte strings, integers above 2^63); this one reads values where they lie, in the order in which
// they are written, and allocates nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string_view>

namespace octavo::sim {

/// What is wrong with a value; the caller knows where it stands.
class MsgpackError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

enum class MsgpackType { Nil, Bool, Integer, Float, String, Binary, Array, Map, Extension };

/// "nil", "a boolean", "an integer", ...
const char* describe(MsgpackType type) noexcept;

/// At most eight bytes as a number, the first one highest.
std::uint64_t big_endian(std::string_view bytes) noexcept;

/// Values nest at most so deep.
inline constexpr int kMsgpackDepthMax = 64;

/// The bytes that the first value of `bytes` takes, or 0 when it does not end in them. Throws
/// MsgpackError for bytes that begin no value and for values that nest too deep.
std::size_t msgpack_length(std::string_view bytes);

/// Walks over bytes that hold whole values. A value type: a copy remembers a place.
class MsgpackScanner {
 public:
  explicit MsgpackScanner(std::string_view bytes) : begin_(bytes.data()), rest_(bytes) {}

  bool at_end() const noexcept { return rest_.empty(); }
  std::size_t offset() const noexcept { return static_cast<std::size_t>(rest_.data() - begin_); }

  /// The type of the next value.
  MsgpackType peek() const;

  /// Each reads the next value, which must be of that type, or throws MsgpackError.
  bool is_nil_then_skip();       ///< Reads a nil and returns true, else reads nothing.
  std::uint64_t integer_bits();  ///< Any integer, negative ones in two's complement.
  std::int64_t integer();        ///< In [-2^63, 2^63 - 1].
  double number();               ///< A float or an integer.
  std::string_view bytes();      ///< A string or a byte string.
  std::uint32_t array();         ///< Enters it; returns the number of elements.
  std::uint32_t map();           ///< Enters it; returns the number of pairs.
  std::string_view skip();       ///< Any value; returns its bytes.

  /// See msgpack_length.
  static std::size_t length(std::string_view bytes);

 private:
  struct Head;
  Head head() const;
  Head expect(MsgpackType type);

  const char* begin_;
  std::string_view rest_;
};

}  // namespace octavo::sim
