// What the tests of convolution and recurrence share: typed arrays on the host, sets of them copied
// to a device and back, and the comparison of what two devices left behind.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "octavo/device.h"
#include "octavo/device_ops.h"
#include "octavo/dtype.h"
#include "octavo/ref_cpu/cpu_device.h"
#include "tests/cuda/device_under_test.h"
#include <gtest/gtest.h>

namespace octavo::cuda_test {

class Numbers {
 public:
  explicit Numbers(std::uint64_t seed) : state_(seed * 2 + 1) {}

  std::uint64_t bits() {
    state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
    return (state_ ^ state_ >> 32) * 0x9E3779B97F4A7C15ULL >> 16;
  }
  std::int64_t below(std::int64_t n) {
    return static_cast<std::int64_t>(bits() % static_cast<std::uint64_t>(n));
  }
  /// In [-1, 1).
  float unit() {
    return static_cast<float>(static_cast<std::int64_t>(bits() & 0xFFFFFFu)) * 0x1p-23f - 1.0f;
  }
  DType dtype() {
    constexpr DType kDTypes[] = {DType::F32, DType::F16, DType::BF16};
    return kDTypes[below(3)];
  }

 private:
  std::uint64_t state_;
};

/// The code of a number of small magnitude, near enough: values are drawn, not checked.
inline std::uint16_t half_code(DType dtype, float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  if (dtype == DType::BF16) {
    return static_cast<std::uint16_t>(bits >> 16);
  }
  const std::uint32_t size = bits & 0x7FFFFFFFu;
  const std::uint32_t code = size < 113u << 23 ? 0u : (size >> 13) - (112u << 10);
  return static_cast<std::uint16_t>(code | (bits >> 31) << 15);
}

/// Elements of F32, F16 or BF16 on the host, with 16 bytes of poison behind them; `shift` elements
/// lie before the first, so that it can be misaligned.
class Array {
 public:
  Array() = default;
  Array(DType dtype, std::int64_t n, std::int64_t shift = 0)
      : dtype_(dtype),
        shift_bytes_(static_cast<std::size_t>(shift) * element_bytes()),
        bytes_((static_cast<std::size_t>(n + shift)) * element_bytes() + 16, kPoison) {}

  static Array random(
      DType dtype, std::int64_t n, Numbers& numbers, float scale = 1.0f, std::int64_t shift = 0) {
    Array array(dtype, n, shift);
    for (std::int64_t i = 0; i < n; ++i) {
      array.set(i, scale * numbers.unit());
    }
    return array;
  }

  void set(std::int64_t i, float x) {
    unsigned char* const to = bytes_.data() + offset(i);
    if (dtype_ == DType::F32) {
      std::memcpy(to, &x, sizeof x);
    } else {
      const std::uint16_t code = half_code(dtype_, x);
      std::memcpy(to, &code, sizeof code);
    }
  }
  /// Makes elements [begin, begin + n) what must not be read: NaNs.
  void poison(std::int64_t begin, std::int64_t n) {
    std::fill_n(bytes_.data() + offset(begin), static_cast<std::size_t>(n) * element_bytes(),
                kPoison);
  }

  bool defined() const { return !bytes_.empty(); }
  DType dtype() const { return dtype_; }
  std::size_t element_bytes() const { return dtype_ == DType::F32 ? 4 : 2; }
  std::size_t shift_bytes() const { return shift_bytes_; }
  const std::vector<unsigned char>& bytes() const { return bytes_; }
  std::vector<unsigned char>& bytes() { return bytes_; }

  /// Element `i` as bits, every NaN as the same one.
  std::uint32_t bits(std::int64_t i) const {
    std::uint32_t x = 0;
    std::memcpy(&x, bytes_.data() + offset(i), element_bytes());
    const std::uint32_t infinity = dtype_ == DType::F32   ? 0x7F800000u
                                   : dtype_ == DType::F16 ? 0x7C00u
                                                          : 0x7F80u;
    const std::uint32_t sign = dtype_ == DType::F32 ? 0x80000000u : 0x8000u;
    return (x & ~sign) > infinity ? ~0u : x;
  }
  std::int64_t size() const {
    return static_cast<std::int64_t>((bytes_.size() - 16 - shift_bytes_) / element_bytes());
  }

 private:
  static constexpr unsigned char kPoison = 0xFF;

  std::size_t offset(std::int64_t i) const {
    return shift_bytes_ + static_cast<std::size_t>(i) * element_bytes();
  }

