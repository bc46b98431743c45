// The selective state update's kernels against the reference: the same results and states, bit for
// bit.

#include <cstdint>
#include <string>
#include <vector>

#include "tests/cuda/device_under_test.h"
#include "tests/cuda/selective_state_case.h"

namespace octavo::cuda_test {
namespace {

void check(const SelectiveShape& shape, const SelectiveDTypes& dtypes, std::uint64_t seed) {
  SCOPED_TRACE("k_dim " + std::to_string(shape.k_dim) + " v_dim " + std::to_string(shape.v_dim) +
               " seed " + std::to_string(seed));
  expect_the_references_bits(SelectiveCase(shape, dtypes, Numbers(seed)), seed);
}

SelectiveDTypes drawn(Numbers& numbers) {
  return {numbers.dtype(), numbers.dtype(), numbers.dtype(), numbers.dtype(),
          numbers.dtype(), numbers.dtype(), numbers.dtype()};
}

constexpr DType kDTypes[] = {DType::F32, DType::F16, DType::BF16};

TEST(CudaSelectiveState, EveryShapeHasTheReferencesBits) {
  std::uint64_t seed = 0;
  for (const std::int64_t k_dim : {8, 16, 64, 96, 128, 256, 1, 12, 33, 72, 1000}) {
    for (const std::int64_t v_dim : {1, 7, 64, 128, 256}) {
      if (k_dim * v_dim <= 64 * 1024) {
        ++seed;
        check({.k_dim = k_dim, .v_dim = v_dim, .lengths = {2}},
              {.state = kDTypes[seed % 3]}, seed);
      }
    }
  }
  check({.k_dim = 512, .v_dim = 36}, {}, ++seed);
  check({.k_dim = 2048, .v_dim = 9, .lengths = {2}}, {}, ++seed);
  check({.k_dim = 2043, .v_dim = 3, .lengths = {2}}, {}, ++seed);
}

TEST(CudaSelectiveState, AllDTypesMix) {
  Numbers numbers(1);
  std::uint64_t seed = 100;
  for (const DType state : kDTypes) {
    for (const DType out : kDTypes) {
      for (const std::int64_t v_dim : {32, 33}) {
        SelectiveDTypes dtypes = drawn(numbers);
        dtypes.state = state;
        dtypes.out = out;
        check({.k_dim = 32, .v_dim = v_dim, .lengths = {1, 3}}, dtypes, ++seed);
      }
    }
  }
}

TEST(CudaSelectiveState, AllOptionsMix) {
  for (std::uint64_t options = 0; options < 32; ++options) {
    check({.k_dim = 32,
           .v_dim = 20,
           .groups = 2,
           .heads_a_group = 2,
           .lengths = {2},
           .d = options % 2 != 0,
           .z = options / 2 % 2 != 0,
           .dt_bias = options / 4 % 2 != 0,
           .dt_softplus = options / 8 % 2 != 0,
           .pad = options < 16 ? 0 : 4},
          {}, 200 + options);
  }
}

TEST(CudaSelectiveState, PromptsKeepTheStateAsItWouldBeStored) {
  Numbers numbers(2);
  std::uint64_t seed = 300;
  for (const DType state : kDTypes) {
    for (const std::int64_t k_dim : {64, 40}) {
      SelectiveDTypes dtypes = drawn(numbers);
      dtypes.state = state;
      dtypes.out = DType::F32;
      check({.k_dim = k_dim, .v_dim = 32, .heads_a_group = 2, .lengths = {16, 0, 35, 1}}, dtypes,
            ++seed);
    }
  }
  check({.k_dim = 1024, .v_dim = 4, .lengths = {9}}, {.b = DType::BF16}, ++seed);
}

TEST(CudaSelectiveState, ManySequencesTakeWiderTiles) {
  check({.k_dim = 16, .v_dim = 256, .heads_a_group = 120, .lengths = {1, 1, 1, 1}}, {}, 360);
  check({.k_dim = 128, .v_dim = 72, .groups = 130, .lengths = {1, 0, 1, 1, 1}}, {}, 361);
  check({.k_dim = 17, .v_dim = 33, .heads_a_group = 130, .lengths = {1, 1, 1}}, {}, 362);
}

TEST(CudaSelectiveState, StridesAndMisalignedArraysDoNotMatter) {
  Numbers numbers(3);
  std::uint64_t seed = 400;
  for (const std::int64_t pad : {0, 1, 4}) {
    for (const std::int64_t shift : {0, 1, 2, 4}) {
      check({.k_dim = 32,
             .v_dim = 16,
             .groups = 2,
             .lengths = {1, 2},
             .pad = pad,
             .shift = shift},
            drawn(numbers), ++seed);
    }
  }
}

TEST(CudaSelectiveState, ExtremeStepsAreTheReferences) {
  for (const float scale : {100.0f, 1e6f, 1e38f, 1e-30f, 0.0f}) {
    for (const DType state : kDTypes) {
      for (const std::int64_t k_dim : {32, 20}) {
        check({.k_dim = k_dim, .v_dim = 8, .lengths = {5}, .scale = scale}, {.state = state}, 500);
        check({.k_dim = k_dim, .v_dim = 8, .lengths = {5}, .dt_softplus = false, .scale = scale},
              {.state = state}, 501);
      }
    }
  }
}

TEST(CudaSelectiveState, APromptInPiecesGivesTheBitsOfTheWholeOne) {
  for (const DType state : kDTypes) {
    const SelectiveShape shape{.k_dim = 64, .v_dim = 32, .lengths = {50}};
    const SelectiveCase whole(shape, {.state = state}, Numbers(600));
    expect_the_same_in_pieces(whole, 20, Numbers(601));
  }
}

TEST(CudaSelectiveState, RefusesRowsBeyondItsLimitByName) {
  SelectiveStateUpdateArg arg;
  arg.k_dim = 2049;
  EXPECT_EQ(message_of([&] { device_under_test()->selective_state_update(arg); }),
            "selective_state_update: recurrent_state has a k_dim of 2049; the kernels take at "
            "most 2048");
}

}  // namespace
}  // namespace octavo::cuda_test
