// What the tests of convolution and recurrence share: typed arrays of random operands, the rounding
// units of their formats, and the error terms that NUMERICS.md derives.
//
// A bound here is always `absolute error of this quantity`, carried beside a float64 value.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "octavo/device_ops.h"
#include "octavo/dtype.h"
#include "rows.h"
#include "samples.h"
#include "state_ops.h"

namespace octavo::numerics_test {

/// Elements of F32, F16 or BF16.
class Array {
 public:
  Array(DType dtype, std::int64_t n)
      : dtype_(dtype),
        size_(n),
        bytes_(static_cast<std::size_t>(n * (dtype == DType::F32 ? 4 : 2))) {}

  static Array random(DType dtype, std::int64_t n, Random& random, float scale = 1.0f) {
    Array array(dtype, n);
    const std::vector<float> values = random.units(n, scale);
    ref_cpu::encode_row(dtype, values.data(), n, array.data(), 0);
    return array;
  }

  DType dtype() const { return dtype_; }
  std::int64_t size() const { return size_; }
  void* data() { return bytes_.data(); }
  const void* data() const { return bytes_.data(); }
  std::vector<unsigned char>& bytes() { return bytes_; }
  void poison() { std::fill(bytes_.begin(), bytes_.end(), static_cast<unsigned char>(0xFF)); }

  double operator[](std::int64_t i) const {
    float value = 0;
    ref_cpu::decode_row(dtype_, data(), i, 1, &value);
    return static_cast<double>(value);
  }
  void set(std::int64_t i, float value) { ref_cpu::encode_row(dtype_, &value, 1, data(), i); }

  friend bool operator==(const Array&, const Array&) = default;

 private:
  DType dtype_;
  std::int64_t size_;
  std::vector<unsigned char> bytes_;
};

inline StepOperandArg operand(const Array& array,
                              std::int64_t token_stride,
                              std::int64_t head_stride = 1) {
  return {.data = array.data(),
          .dtype = array.dtype(),
          .token_stride = token_stride,
          .head_stride = head_stride};
}
inline StepResultArg result(Array& array, std::int64_t token_stride, std::int64_t head_stride = 1) {
  return {.data = array.data(),
          .dtype = array.dtype(),
          .token_stride = token_stride,
          .head_stride = head_stride};
}
inline WeightArg weight(const Array& array) {
  return {.data = array.data(), .dtype = array.dtype()};
}

inline constexpr double kU = 0x1p-24;  ///< The rounding unit of binary32.

/// The largest relative error of rounding to `dtype`, 0 where nothing is rounded.
inline double unit_of(DType dtype) {
  return dtype == DType::F16 ? 0x1p-11 : dtype == DType::BF16 ? 0x1p-8 : 0.0;
}
/// Half the smallest subnormal, the absolute part of the same.
inline double tiny_of(DType dtype) {
  return dtype == DType::F16 ? 0x1p-25 : 0x1p-134;
}

/// (1 + u)^n - 1, bounded.
inline double gamma(double n) {
  return n * kU / (1 - n * kU);
}

/// Roundings that a term of a sum of `n` products goes through in the order of dot_tree.h.
inline double dot_depth(std::int64_t n) {
  const double units = std::ceil(static_cast<double>(n) / 8);
  return static_cast<double>(std::min<std::int64_t>(n, 8)) + std::ceil(std::log2(units));
}

/// Derived relative errors of the elementary functions, NUMERICS.md.
inline constexpr double kExpError = 1.8 * kU;
inline constexpr double kSigmoidError = 3.8 * kU;
inline constexpr double kSiluError = 4.8 * kU;
inline constexpr double kSoftplusError = 6.1 * kU;
/// |silu'| is nowhere larger.
inline constexpr double kSiluSlope = 1.1;
/// Covers the products of error terms, each below 2^-12, that the first-order sums leave out, and
/// results that underflow.
inline double widened(double bound) {
  return bound * (1 + 0x1p-9) + 0x1p-115;
}

inline double exact_sigmoid(double x) {
  return 1 / (1 + std::exp(-x));
}
inline double exact_softplus(double x) {
  return std::fmax(x, 0) + std::log1p(std::exp(-std::fabs(x)));
}

/// The bound of a value with bound `error` once it is stored as `dtype`.
inline double stored(double value, double error, DType dtype) {
  return error + unit_of(dtype) * (std::fabs(value) + error) + tiny_of(dtype);
}

}  // namespace octavo::numerics_test
