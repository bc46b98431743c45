// Reads the typed fields of a trace line and refuses what is not of the type, with the message that
// names file, line, field, value and what was expected.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "json_scanner.h"

namespace octavo::sim {

/// A count in [min, 2^63 - 1]. Written as an integer: "12.0" and "1e3" are refused.
std::int64_t read_count(JsonScanner& scanner, std::string_view field, std::int64_t min);

/// Any integer in [0, 2^64 - 1].
std::uint64_t read_id(JsonScanner& scanner, std::string_view field);

/// A time with or without a fraction or an exponent, in units of 10^`digits` ns ("milliseconds" are
/// 6), as nanoseconds; a finer fraction is rounded to the nearest one, halves up. The decimal
/// digits are scaled exactly, never through a double.
std::int64_t read_time_ns(JsonScanner& scanner, std::string_view field, int digits);

/// Any integer in [-2^63, 2^63 - 1].
std::int64_t read_signed(JsonScanner& scanner, std::string_view field);

/// A string or an integer, as the text of a name. The text holds until the next string or key.
std::string_view read_name(JsonScanner& scanner, std::string_view field);

/// An array of ids, which replace those of `ids`.
void read_ids(JsonScanner& scanner, std::string_view field, std::vector<std::uint64_t>& ids);

/// An array of ids in [-2^63, 2^64 - 1], which replace those of `ids`; a negative one becomes the
/// unsigned number of the same 64 bits.
void read_signed_ids(JsonScanner& scanner, std::string_view field, std::vector<std::uint64_t>& ids);

/// a + b; refuses a sum that exceeds 2^63 - 1 as one of `field`.
std::int64_t add_times(const JsonScanner& scanner,
                       std::string_view field,
                       std::int64_t a,
                       std::int64_t b);

/// Refuses another number of ids than ceil(input_tokens / block_size), or floor when tails have no
/// ids.
void check_id_count(const JsonScanner& scanner,
                    std::string_view ids_field,
                    std::string_view length_field,
                    std::size_t ids,
                    std::int64_t input_tokens,
                    std::int64_t block_size,
                    bool tail_has_id = true);

/// ceil(tokens / block_size), for tokens >= 0 without overflow.
constexpr std::int64_t blocks_of(std::int64_t tokens, std::int64_t block_size) {
  return tokens / block_size + (tokens % block_size != 0 ? 1 : 0);
}

/// How many ids a prompt must have: ceil(tokens / block_size) when tails have ids, floor otherwise,
/// none for block_size 0.
constexpr std::int64_t ids_of(std::int64_t tokens, std::int64_t block_size, bool tail_has_id) {
  if (block_size == 0) {
    return 0;
  }
  return tail_has_id ? blocks_of(tokens, block_size) : tokens / block_size;
}

/// The fields of a line that have been seen, by index: each must come once.
class SeenFields {
 public:
  bool has(unsigned index) const { return (bits_ >> index & 1U) != 0; }

  void add(const JsonScanner& scanner, unsigned index, std::string_view field) {
    if ((bits_ >> index & 1U) != 0) {
      scanner.refuse(field, "occurs twice, expected once");
    }
    bits_ |= 1U << index;
  }

  void require(const JsonScanner& scanner,
               unsigned index,
               std::string_view field,
               const char* what) const {
    if ((bits_ >> index & 1U) == 0) {
      scanner.refuse(field, std::string("missing, expected ") + what);
    }
  }

 private:
  unsigned bits_ = 0;
};

}  // namespace octavo::sim
