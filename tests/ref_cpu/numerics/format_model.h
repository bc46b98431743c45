// An independent model of the narrow floating formats: a table of what every code means, built from
// the definition of the format in exact double arithmetic, and rounding by looking for the two
// neighbours in it. Shares nothing with the code under test.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace octavo::numerics_test {

class FormatModel {
 public:
  enum class Top {
    Infinity,   ///< The largest exponent holds infinity and NaNs; overflow gives infinity.
    Saturated,  ///< The same codes, but overflow gives the largest number.
    NanOnly,    ///< Only the very last code is a NaN; overflow gives the largest number.
  };

  FormatModel(int exponent_bits, int mantissa_bits, int bias, Top top)
      : mantissa_bits_(mantissa_bits),
        bias_(bias),
        top_(top),
        sign_(1u << (exponent_bits + mantissa_bits)) {
    for (std::uint32_t code = 0; code < sign_ && is_finite(code); ++code) {
      values_.push_back(magnitude(code));
    }
  }

  std::uint32_t codes() const { return 2 * sign_; }
  std::uint32_t nan_code() const { return sign_ - 1; }
  /// The largest finite code without a sign.
  std::uint32_t max_code() const { return static_cast<std::uint32_t>(values_.size()) - 1; }
  double value_of_max() const { return values_.back(); }

  double decode(std::uint32_t code) const {
    const std::uint32_t rest = code & (sign_ - 1);
    double value = std::numeric_limits<double>::quiet_NaN();
    if (is_finite(rest)) {
      value = magnitude(rest);
    } else if (top_ != Top::NanOnly && (rest & ((1u << mantissa_bits_) - 1)) == 0) {
      value = std::numeric_limits<double>::infinity();
    }
    return (code & sign_) != 0 ? -value : value;
  }

  /// The code nearest to x; of two equally near ones the even one.
  std::uint32_t encode(double x) const {
    if (std::isnan(x)) {
      return nan_code();
    }
    return encode_magnitude(std::fabs(x)) | (std::signbit(x) ? sign_ : 0u);
  }

 private:
  bool is_finite(std::uint32_t rest) const {
    if (top_ == Top::NanOnly) {
      return rest != sign_ - 1;
    }
    return (rest >> mantissa_bits_) + 1 != sign_ >> mantissa_bits_;
  }

  double magnitude(std::uint32_t rest) const {
    const int exponent = static_cast<int>(rest >> mantissa_bits_);
    const double fraction = std::ldexp(rest & ((1u << mantissa_bits_) - 1), -mantissa_bits_);
    return exponent == 0 ? std::ldexp(fraction, 1 - bias_)
                         : std::ldexp(1 + fraction, exponent - bias_);
  }

  std::uint32_t encode_magnitude(double x) const {
    const auto above = std::upper_bound(values_.begin(), values_.end(), x);
    const auto low = static_cast<std::uint32_t>(above - values_.begin()) - 1;
    if (above == values_.end()) {
      // Past the end the next value would be one more step away.
      const double step = values_[low] - values_[low - 1];
      const bool rounds_up = top_ == Top::Infinity && x >= values_[low] + step / 2;
      return rounds_up ? low + 1 : low;
    }
    const double down = x - values_[low];
    const double up = *above - x;
    if (down != up) {
      return down < up ? low : low + 1;
    }
    return low % 2 == 0 ? low : low + 1;
  }

  int mantissa_bits_;
  int bias_;
  Top top_;
  std::uint32_t sign_;
  std::vector<double> values_;  // Of the finite codes without a sign, ascending.
};

}  // namespace octavo::numerics_test
