// The convolution's kernels against the reference: the same results and windows, bit for bit.

#include <cstdint>
#include <string>
#include <vector>

#include "tests/cuda/conv_case.h"
#include "tests/cuda/device_under_test.h"

namespace octavo::cuda_test {
namespace {

void check(const ConvShape& shape, const ConvDTypes& dtypes, std::uint64_t seed) {
  SCOPED_TRACE("dim " + std::to_string(shape.dim) + " width " + std::to_string(shape.width) +
               " seed " + std::to_string(seed));
  expect_the_references_bits(ConvCase(shape, dtypes, Numbers(seed)), seed);
}

ConvDTypes drawn(Numbers& numbers) {
  return {numbers.dtype(), numbers.dtype(), numbers.dtype(), numbers.dtype()};
}

TEST(CudaConv, DecodeStepsOfEveryWidthHaveTheReferencesBits) {
  Numbers numbers(1);
  std::uint64_t seed = 0;
  for (const std::int64_t width : {0, 1, 2, 3, 4, 5, 7, 17, 256}) {
    for (const std::int64_t dim : {1, 40, 130, 516}) {
      ++seed;
      check({.dim = dim,
             .width = width,
             .lengths = {1, 1, 0, 1},
             .silu = seed % 4 == 1,
             .bias = seed % 3 == 0},
            drawn(numbers), seed);
      // All of it in binary32, in which the last bit of a sigmoid shows.
      check({.dim = dim, .width = width, .lengths = {2, 4, 3}, .silu = true, .bias = true}, {},
            ++seed);
    }
  }
}

TEST(CudaConv, AllDTypesMix) {
  constexpr DType kDTypes[] = {DType::F32, DType::F16, DType::BF16};
  Numbers numbers(4);
  std::uint64_t seed = 100;
  for (const DType x : kDTypes) {
    for (const DType out : kDTypes) {
      for (const DType state : kDTypes) {
        const DType weight = numbers.dtype();
        check({.dim = 8, .width = 3, .lengths = {1, 3}, .silu = true, .bias = true},
              {x, out, state, weight}, ++seed);
        check({.dim = 7, .width = 3, .lengths = {2, 1}, .bias = true}, {x, out, state, weight},
              ++seed);
      }
    }
  }
}

TEST(CudaConv, PromptsHaveTheReferencesBitsWhereverStretchesEnd) {
  Numbers numbers(2);
  std::uint64_t seed = 200;
  for (const std::int64_t width : {1, 2, 3, 4, 9}) {
    for (const std::int64_t dim : {36, 33}) {
      for (const bool in_place : {false, true}) {
        check({.dim = dim,
               .width = width,
               .lengths = {31, 0, 32, 33, 2, 70},
               .silu = true,
               .in_place = in_place},
              in_place ? ConvDTypes{} : drawn(numbers), ++seed);
      }
    }
  }
}

TEST(CudaConv, LongPromptsAreCutIntoSegmentsThatDoNotShow) {
  std::uint64_t seed = 300;
  for (const std::int64_t length : {1024, 1025, 1027, 1028, 2049, 2600}) {
    for (const bool in_place : {false, true}) {
      ++seed;
      check({.dim = 4, .width = seed % 4 < 2 ? 4 : 3, .lengths = {length, 5}, .in_place = in_place},
            {.x = DType::F32,
             .out = DType::F32,
             .state = in_place ? DType::BF16 : DType::F16,
             .weight = DType::F32},
            seed);
    }
  }
}

TEST(CudaConv, ResultsMayOverwriteInputsOfAnyDType) {
  std::uint64_t seed = 400;
  for (const DType dtype : {DType::F32, DType::F16, DType::BF16}) {
    for (const std::int64_t width : {1, 3, 4, 6}) {
      check({.dim = 12, .width = width, .lengths = {1, 40, 3}, .silu = true, .in_place = true},
            {dtype, dtype, DType::F16, DType::BF16}, ++seed);
      check({.dim = 12, .width = width, .lengths = {1, 4, 2}, .in_place = true, .pad = 3},
            {dtype, dtype, DType::F32, dtype}, ++seed);
    }
  }
}

TEST(CudaConv, StridesAndMisalignedArraysDoNotMatter) {
  Numbers numbers(3);
  std::uint64_t seed = 500;
  for (const std::int64_t pad : {0, 1, 4}) {
    for (const std::int64_t shift : {0, 1, 2, 4}) {
      for (const std::int64_t longest : {2, 37}) {
        check({.dim = 16,
               .width = 3,
               .lengths = {1, longest},
               .bias = true,
               .pad = pad,
               .shift = shift},
              drawn(numbers), ++seed);
      }
    }
  }
}

TEST(CudaConv, InputsThatOverflowAWindowOrASigmoidAreTheReferences) {
  for (const float scale : {1e4f, 1e6f, 3e38f, 1e-7f, 1e-40f}) {
    check({.dim = 8, .width = 3, .lengths = {6, 1}, .silu = true, .scale = scale},
          {DType::F32, DType::F32, DType::F16, DType::F32}, 600);
    check({.dim = 8, .width = 3, .lengths = {6, 1}, .silu = true, .scale = scale},
          {DType::F32, DType::F16, DType::BF16, DType::BF16}, 601);
  }
}

TEST(CudaConv, APromptInPiecesGivesTheBitsOfTheWholeOne) {
  for (const std::int64_t width : {1, 3, 4, 20}) {
    const ConvShape shape{.dim = 20, .width = width, .lengths = {90}};
    const ConvDTypes dtypes{DType::F32, DType::F32, DType::BF16, DType::F32};
    const ConvCase whole(shape, dtypes, Numbers(700));
    expect_the_same_in_pieces(whole, 40, Numbers(701));
  }
}

TEST(CudaConv, RefusesWindowsBeyondItsLimitByName) {
  ConvUpdateArg arg;
  arg.width = 257;
  EXPECT_EQ(message_of([&] { device_under_test()->conv_update(arg); }),
            "causal_conv_update: conv_state has a width of 257; the kernels take at most 256");
}

}  // namespace
}  // namespace octavo::cuda_test
