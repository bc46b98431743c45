#include "zipf.h"

#include <algorithm>
#include <array>
#include <bit>

#include "wide.h"

namespace octavo::sim {
namespace {

constexpr int kLogBits = 32;                            // Behind the point of a logarithm.
constexpr std::uint64_t kOne = std::uint64_t{1} << 62;  // Fixed point of mantissas.

// floor(sqrt(value)), digit by digit.
constexpr std::uint64_t square_root(Wide value) {
  Wide root = 0;
  for (Wide bit = Wide{1} << 126; bit != 0; bit >>= 2) {
    if (value >= root + bit) {
      value -= root + bit;
      root = (root >> 1) + bit;
    } else {
      root >>= 1;
    }
  }
  return static_cast<std::uint64_t>(root);
}

// kRoots[k] = 2^-(2^-(k + 1)) in units of 2^-62.
constexpr std::array<std::uint64_t, kLogBits> make_roots() {
  std::array<std::uint64_t, kLogBits> roots{};
  std::uint64_t value = kOne / 2;
  for (std::uint64_t& root : roots) {
    value = square_root(Wide{value} << 62);
    root = value;
  }
  return roots;
}

constexpr std::array<std::uint64_t, kLogBits> kRoots = make_roots();

// log2(value) in units of 2^-32: squaring a mantissa in [1, 2) doubles its logarithm, and the next
// binary digit is whether it has left the interval.
std::uint64_t log2_of(std::uint64_t value) {
  const int whole = 63 - std::countl_zero(value);
  auto log = static_cast<std::uint64_t>(whole);
  std::uint64_t mantissa = value << (62 - whole);
  for (int i = 0; i < kLogBits; ++i) {
    mantissa = static_cast<std::uint64_t>((Wide{mantissa} * mantissa) >> 62);
    log <<= 1;
    if (mantissa >= 2 * kOne) {
      mantissa >>= 1;
      log |= 1;
    }
  }
  return log;
}

}  // namespace

std::uint64_t zipf_weight(std::uint64_t rank, std::uint64_t exponent_permille) {
  const std::uint64_t exponent = mul_div(log2_of(rank), exponent_permille, 1000);
  const std::uint64_t whole = exponent >> kLogBits;
  if (whole > 40) {
    return 1;
  }
  std::uint64_t power = kOne;  // 2^-fraction
  for (int i = 0; i < kLogBits; ++i) {
    if ((exponent >> (kLogBits - 1 - i) & 1U) != 0) {
      power = static_cast<std::uint64_t>((Wide{power} * kRoots[static_cast<std::size_t>(i)]) >> 62);
    }
  }
  const std::uint64_t shift = 22 + whole;
  const std::uint64_t rounded = (power + (std::uint64_t{1} << (shift - 1))) >> shift;
  return std::max<std::uint64_t>(rounded, 1);
}

Zipf::Zipf(std::int64_t items, std::int64_t exponent_permille) {
  sums_.reserve(static_cast<std::size_t>(items));
  std::uint64_t sum = 0;
  for (std::int64_t rank = 1; rank <= items; ++rank) {
    sum += zipf_weight(static_cast<std::uint64_t>(rank),
                       static_cast<std::uint64_t>(exponent_permille));
    sums_.push_back(sum);
  }
}

std::uint64_t Zipf::choose(Rng& rng) const {
  const std::uint64_t at = rng.below(sums_.back());
  return static_cast<std::uint64_t>(std::upper_bound(sums_.begin(), sums_.end(), at) -
                                    sums_.begin());
}

}  // namespace octavo::sim
