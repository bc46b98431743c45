// Dims: a shape or a list of strides, held inline so that copying a tensor handle allocates
// nothing.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

namespace octavo {

class Dims {
 public:
  static constexpr std::size_t kMaxRank = 6;

  Dims() = default;
  /// Raise InvalidArgument for more than kMaxRank values.
  Dims(std::initializer_list<std::int64_t> values);
  explicit Dims(std::span<const std::int64_t> values);

  std::size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  std::int64_t operator[](std::size_t i) const noexcept { return values_[i]; }
  std::int64_t& operator[](std::size_t i) noexcept { return values_[i]; }
  const std::int64_t* begin() const noexcept { return values_.data(); }
  const std::int64_t* end() const noexcept { return values_.data() + size_; }
  std::int64_t back() const noexcept { return values_[size_ - 1]; }

  /// The same without the value at `i` < size().
  Dims without(std::size_t i) const;

  friend bool operator==(const Dims& a, const Dims& b) noexcept {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  std::array<std::int64_t, kMaxRank> values_ = {};
  std::size_t size_ = 0;
};

/// "[2, 3, 64]".
std::string to_string(const Dims& dims);

}  // namespace octavo
