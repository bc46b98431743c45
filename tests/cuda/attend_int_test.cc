// Attention over int8 and int4 rows on integer tensor cores: the reference's bits, in every shape.
#include <cmath>
#include <limits>
#include <vector>

#include "attend_case.h"
#include "device_under_test.h"
#include "octavo/error.h"
#include <gtest/gtest.h>

namespace octavo::cuda_test {
namespace {

constexpr CaseRows kInt8Rows = {DType::Int8, KVCodec::Int8, KVScale::PerTokenHead};
constexpr CaseRows kInt4Rows = {DType::UInt8, KVCodec::Int4, KVScale::PerTokenHead};
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

void expect_same(const AttendCase& attend_case, const std::string& what, std::uint64_t seed = 0) {
  EXPECT_EQ(compare_case(attend_case, seed), "") << what;
}

AttendCase case_of(const CaseRows& keys, const CaseRows& values, std::int64_t head_dim) {
  AttendCase attend_case;
  attend_case.seed = static_cast<std::uint64_t>(head_dim);
  attend_case.keys = keys;
  attend_case.values = values;
  attend_case.head_dim = head_dim;
  return attend_case;
}

TEST(AttendInt, EveryCodecAndHeadDim) {
  for (const CaseRows& keys : {kInt8Rows, kInt4Rows}) {
    for (const CaseRows& values : {kInt8Rows, kInt4Rows}) {
      for (const std::int64_t head_dim : {64, 80, 96, 128, 192, 256}) {
        AttendCase attend_case = case_of(keys, values, head_dim);
        attend_case.lengths = {300, 17};
        attend_case.queries = {2, 1};
        expect_same(attend_case, "head_dim " + std::to_string(head_dim));
        // All there is to it: the compiler made each kernel by itself.
        attend_case.group = 2;
        attend_case.window = 270;
        attend_case.soft_cap = 5.0f;
        attend_case.sinks = true;
        expect_same(attend_case, "all of head_dim " + std::to_string(head_dim));
      }
    }
  }
}

TEST(AttendInt, EveryGroup) {
  for (std::int64_t group = 1; group <= 16; ++group) {
    AttendCase attend_case = case_of(group % 2 == 0 ? kInt8Rows : kInt4Rows, kInt8Rows, 64);
    attend_case.seed = static_cast<std::uint64_t>(group);
    attend_case.group = group;
    attend_case.lengths = {70, 3};
    attend_case.queries = {3, 1};
    expect_same(attend_case, "group " + std::to_string(group));
  }
}

TEST(AttendInt, LengthsAroundChunks) {
  for (const std::int32_t length : {1, 2, 31, 32, 33, 255, 256, 257, 511, 600}) {
    for (const CaseRows& rows : {kInt8Rows, kInt4Rows}) {
      AttendCase attend_case = case_of(rows, rows, 128);
      attend_case.lengths = {length};
      attend_case.queries = {1};
      attend_case.sinks = length % 2 == 0;
      expect_same(attend_case, "length " + std::to_string(length));
    }
  }
}

TEST(AttendInt, PrefillSeesNoLaterPositions) {
  AttendCase attend_case = case_of(kInt8Rows, kInt8Rows, 64);
  attend_case.group = 3;
  attend_case.lengths = {270, 40, 1};
  attend_case.queries = {30, 40, 1};
  expect_same(attend_case, "causal");
  attend_case.causal = false;
  expect_same(attend_case, "all of it");
  attend_case.query_dtype = DType::F16;
  attend_case.out_dtype = DType::F16;
  attend_case.partials = false;
  expect_same(attend_case, "f16");
}

TEST(AttendInt, Windows) {
  for (const std::int64_t window : {1, 7, 32, 100, 256, 300}) {
    AttendCase attend_case = case_of(kInt8Rows, kInt4Rows, 80);
    attend_case.window = window;
    attend_case.lengths = {600, 90};
    attend_case.queries = {3, 90};
    attend_case.kv_heads = 1;
    expect_same(attend_case, "window " + std::to_string(window));
  }
}

TEST(AttendInt, RingsAndBlocksOfAnySize) {
  for (const std::int64_t block_size : {1, 2, 8, 64, 512}) {
    AttendCase attend_case = case_of(kInt8Rows, kInt8Rows, 96);
    attend_case.block_size = block_size;
    attend_case.lengths = {301};
    expect_same(attend_case, "block_size " + std::to_string(block_size));
  }
  for (const std::int64_t capacity : {101, 128, 300}) {
    AttendCase attend_case = case_of(kInt4Rows, kInt4Rows, 80);
    attend_case.paged = false;
    attend_case.block_size = capacity;
    attend_case.window = 99;
    attend_case.lengths = {577, 20};
    attend_case.queries = {2, 2};
    expect_same(attend_case, "capacity " + std::to_string(capacity));
  }
}

TEST(AttendInt, SoftCapSinksAndStaticScales) {
  AttendCase attend_case = case_of(kInt8Rows, kInt8Rows, 64);
  attend_case.soft_cap = 3.0f;
  attend_case.sinks = true;
  attend_case.magnitude = 4.0f;
  attend_case.lengths = {290};
  expect_same(attend_case, "cap");
  attend_case.keys.scale = KVScale::Static;
  attend_case.query_dtype = DType::F32;
  expect_same(attend_case, "static keys");
  attend_case.values = {DType::UInt8, KVCodec::Int4, KVScale::Static};
  expect_same(attend_case, "static values");
}

TEST(AttendInt, AnyOrderOfThreads) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    AttendCase attend_case = case_of(seed % 2 == 0 ? kInt8Rows : kInt4Rows, kInt8Rows, 192);
    attend_case.group = 5;
    attend_case.kv_heads = 1;
    attend_case.lengths = {300};
    attend_case.queries = {2};
    expect_same(attend_case, "seed " + std::to_string(seed), seed);
  }
}

