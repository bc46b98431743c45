#include "msgpack_scanner.h"

#include <bit>
#include <limits>
#include <string>

namespace octavo::sim {
namespace {

// The number of `size` bytes as a signed one, in 64 bits.
std::uint64_t sign_extended(std::uint64_t value, std::size_t size) {
  const auto shift = static_cast<unsigned>(64 - 8 * size);
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(value << shift) >> shift);
}

}  // namespace

std::uint64_t big_endian(std::string_view bytes) noexcept {
  std::uint64_t value = 0;
  for (const char c : bytes) {
    value = value << 8 | static_cast<unsigned char>(c);
  }
  return value;
}

// The first bytes of a value. `bits`: an integer or the pattern of a double. `count`: bytes of the
// body of strings and extensions, elements of arrays, pairs of maps.
struct MsgpackScanner::Head {
  MsgpackType type = MsgpackType::Nil;
  std::size_t size = 1;
  std::uint64_t bits = 0;
  std::uint64_t count = 0;
  bool is_negative = false;
  bool is_whole = true;  // false: the bytes end inside of the head.
};

namespace {

using Type = MsgpackType;

// What a marker from 0xc0 on says: a type, and how many bytes of number or of length follow.
struct Marker {
  Type type;
  std::size_t width;
  bool is_length;     // The bytes that follow are a count.
  std::size_t extra;  // Extensions: the byte of their type, and a body of a fixed size.
};

Marker marker_of(unsigned char byte) {
  static constexpr Marker kMarkers[32] = {
      {Type::Nil, 0, false, 0},        {Type::Nil, 0, false, 0},  // c0, c1 (never used)
      {Type::Bool, 0, false, 0},       {Type::Bool, 0, false, 0},
      {Type::Binary, 1, true, 0},      {Type::Binary, 2, true, 0},
      {Type::Binary, 4, true, 0},      {Type::Extension, 1, true, 1},
      {Type::Extension, 2, true, 1},   {Type::Extension, 4, true, 1},
      {Type::Float, 4, false, 0},      {Type::Float, 8, false, 0},
      {Type::Integer, 1, false, 0},    {Type::Integer, 2, false, 0},
      {Type::Integer, 4, false, 0},    {Type::Integer, 8, false, 0},
      {Type::Integer, 1, false, 0},    {Type::Integer, 2, false, 0},
      {Type::Integer, 4, false, 0},    {Type::Integer, 8, false, 0},
      {Type::Extension, 0, false, 2},  {Type::Extension, 0, false, 3},
      {Type::Extension, 0, false, 5},  {Type::Extension, 0, false, 9},
      {Type::Extension, 0, false, 17}, {Type::String, 1, true, 0},
      {Type::String, 2, true, 0},      {Type::String, 4, true, 0},
      {Type::Array, 2, true, 0},       {Type::Array, 4, true, 0},
      {Type::Map, 2, true, 0},         {Type::Map, 4, true, 0},
  };
  return kMarkers[byte - 0xc0];
}

std::uint64_t double_bits(std::uint64_t bits, std::size_t width) {
  if (width == 8) {
    return bits;
  }
  const auto narrow = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
  return std::bit_cast<std::uint64_t>(static_cast<double>(narrow));
}

}  // namespace

const char* describe(MsgpackType type) noexcept {
  static constexpr const char* kNames[] = {"nil",      "a boolean", "an integer",
                                           "a float",  "a string",  "a byte string",
                                           "an array", "a map",     "an extension value"};
  return kNames[static_cast<std::size_t>(type)];
}

MsgpackScanner::Head MsgpackScanner::head() const {
  Head head;
  if (rest_.empty()) {
    head.is_whole = false;
    return head;
  }
  const auto byte = static_cast<unsigned char>(rest_[0]);
  if (byte < 0x80 || byte >= 0xe0) {
    head.type = Type::Integer;
    head.bits = sign_extended(byte, byte < 0x80 ? 8 : 1);
    head.is_negative = byte >= 0xe0;
  } else if (byte < 0xc0) {
    head.type = byte < 0x90 ? Type::Map : (byte < 0xa0 ? Type::Array : Type::String);
    head.count = byte & (byte < 0xa0 ? 0x0fU : 0x1fU);
  } else if (byte == 0xc1) {
    throw MsgpackError("the byte 0xc1 begins no MessagePack value");
  } else {
    const Marker marker = marker_of(byte);
    head.type = marker.type;
    head.size = 1 + marker.width;
    if (rest_.size() < head.size) {
      head.is_whole = false;
      return head;
    }
    const std::uint64_t value = big_endian(rest_.substr(1, marker.width));
    head.count = (marker.is_length ? value : 0) + marker.extra;
    if (marker.type == Type::Integer) {
      const bool is_signed = byte >= 0xd0;
      head.bits = is_signed ? sign_extended(value, marker.width) : value;
      head.is_negative = is_signed && (head.bits >> 63) != 0;
    } else if (marker.type == Type::Float) {
      head.bits = double_bits(value, marker.width);
    } else if (marker.type == Type::Bool) {
      head.bits = byte & 1U;
    }
  }
  return head;
}

