// Products and loads of matrices, against what the PTX ISA says of their fragments.
#include <bit>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "tests/cuda/simulated_gpu/machine/kernel_text.h"
#include "tests/cuda/simulated_gpu/machine/small_floats.h"

namespace octavo::simulated_gpu {
namespace {

constexpr int kRows = 16;
constexpr int kColumns = 8;

// Element i of lane's fragments, as the tables of the ISA have it for m16n8k32 and m16n8k16.
struct Place {
  int row;
  int column;
};
Place place_in_a(int lane, int i, int per_register) {
  const int half = i / (2 * per_register);
  const bool is_lower = i / per_register % 2 == 1;
  return {lane / 4 + (is_lower ? 8 : 0),
          lane % 4 * per_register + i % per_register + half * 4 * per_register};
}
Place place_in_b(int lane, int i, int per_register) {
  return {lane % 4 * per_register + i % per_register + (i >= per_register ? 4 * per_register : 0),
          lane / 4};
}
Place place_in_c(int lane, int i) {
  return {lane / 4 + (i < 2 ? 0 : 8), lane % 4 * 2 + i % 2};
}

// Of each lane: registers of a (4), b (2), c (4), then room for d (4).
constexpr int kPerLane = 14;

std::string product_text(const std::string& opcode) {
  std::string body = "mul.wide.u32 %rd3, %r1, 56; add.s64 %rd3, %rd1, %rd3;\n";
  for (int i = 0; i < 10; ++i) {
    body +=
        "ld.global.u32 %r" + std::to_string(10 + i) + ", [%rd3+" + std::to_string(4 * i) + "];\n";
  }
  body += opcode +
          " {%r30,%r31,%r32,%r33}, {%r10,%r11,%r12,%r13}, {%r14,%r15}, {%r16,%r17,%r18,%r19};\n";
  for (int i = 0; i < 4; ++i) {
    body += "st.global.u32 [%rd3+" + std::to_string(40 + 4 * i) + "], %r" + std::to_string(30 + i) +
            ";\n";
  }
  return kernel_text(body);
}

// a(row, k), b(k, column), c(row, column) into fragments.
template <typename A, typename B, typename C>
Words fragments(int per_register, A a, B b, C c) {
  const int bits = 32 / per_register;
  Words words(32 * kPerLane);
  for (int lane = 0; lane < 32; ++lane) {
    std::uint32_t* const own = &words[static_cast<std::size_t>(lane * kPerLane)];
    for (int i = 0; i < 4 * per_register; ++i) {
      const Place at = place_in_a(lane, i, per_register);
      own[i / per_register] |= a(at.row, at.column) << (i % per_register * bits);
    }
    for (int i = 0; i < 2 * per_register; ++i) {
      const Place at = place_in_b(lane, i, per_register);
      own[4 + i / per_register] |= b(at.row, at.column) << (i % per_register * bits);
    }
    for (int i = 0; i < 4; ++i) {
      const Place at = place_in_c(lane, i);
      own[6 + i] = c(at.row, at.column);
    }
  }
  return words;
}

std::uint32_t result_at(const Words& words, int lane, int i) {
  return words[static_cast<std::size_t>(lane * kPerLane + 10 + i)];
}

void expect_product_of_bytes(bool is_a_signed, unsigned seed) {
  std::mt19937 random(seed);
  std::uint32_t a[kRows][32];
  std::uint32_t b[32][kColumns];
  for (int k = 0; k < 32; ++k) {
    for (auto& row : a) {
      row[k] = random() & 0xFFu;
    }
    for (std::uint32_t& x : b[k]) {
      x = random() & 0xFFu;
    }
  }
  const Words words = run_text(
      product_text(std::string("mma.sync.aligned.m16n8k32.row.col.s32.") +
                   (is_a_signed ? "s8" : "u8") + ".s8.s32"),
      fragments(
          4, [&](int row, int k) { return a[row][k]; },
          [&](int k, int column) { return b[k][column]; },
          [](int row, int column) { return static_cast<std::uint32_t>(row * 100 - column); }));
  for (int lane = 0; lane < 32; ++lane) {
    for (int i = 0; i < 4; ++i) {
      const Place at = place_in_c(lane, i);
      int sum = at.row * 100 - at.column;
      for (int k = 0; k < 32; ++k) {
        const int factor =
            is_a_signed ? static_cast<std::int8_t>(a[at.row][k]) : static_cast<int>(a[at.row][k]);
        sum += factor * static_cast<std::int8_t>(b[k][at.column]);
      }
      ASSERT_EQ(static_cast<int>(result_at(words, lane, i)), sum) << lane << " " << i;
    }
  }
}

TEST(Matrices, ProductsOfBytesAreExact) {
  for (unsigned seed = 0; seed < 5; ++seed) {
    expect_product_of_bytes(true, seed);
    expect_product_of_bytes(false, seed);
  }
}

// Small integers, whose sums are exact however they are added up.
void expect_product_of_halves(const char* type, const SmallFloat& format) {
  const auto a = [](int row, int k) { return static_cast<float>((row * 7 + k * 3) % 11 - 5); };
  const auto b = [](int k, int column) { return static_cast<float>((k * 5 + column) % 13 - 6); };
  const auto c = [](int row, int column) { return static_cast<float>(row - 3 * column); };
  const Words words = run_text(
      product_text(std::string("mma.sync.aligned.m16n8k16.row.col.f32.") + type + "." + type +
                   ".f32"),
      fragments(
          2, [&](int row, int k) { return encode(format, a(row, k)); },
          [&](int k, int column) { return encode(format, b(k, column)); },
          [&](int row, int column) { return std::bit_cast<std::uint32_t>(c(row, column)); }));
  for (int lane = 0; lane < 32; ++lane) {
    for (int i = 0; i < 4; ++i) {
      const Place at = place_in_c(lane, i);
      float sum = c(at.row, at.column);
      for (int k = 0; k < 16; ++k) {
        sum += a(at.row, k) * b(k, at.column);
      }
      ASSERT_EQ(std::bit_cast<float>(result_at(words, lane, i)), sum) << lane << " " << i;
    }
  }
}

TEST(Matrices, ProductsOfHalves) {
  expect_product_of_halves("f16", kF16);
  expect_product_of_halves("bf16", kBF16);
}

TEST(Matrices, LoadsTransposed) {
  // Four matrices of 8 x 8 halves, rows of 16 bytes: half h of row r of matrix m is 64m + 8r + h.
  // Matrix m is named by lanes 8m to 8m + 7, here each the row that many further on.
  std::string body =
      "mov.u32 %r2, room; shl.b32 %r3, %r1, 4; add.s32 %r4, %r2, %r3;\n"
      "mul.wide.u32 %rd3, %r1, 16; add.s64 %rd3, %rd1, %rd3;\n"
      "ld.global.v4.u32 {%r10, %r11, %r12, %r13}, [%rd3];\n"
      "st.shared.v4.u32 [%r4], {%r10, %r11, %r12, %r13}; bar.warp.sync -1;\n"
      "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%r20, %r21, %r22, %r23}, [%r4];\n"
      "ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%r24, %r25}, [%r4];\n"
      "mul.wide.u32 %rd4, %r1, 32; add.s64 %rd4, %rd1, %rd4;\n"
      "st.global.v4.u32 [%rd4], {%r20, %r21, %r22, %r23};\n"
      "st.global.v2.u32 [%rd4+16], {%r24, %r25};";
  Words words(32 * 8);
  for (std::uint32_t i = 0; i < 128; ++i) {
    words[i] = (2 * i + 1) << 16 | 2 * i;
  }
  words = run_text(kernel_text(body, ".shared .align 16 .b8 room[512];\n"), words);
  for (std::uint32_t lane = 0; lane < 32; ++lane) {
    for (std::uint32_t m = 0; m < 4; ++m) {
      const std::uint32_t first = 64 * m + 8 * (lane % 4 * 2) + lane / 4;
      const std::uint32_t expected = (first + 8) << 16 | first;
      EXPECT_EQ(words[lane * 8 + m], expected) << lane << " " << m;
      if (m < 2) {
        EXPECT_EQ(words[lane * 8 + 4 + m], expected) << lane << " " << m;
      }
    }
  }
}

}  // namespace
}  // namespace octavo::simulated_gpu