// More chunks than the combination takes at a time, and the largest scores behind those.
TEST(AttendInt, TheLargestScoreMayLieInTheLastOfManyChunks) {
  constexpr std::int32_t kFew = 128 * 256;
  AttendCase attend_case = case_of(kInt8Rows, kInt8Rows, 64);
  attend_case.kv_heads = 1;
  attend_case.lengths = {kFew + 20};
  attend_case.sinks = true;
  attend_case.edit = [&](const AttendCase& self, CaseData& data) {
    for (std::int64_t p = kFew; p < self.lengths[0]; ++p) {
      data.scales[0][static_cast<std::size_t>(self.place(data, 0, p, 0))] *= 16.0f;
    }
  };
  expect_same(attend_case, "many chunks");
}

// The largest sums there are: equal weights, all codes and queries at their largest. The int4 code
// -8, which is never written, is the largest of its kind.
TEST(AttendInt, LargestSumsDoNotOverflow) {
  for (const CaseRows& rows : {kInt8Rows, kInt4Rows}) {
    for (const int codes : {0x7F, 0x81, 0x80, 0x00, 0xFF}) {
      AttendCase attend_case = case_of(rows, rows, 256);
      attend_case.lengths = {512};
      attend_case.kv_heads = 1;
      attend_case.edit = [&](const AttendCase&, CaseData& data) {
        for (const int part : {0, 1}) {
          data.rows[part].assign(data.rows[part].size(), static_cast<std::uint8_t>(codes));
          for (float& scale : data.scales[part]) {
            scale = 0.5f;
          }
        }
        // Just below a power of two: q_i = 2^13 exactly, after rounding.
        for (std::size_t i = 0; i < data.queries.size(); ++i) {
          data.queries[i] = i < data.queries.size() / 2 ? 0x1.FFFFFEp+3f : -0x1.FFFFFEp+3f;
        }
      };
      attend_case.query_dtype = DType::F32;
      expect_same(attend_case, "codes " + std::to_string(codes));
    }
  }
}

TEST(AttendInt, QueriesOfAnySize) {
  const std::vector<float> specials = {0.0f,        -0.0f,    1e-45f,   -1e-38f,   0x1p-99f,
                                       0x1.8p-101f, 3e38f,    -3.4e38f, kInfinity, -kInfinity,
                                       kNaN,        0x1p+13f, 0x1p-13f};
  for (const float special : specials) {
    AttendCase attend_case = case_of(kInt8Rows, kInt4Rows, 64);
    attend_case.query_dtype = DType::F32;
    attend_case.group = 3;
    attend_case.kv_heads = 1;
    attend_case.lengths = {50};
    attend_case.edit = [&](const AttendCase&, CaseData& data) {
      for (std::size_t d = 0; d < 64; ++d) {
        data.queries[d] = special;  // All of head 0, one element of head 1, none of head 2.
      }
      data.queries[64 + 33] = special;
    };
    expect_same(attend_case, "query " + std::to_string(special));
    attend_case.soft_cap = 5.0f;
    expect_same(attend_case, "capped query " + std::to_string(special));
  }
}

TEST(AttendInt, ScalesOfAnySize) {
  for (const float special : {0.0f, 1e-45f, 1e-38f, 1e-30f, 1e30f, 3e38f, kInfinity, kNaN}) {
    for (const int part : {0, 1}) {
      for (const bool all : {false, true}) {
        AttendCase attend_case = case_of(kInt4Rows, kInt8Rows, 64);
        attend_case.kv_heads = 1;
        attend_case.lengths = {260};
        attend_case.queries = {3};  // Position 258 is seen by two of the three.
        attend_case.edit = [&](const AttendCase& self, CaseData& data) {
          for (std::int64_t p = 0; p < 260; ++p) {
            if (all || p == 258) {
              data.scales[part][static_cast<std::size_t>(self.place(data, 0, p, 0))] = special;
            }
          }
        };
        expect_same(attend_case, "scale " + std::to_string(special));
      }
    }
  }
}

}  // namespace
}  // namespace octavo::cuda_test
