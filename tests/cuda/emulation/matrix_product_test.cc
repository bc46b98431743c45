// mma: the fragments of m16n8k32 and m16n8k16 against plain products of matrices.
//
// The layouts are written down once more here, from the tables of the PTX ISA.
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "kernel_test.h"
#include "random.h"
#include <gmock/gmock-matchers.h>

namespace octavo::cuda {
inline namespace emulated {
namespace {

using testing::HasSubstr;

// What 32 lanes hold, by lane.
template <typename Sum>
struct Registers {
  std::vector<std::uint32_t> a = std::vector<std::uint32_t>(32 * 4);
  std::vector<std::uint32_t> b = std::vector<std::uint32_t>(32 * 2);
  std::vector<Sum> c = std::vector<Sum>(32 * 4);
};

enum class Kind { S8, U8, BF16, F16 };

template <Kind kKind, typename Sum>
__global__ void multiply(const std::uint32_t* a, const std::uint32_t* b, Sum* c) {
  const unsigned lane = threadIdx.x % 32;
  const std::uint32_t own_a[4] = {a[lane * 4], a[lane * 4 + 1], a[lane * 4 + 2], a[lane * 4 + 3]};
  const std::uint32_t b0 = b[lane * 2];
  const std::uint32_t b1 = b[lane * 2 + 1];
  Sum* warp_c = c + threadIdx.x / 32 * 128;
  Sum own_c[4] = {warp_c[lane * 4], warp_c[lane * 4 + 1], warp_c[lane * 4 + 2],
                  warp_c[lane * 4 + 3]};
  if constexpr (kKind == Kind::S8) {
    mma_s8_s8(own_c, own_a, b0, b1);
  } else if constexpr (kKind == Kind::U8) {
    mma_u8_s8(own_c, own_a, b0, b1);
  } else if constexpr (kKind == Kind::BF16) {
    mma_bf16(own_c, own_a, b0, b1);
  } else {
    mma_f16(own_c, own_a, b0, b1);
  }
  for (unsigned i = 0; i < 4; ++i) {
    warp_c[lane * 4 + i] = own_c[i];
  }
}

// m16n8k32: element i (0..15) of a lane's a, element i (0..7) of its b, one byte each.
int byte_row_a(int lane, int i) {
  const bool first = (i < 4) || (i >= 8 && i < 12);
  return first ? lane / 4 : lane / 4 + 8;
}
int byte_column_a(int lane, int i) {
  return i < 8 ? lane % 4 * 4 + (i & 3) : lane % 4 * 4 + (i & 3) + 16;
}
int byte_row_b(int lane, int i) {
  return i < 4 ? lane % 4 * 4 + (i & 3) : lane % 4 * 4 + (i & 3) + 16;
}
// m16n8k16: element i (0..7) of a lane's a, element i (0..3) of its b, two bytes each.
int half_row_a(int lane, int i) {
  const bool first = (i < 2) || (i >= 4 && i < 6);
  return first ? lane / 4 : lane / 4 + 8;
}
int half_column_a(int lane, int i) {
  return i < 4 ? lane % 4 * 2 + (i & 1) : lane % 4 * 2 + (i & 1) + 8;
}
int half_row_b(int lane, int i) {
  return i < 2 ? lane % 4 * 2 + (i & 1) : lane % 4 * 2 + (i & 1) + 8;
}
// Both: element i (0..3) of c.
int row_c(int lane, int i) {
  return i < 2 ? lane / 4 : lane / 4 + 8;
}
int column_c(int lane, int i) {
  return lane % 4 * 2 + (i & 1);
}

template <typename T>
T& at(std::vector<T>& values, int index) {
  return values[static_cast<std::size_t>(index)];
}

template <Kind kKind>
void check_bytes(std::uint64_t seed) {
  emulation::Random random(seed);
  Registers<int> in;
  for (auto* values : {&in.a, &in.b}) {
    for (std::uint32_t& word : *values) {
      word = static_cast<std::uint32_t>(random.next());
    }
  }
  for (int& sum : in.c) {
    sum = static_cast<int>(random.below(1u << 31)) - (1 << 30);
  }
  std::vector<int> a(16 * 32);
  std::vector<int> b(32 * 8);
  for (int lane = 0; lane < 32; ++lane) {
    for (int i = 0; i < 16; ++i) {
      const std::uint32_t byte = at(in.a, lane * 4 + i / 4) >> (8 * (i % 4)) & 0xFFu;
      at(a, byte_row_a(lane, i) * 32 + byte_column_a(lane, i)) =
          kKind == Kind::S8 ? static_cast<std::int8_t>(byte) : static_cast<int>(byte);
    }
    for (int i = 0; i < 8; ++i) {
      const std::uint32_t byte = at(in.b, lane * 2 + i / 4) >> (8 * (i % 4)) & 0xFFu;
      at(b, byte_row_b(lane, i) * 8 + lane / 4) = static_cast<std::int8_t>(byte);
    }
  }
  std::vector<int> out = in.c;
  SeededStream stream({.seed = seed});
  launch(multiply<kKind, int>, {1, 32}, stream, in.a.data(), in.b.data(), out.data());
  for (int lane = 0; lane < 32; ++lane) {
    for (int i = 0; i < 4; ++i) {
      int sum = at(in.c, lane * 4 + i);
      for (int k = 0; k < 32; ++k) {
        sum += at(a, row_c(lane, i) * 32 + k) * at(b, k * 8 + column_c(lane, i));
      }
      ASSERT_EQ(at(out, lane * 4 + i), sum) << lane << ' ' << i;
    }
  }
}

TEST(MatrixProduct, OfBytesIsExact) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    check_bytes<Kind::S8>(seed);
    check_bytes<Kind::U8>(seed);
  }
}

TEST(MatrixProduct, OfBytesWrapsAround) {
  Registers<int> in;
  in.a.assign(in.a.size(), 0x7F7F7F7Fu);
  in.b.assign(in.b.size(), 0x7F7F7F7Fu);
  in.c.assign(in.c.size(), 0x7FFFFFFF);
  launch(multiply<Kind::S8, int>, {1, 32}, {}, in.a.data(), in.b.data(), in.c.data());
  EXPECT_EQ(static_cast<unsigned>(in.c[5]), 0x7FFFFFFFu + 32u * 127u * 127u);
}

// Small integers, which both formats and every order of adding have exactly.
template <Kind kKind>
void check_halves(std::uint64_t seed) {
  emulation::Random random(seed);
  const auto draw = [&] { return static_cast<int>(random.below(17)) - 8; };
  const auto code = [](int value) -> std::uint32_t {
    const auto x = static_cast<float>(value);
    const std::uint32_t bits = __float_as_uint(x);
    if (kKind == Kind::BF16 || value == 0) {
      return bits >> 16;
    }
    return (bits >> 16 & 0x8000u) | ((bits >> 13 & 0x3FFFFu) - (112u << 10));
  };
  std::vector<int> a(16 * 16);
  std::vector<int> b(16 * 8);
  for (auto* matrix : {&a, &b}) {
    for (int& value : *matrix) {
      value = draw();
    }
  }
  Registers<float> in;
  for (int lane = 0; lane < 32; ++lane) {
    for (int i = 0; i < 8; ++i) {
      at(in.a, lane * 4 + i / 2) |= code(at(a, half_row_a(lane, i) * 16 + half_column_a(lane, i)))
                                    << (16 * (i % 2));
    }
    for (int i = 0; i < 4; ++i) {
      at(in.b, lane * 2 + i / 2) |= code(at(b, half_row_b(lane, i) * 8 + lane / 4))
                                    << (16 * (i % 2));
    }
    for (int i = 0; i < 4; ++i) {
      at(in.c, lane * 4 + i) = static_cast<float>(draw()) + 0.5f;
    }
  }
  std::vector<float> out = in.c;
  launch(multiply<kKind, float>, {1, 32}, {}, in.a.data(), in.b.data(), out.data());
  for (int lane = 0; lane < 32; ++lane) {
    for (int i = 0; i < 4; ++i) {
      float sum = at(in.c, lane * 4 + i);
      for (int k = 0; k < 16; ++k) {
        sum +=
            static_cast<float>(at(a, row_c(lane, i) * 16 + k) * at(b, k * 8 + column_c(lane, i)));
      }
      ASSERT_EQ(at(out, lane * 4 + i), sum) << lane << ' ' << i;
    }
  }
}

TEST(MatrixProduct, OfHalvesHasTheLayoutOfThePtxIsa) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    check_halves<Kind::BF16>(seed);
    check_halves<Kind::F16>(seed);
  }
}

__global__ void multiply_in_part(int* out, unsigned lanes) {
  int c[4] = {};
  const std::uint32_t a[4] = {};
  if (threadIdx.x % 32 < lanes) {
    mma_s8_s8(c, a, 0, 0);
  }
  out[threadIdx.x] = c[0];
}

TEST(MatrixProduct, NeedsTheWholeWarp) {
  std::vector<int> out(40);
  launch(multiply_in_part, {1, 32}, {}, out.data(), 32u);
  EXPECT_THAT(kernel_error(multiply_in_part, {1, 32}, {}, out.data(), 31u), HasSubstr("mma at"));
  EXPECT_THAT(kernel_error(multiply_in_part, {1, 40}, {}, out.data(), 32u),
              HasSubstr("in a warp that has not 32 lanes"));
}

}  // namespace
}  // namespace emulated
}  // namespace octavo::cuda
