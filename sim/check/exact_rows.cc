#include "exact_rows.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "octavo/error.h"

namespace octavo::sim::check {
namespace {

// A binary format of `exponent_bits` and `mantissa_bits` whose codes are all finite here.
double small_float(std::uint32_t code, int exponent_bits, int mantissa_bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const std::uint32_t mantissa = code & ((1U << mantissa_bits) - 1);
  const int exponent = static_cast<int>(code >> mantissa_bits & ((1U << exponent_bits) - 1));
  const bool is_negative = (code >> (exponent_bits + mantissa_bits) & 1U) != 0;
  const double magnitude =
      exponent == 0 ? std::ldexp(mantissa, 1 - bias - mantissa_bits)
                    : std::ldexp((1U << mantissa_bits) + mantissa, exponent - bias - mantissa_bits);
  return is_negative ? -magnitude : magnitude;
}

template <typename T>
T load(const std::byte* bytes, std::int64_t index) {
  T value{};
  std::memcpy(&value, bytes + static_cast<std::size_t>(index) * sizeof(T), sizeof(T));
  return value;
}

double element(const RowFormat& format, const std::byte* bytes, std::int64_t i) {
  switch (format.dtype) {
    case DType::F32:
      return static_cast<double>(load<float>(bytes, i));
    case DType::F16:
      return small_float(load<std::uint16_t>(bytes, i), 5, 10);
    case DType::BF16:
      return small_float(load<std::uint16_t>(bytes, i), 8, 7);
    case DType::E4M3:
      return small_float(load<std::uint8_t>(bytes, i), 4, 3);
    case DType::E5M2:
      return small_float(load<std::uint8_t>(bytes, i), 5, 2);
    case DType::Int8:
      return load<std::int8_t>(bytes, i);
    case DType::Int4:
      return static_cast<int>(load<std::uint8_t>(bytes, i / 2) >> (i % 2 * 4) & 15) - 8;
    default:
      throw Error(ErrorCode::Internal, "check: rows of a type that no cache stores");
  }
}

}  // namespace

std::vector<double> read_row(const RowFormat& format, const std::byte* bytes, float scale) {
  std::vector<double> row(static_cast<std::size_t>(format.elements));
  for (std::int64_t i = 0; i < format.elements; ++i) {
    row[static_cast<std::size_t>(i)] = element(format, bytes, i) * static_cast<double>(scale);
  }
  return row;
}

double storage_error_max(const RowFormat& format, double value, double scale) {
  const double x = std::abs(value);
  switch (format.dtype) {
    case DType::F32:
      return 0;
    case DType::F16:
      return std::max(std::ldexp(x, -11), 0x1p-25);
    case DType::BF16:
      return std::ldexp(x, -8);
    case DType::E4M3:
      return std::max(std::ldexp(x, -4), std::ldexp(scale, -10)) + std::ldexp(x, -23);
    case DType::E5M2:
      return std::max(std::ldexp(x, -3), std::ldexp(scale, -17)) + std::ldexp(x, -23);
    default:
      return scale / 2 + std::ldexp(x, -23);
  }
}

std::vector<double> attend_exactly(std::span<const float> query,
                                   const std::vector<std::vector<double>>& keys,
                                   const std::vector<std::vector<double>>& values) {
  std::vector<double> weights;
  double most = -HUGE_VAL;
  for (const std::vector<double>& key : keys) {
    double dot = 0;
    for (std::size_t i = 0; i < query.size(); ++i) {
      dot += static_cast<double>(query[i]) * key[i];
    }
    weights.push_back(dot / std::sqrt(static_cast<double>(query.size())));
    most = std::max(most, weights.back());
  }
  std::vector<double> out(query.size(), 0);
  double sum = 0;
  for (std::size_t t = 0; t < keys.size(); ++t) {
    const double weight = std::exp(weights[t] - most);
    sum += weight;
    for (std::size_t i = 0; i < out.size(); ++i) {
      out[i] += weight * values[t][i];
    }
  }
  for (double& number : out) {
    number = keys.empty() ? 0 : number / sum;
  }
  return out;
}

}  // namespace octavo::sim::check
