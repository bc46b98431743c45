// Fast attention in wide tiles has the bits of narrow ones, which attend_fast_test.cc holds to
// their bound.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "attend_case.h"
#include "device_under_test.h"
#include <gtest/gtest.h>

#include "tests/ref_cpu/numerics/samples.h"

namespace octavo::cuda_test {
namespace {

constexpr DType kDTypes[] = {DType::BF16, DType::F16, DType::E4M3};

AttendCase case_of(DType dtype, std::int64_t head_dim) {
  AttendCase made;
  made.seed = static_cast<std::uint64_t>(head_dim) + static_cast<std::uint64_t>(dtype);
  made.keys.dtype = dtype;
  made.keys.codec = dtype == DType::E4M3 ? KVCodec::E4M3 : KVCodec::None;
  made.values = made.keys;
  made.head_dim = head_dim;
  made.query_dtype = dtype == DType::F16 ? DType::F16 : DType::BF16;
  made.partials = false;  // Wide tiles do not keep them.
  return made;
}

CaseResult run_in(const AttendCase& self,
                  const CaseData& data,
                  FastTiles tiles,
                  std::uint64_t seed = 0) {
  return run_case(
      self, data,
      *device_under_test({.seed = seed, .fast = true, .fast_tiles = tiles, .tuned_only = true}));
}

void expect_the_bits_of_narrow_tiles(const AttendCase& self,
                                     const std::string& what,
                                     std::uint64_t seed = 0) {
  const CaseData data = make_data(self);
  EXPECT_EQ(
      difference(run_in(self, data, FastTiles::Wide, seed), run_in(self, data, FastTiles::Narrow)),
      "")
      << what;
}

// Tiles that are full, hardly begun and one of both; warps without rows.
TEST(AttendFastWide, EveryDTypeAndHeadDim) {
  for (const DType dtype : kDTypes) {
    for (const std::int64_t head_dim : {64, 128}) {
      AttendCase self = case_of(dtype, head_dim);
      self.lengths = {300, 17, 600};
      self.queries = {40, 17, 70};
      self.sinks = head_dim == 64;
      expect_the_bits_of_narrow_tiles(self,
                                      std::string(to_string(dtype)) + std::to_string(head_dim));
    }
  }
}

TEST(AttendFastWide, EveryGroup) {
  for (std::int64_t group = 1; group <= 16; ++group) {
    AttendCase self = case_of(kDTypes[group % 3], 64);
    self.group = group;
    self.kv_heads = group % 2 + 1;
    self.lengths = {290};
    self.queries = {35};
    expect_the_bits_of_narrow_tiles(self, "group " + std::to_string(group));
  }
}

// Queries end where chunks, spans of positions, products of sixteen and tiles end, and beside
// it.
TEST(AttendFastWide, LengthsAroundChunksAndTiles) {
  for (const std::int32_t length : {1, 15, 16, 17, 63, 64, 65, 127, 128, 129, 255, 256, 257, 513}) {
    AttendCase self = case_of(DType::BF16, 64);
    self.kv_heads = 1;
    self.group = 1;
    self.lengths = {length};
    self.queries = {length < 130 ? length : 130};
    expect_the_bits_of_narrow_tiles(self, "length " + std::to_string(length));
  }
}

// Windows narrower than a tile's rows lie apart, so that rows of a warp share no position; and the
// first chunk that a row sees is not the tile's.
TEST(AttendFastWide, WindowsAndRings) {
  for (const std::int64_t window : {1, 5, 37, 256, 300}) {
    AttendCase self = case_of(DType::E4M3, 64);
    self.kv_heads = 1;
    self.group = window == 5 ? 1 : 3;
    self.lengths = {700, 33};
    self.queries = {150, 33};
    self.window = window;
    expect_the_bits_of_narrow_tiles(self, "window " + std::to_string(window));
    self.paged = false;
    self.block_size = window + 160;
    expect_the_bits_of_narrow_tiles(self, "ring of window " + std::to_string(window));
  }
}

TEST(AttendFastWide, AllOfTheRows) {
  AttendCase self = case_of(DType::F16, 128);
  self.causal = false;
  self.lengths = {270, 20, 1};
  self.queries = {66, 3, 1};
  expect_the_bits_of_narrow_tiles(self, "not causal");
}

TEST(AttendFastWide, StaticScalesAndSharpSoftmaxes) {
  for (const DType dtype : kDTypes) {
    AttendCase self = case_of(dtype, 128);
    self.kv_heads = 1;
    self.group = 4;
    self.lengths = {800};
    self.queries = {33};
    self.magnitude = 20.0f;  // The largest score of the chunks so far changes often.
    self.keys.scale = self.values.scale =
        self.keys.codec == KVCodec::None ? KVScale::PerTokenHead : KVScale::Static;
    self.out_dtype = self.query_dtype;
    self.sinks = true;
    expect_the_bits_of_narrow_tiles(self, to_string(dtype).data());
  }
}

// More chunks than the combination of narrow tiles weighs at once.
TEST(AttendFastWide, ManyChunks) {
  AttendCase self = case_of(DType::BF16, 64);
  self.kv_heads = 1;
  self.group = 1;
  self.lengths = {34 * 256 + 5};
  self.queries = {9};
  self.magnitude = 5.0f;
  expect_the_bits_of_narrow_tiles(self, "34 chunks");
}

AttendCase drawn_case(numerics_test::Random& random) {
  const auto pick = [&random](std::int64_t n) { return random.below(n); };
  AttendCase made = case_of(kDTypes[pick(3)], pick(2) == 0 ? 64 : 128);
  made.seed = random.next();
  made.kv_heads = 1 + pick(2);
  made.group = 1 + pick(9);
  made.lengths.clear();
  made.queries.clear();
  for (std::int64_t left = 1 + pick(3); left > 0; --left) {
    const auto length = static_cast<std::int32_t>(1 + pick(pick(3) == 0 ? 700 : 90));
    made.lengths.push_back(length);
    made.queries.push_back(static_cast<std::int32_t>(1 + pick(std::min(length, 60))));
  }
  made.block_size = 1 + pick(40);
  made.causal = pick(4) != 0;
  made.window = pick(3) == 0 ? 1 + pick(400) : 0;
  made.sinks = pick(2) == 0;
  made.magnitude = pick(2) == 0 ? 1.0f : 15.0f;
  made.out_dtype = pick(2) == 0 ? made.query_dtype : DType::F32;
  if (made.keys.codec != KVCodec::None && pick(2) == 0) {
    made.keys.scale = made.values.scale = KVScale::Static;
  }
  return made;
}

TEST(AttendFastWide, ASampleOfEverything) {
  numerics_test::Random random(20261130);
  for (std::uint64_t i = 0; i < 60; ++i) {
    expect_the_bits_of_narrow_tiles(drawn_case(random), "case " + std::to_string(i), i % 3);
  }
}

// A whole prompt goes through wide tiles, its last token by itself through a narrow one.
TEST(AttendFastWide, APromptInPiecesHasTheBitsOfTheWholeOne) {
  AttendCase whole = case_of(DType::BF16, 64);
  whole.kv_heads = 8;
  whole.group = 4;
  whole.lengths = {600};
  whole.queries = {140};
  const CaseData data = make_data(whole);
  const CaseResult prompt = run_in(whole, data, FastTiles::Any);
  AttendCase last = whole;
  last.queries = {1};
  CaseData piece = data;
  const auto row_elements = static_cast<std::ptrdiff_t>(whole.q_heads() * whole.head_dim);
  piece.queries.assign(data.queries.end() - row_elements, data.queries.end());
  const CaseResult token = run_in(last, piece, FastTiles::Any);
  EXPECT_TRUE(std::equal(token.out.begin(), token.out.end(), prompt.out.end() - row_elements));
  EXPECT_TRUE(std::equal(token.lse.begin(), token.lse.end(), prompt.lse.end() - whole.q_heads()));
}

TEST(AttendFastWide, AQueryThatIsNotFiniteIsTheOnlyRowOfNaN) {
  for (const DType dtype : kDTypes) {
    AttendCase self = case_of(dtype, 64);
    self.kv_heads = 1;
    self.group = 1;
    self.lengths = {40};
    self.queries = {40};
    self.edit = [](const AttendCase&, CaseData& data) { data.queries[3 * 64 + 5] = HUGE_VALF; };
    const CaseData data = make_data(self);
    const CaseResult result = run_in(self, data, FastTiles::Wide);
    for (std::size_t row = 0; row < 40; ++row) {
      EXPECT_EQ(std::isnan(result.out[row * 64]), row == 3) << to_string(dtype) << ' ' << row;
    }
  }
}

TEST(AttendFastWide, AnyOrderOfThreads) {
  AttendCase self = case_of(DType::E4M3, 128);
  self.kv_heads = 1;
  self.group = 4;
  self.lengths = {520};
  self.queries = {40};
  const CaseData data = make_data(self);
  const CaseResult first = run_in(self, data, FastTiles::Wide);
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    EXPECT_EQ(difference(first, run_in(self, data, FastTiles::Wide, seed)), "") << seed;
  }
}

// What wide tiles do not take goes through narrow ones, and is not refused.
TEST(AttendFastWide, PartialResultsAndSoftCapsGoThroughNarrowTiles) {
  AttendCase self = case_of(DType::BF16, 64);
  self.lengths = {300};
  self.queries = {70};
  self.partials = true;
  expect_the_bits_of_narrow_tiles(self, "partial results");
  self.partials = false;
  self.soft_cap = 3.0f;
  expect_the_bits_of_narrow_tiles(self, "soft cap");
}

}  // namespace
}  // namespace octavo::cuda_test