  DType dtype_ = DType::F32;
  std::size_t shift_bytes_ = 0;
  std::vector<unsigned char> bytes_;
};

/// Where two arrays first differ, and "" if they do not.
inline std::string difference(const Array& a, const Array& b) {
  for (std::int64_t i = 0; i < a.size(); ++i) {
    if (a.bits(i) != b.bits(i)) {
      return "element " + std::to_string(i) + ": " + std::to_string(a.bits(i)) + " and " +
             std::to_string(b.bits(i));
    }
  }
  const auto tail = [](const Array& array) {
    return std::vector<unsigned char>(array.bytes().end() - 16, array.bytes().end());
  };
  return tail(a) == tail(b) ? "" : "the bytes behind the last element";
}

/// Arrays on a device for the length of one operation.
class Uploads {
 public:
  explicit Uploads(std::shared_ptr<Device> device) : device_(std::move(device)) {}
  Uploads(const Uploads&) = delete;
  Uploads& operator=(const Uploads&) = delete;
  ~Uploads() {
    for (const Upload& upload : uploads_) {
      device_->deallocate(upload.data, upload.size_bytes);
    }
  }

  /// Null for an array that is not defined.
  void* add(const Array& array) {
    return array.defined() ? static_cast<unsigned char*>(add(array.bytes())) + array.shift_bytes()
                           : nullptr;
  }
  const std::int32_t* add(const std::vector<std::int32_t>& values) {
    std::vector<unsigned char> bytes(values.size() * sizeof values[0]);
    std::memcpy(bytes.data(), values.data(), bytes.size());
    return static_cast<const std::int32_t*>(add(bytes));
  }
  void fetch(const void* data, Array& array) {
    device_->copy_to_host(array.bytes().data(),
                          static_cast<const unsigned char*>(data) - array.shift_bytes(),
                          static_cast<std::int64_t>(array.bytes().size()));
  }

 private:
  struct Upload {
    void* data;
    std::int64_t size_bytes;
  };

  void* add(const std::vector<unsigned char>& bytes) {
    const auto size_bytes = static_cast<std::int64_t>(bytes.size());
    void* const data = device_->allocate(size_bytes);
    device_->copy_from_host(data, bytes.data(), size_bytes);
    uploads_.push_back({data, size_bytes});
    return data;
  }

  std::shared_ptr<Device> device_;
  std::vector<Upload> uploads_;
};

/// What an operation writes.
struct StateResults {
  Array state;
  Array out;
};

inline void expect_same(const StateResults& expected, const StateResults& got) {
  EXPECT_EQ(difference(expected.out, got.out), "") << "of the results";
  EXPECT_EQ(difference(expected.state, got.state), "") << "of the states";
}

/// A case leaves on the device under test what it leaves on the reference, in whatever order
/// threads run.
template <typename Case>
void expect_the_references_bits(const Case& state_case, std::uint64_t seed) {
  const StateResults expected = state_case.run(make_cpu_device(1));
  expect_same(expected, state_case.run(device_under_test()));
  expect_same(expected, state_case.run(device_under_test(seed + 1)));
}

/// A case of one sequence leaves the same when its tokens come in pieces of up to `longest`.
template <typename Case>
void expect_the_same_in_pieces(const Case& whole, std::int64_t longest, Numbers numbers) {
  const StateResults expected = whole.run(device_under_test());
  Case piece = whole;
  const std::int64_t tokens = whole.sequences.tokens();
  for (std::int64_t begin = 0; begin < tokens;) {
    const std::int64_t end = std::min(tokens, begin + 1 + numbers.below(longest));
    piece.sequences.cu_seqlens = {static_cast<std::int32_t>(begin), static_cast<std::int32_t>(end)};
    piece.sequences.longest = end - begin;
    piece.initial = piece.run(device_under_test(static_cast<std::uint64_t>(end)));
    begin = end;
  }
  expect_same(expected, piece.initial);
}

/// What `call` raises, or that it did not.
inline std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "nothing was raised";
}

/// Sequences of these lengths, in slots drawn without repetition from `slots`.
struct Sequences {
  std::vector<std::int32_t> cu_seqlens = {0};
  std::vector<std::int32_t> slot_ids;
  std::int64_t longest = 0;

  Sequences(const std::vector<std::int64_t>& lengths, std::int64_t slots, Numbers& numbers) {
    std::vector<std::int32_t> free;
    for (std::int32_t slot = 0; slot < slots; ++slot) {
      free.push_back(slot);
    }
    for (const std::int64_t length : lengths) {
      cu_seqlens.push_back(cu_seqlens.back() + static_cast<std::int32_t>(length));
      const auto at = free.begin() + numbers.below(static_cast<std::int64_t>(free.size()));
      slot_ids.push_back(*at);
      free.erase(at);
      longest = std::max(longest, length);
    }
  }
  std::int64_t tokens() const { return cu_seqlens.back(); }
  StateStepArg upload(Uploads& uploads) const {
    return {.cu_seqlens_q = uploads.add(cu_seqlens),
            .slot_ids = uploads.add(slot_ids),
            .batch = static_cast<std::int64_t>(slot_ids.size()),
            .tokens = tokens(),
            .max_query_len = longest};
  }
};

}  // namespace octavo::cuda_test