std::size_t msgpack_length(std::string_view bytes) {
  return MsgpackScanner::length(bytes);
}

std::size_t MsgpackScanner::length(std::string_view bytes) {
  // How many values are still to come in the arrays and maps that are open, innermost last.
  std::uint64_t open[kMsgpackDepthMax];
  int depth = 0;
  MsgpackScanner scanner(bytes);
  for (;;) {
    const Head head = scanner.head();
    if (!head.is_whole) {
      return 0;
    }
    std::uint64_t body = 0;
    std::uint64_t children = 0;
    if (head.type == Type::Array || head.type == Type::Map) {
      children = head.type == Type::Map ? 2 * head.count : head.count;
    } else {
      body = head.count;
    }
    if (scanner.rest_.size() - head.size < body) {
      return 0;
    }
    scanner.rest_.remove_prefix(head.size + body);
    if (children > 0) {
      if (depth == kMsgpackDepthMax) {
        throw MsgpackError("values nest deeper than " + std::to_string(kMsgpackDepthMax));
      }
      open[depth++] = children;
      continue;
    }
    while (depth > 0 && --open[depth - 1] == 0) {
      --depth;
    }
    if (depth == 0) {
      return scanner.offset();
    }
  }
}

MsgpackScanner::Head MsgpackScanner::expect(MsgpackType type) {
  const Head found = head();
  if (!found.is_whole) {
    throw MsgpackError("the value is cut off");
  }
  if (found.type != type) {
    throw MsgpackError(std::string("is ") + describe(found.type) + ", expected " + describe(type));
  }
  rest_.remove_prefix(found.size);
  return found;
}

MsgpackType MsgpackScanner::peek() const {
  const Head found = head();
  if (!found.is_whole) {
    throw MsgpackError("the value is cut off");
  }
  return found.type;
}

bool MsgpackScanner::is_nil_then_skip() {
  if (peek() != Type::Nil) {
    return false;
  }
  rest_.remove_prefix(1);
  return true;
}

std::uint64_t MsgpackScanner::integer_bits() {
  return expect(Type::Integer).bits;
}

std::int64_t MsgpackScanner::integer() {
  const Head found = expect(Type::Integer);
  if (!found.is_negative && (found.bits >> 63) != 0) {
    throw MsgpackError("is out of range (" + std::to_string(found.bits) +
                       "), expected an integer of at most 9223372036854775807");
  }
  return static_cast<std::int64_t>(found.bits);
}

double MsgpackScanner::number() {
  if (peek() == Type::Integer) {
    const Head found = expect(Type::Integer);
    return found.is_negative ? static_cast<double>(static_cast<std::int64_t>(found.bits))
                             : static_cast<double>(found.bits);
  }
  return std::bit_cast<double>(expect(Type::Float).bits);
}

std::string_view MsgpackScanner::bytes() {
  const Head found = expect(peek() == Type::String ? Type::String : Type::Binary);
  if (rest_.size() < found.count) {
    throw MsgpackError("the value is cut off");
  }
  const std::string_view body = rest_.substr(0, found.count);
  rest_.remove_prefix(found.count);
  return body;
}

std::uint32_t MsgpackScanner::array() {
  return static_cast<std::uint32_t>(expect(Type::Array).count);
}

std::uint32_t MsgpackScanner::map() {
  return static_cast<std::uint32_t>(expect(Type::Map).count);
}

std::string_view MsgpackScanner::skip() {
  const std::size_t size = msgpack_length(rest_);
  if (size == 0) {
    throw MsgpackError("the value is cut off");
  }
  const std::string_view value = rest_.substr(0, size);
  rest_.remove_prefix(size);
  return value;
}

}  // namespace octavo::sim
