// The gated delta rule's kernels against the reference: the same results and states, bit for bit.

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/cuda/device_under_test.h"
#include "tests/cuda/state_case.h"

namespace octavo::cuda_test {
namespace {

constexpr std::int64_t kSlots = 5;

struct DeltaShape {
  std::int64_t k_dim = 0;
  std::int64_t v_dim = 0;
  std::int64_t qk_heads = 1;
  std::int64_t group = 1;
  std::vector<std::int64_t> lengths = {1};
  bool a_log = true;
  bool dt_bias = true;
  bool b_sigmoid = true;
  bool l2_norm = true;
  std::int64_t pad = 0;    ///< Of strides.
  std::int64_t shift = 0;  ///< Elements by which arrays are misaligned.
  float scale = 1.0f;      ///< Of values and gates.
};

struct DeltaDTypes {
  DType q = DType::F32;
  DType k = DType::F32;
  DType v = DType::F32;
  DType gates = DType::F32;
  DType state = DType::F32;
  DType out = DType::F32;
};

struct DeltaCase {
  DeltaShape shape;
  Sequences sequences;
  std::int64_t heads;
  std::int64_t q_head, q_stride, k_head, k_stride, v_head, v_stride, out_head, out_stride;
  std::int64_t slot_stride;
  Array q, k, v, a, b, a_log, dt_bias;
  StateResults initial;

  DeltaCase(const DeltaShape& s, const DeltaDTypes& dtypes, Numbers numbers)
      : shape(s),
        sequences(s.lengths, kSlots, numbers),
        heads(s.qk_heads * s.group),
        q_head(s.k_dim + s.pad),
        q_stride(s.qk_heads * q_head + s.pad),
        k_head(s.k_dim + 2 * s.pad),
        k_stride(s.qk_heads * k_head + 3 * s.pad),
        v_head(s.v_dim + s.pad),
        v_stride(heads * v_head + s.pad),
        out_head(s.v_dim + 3 * s.pad),
        out_stride(heads * out_head + s.pad),
        slot_stride(heads * s.k_dim * s.v_dim + s.pad),
        q(Array::random(dtypes.q, sequences.tokens() * q_stride, numbers, 1.0f, s.shift)),
        k(Array::random(dtypes.k,
                        sequences.tokens() * k_stride,
                        numbers,
                        s.l2_norm ? 2.0f : 1.7f / std::sqrt(static_cast<float>(s.k_dim)),
                        s.shift)),
        v(Array::random(dtypes.v, sequences.tokens() * v_stride, numbers, s.scale, s.shift)),
        a(Array::random(dtypes.gates, sequences.tokens() * heads, numbers, s.scale)),
        b(Array::random(dtypes.gates, sequences.tokens() * heads, numbers)),
        initial{.state = Array::random(
                    dtypes.state, kSlots * slot_stride, numbers, 1.0f, s.shift),
                .out = Array(dtypes.out, sequences.tokens() * out_stride, s.shift)} {
    if (s.a_log) {
      a_log = Array::random(dtypes.v, heads, numbers);
    }
    if (s.a_log && s.dt_bias) {
      dt_bias = Array::random(dtypes.k, heads, numbers);
    }
    for (std::int64_t slot = 0; slot < kSlots; ++slot) {
      initial.state.poison((slot + 1) * slot_stride - s.pad, s.pad);
    }
    for (std::int64_t t = 0; t < sequences.tokens(); ++t) {
      q.poison((t + 1) * q_stride - 2 * s.pad, 2 * s.pad);
      v.poison((t + 1) * v_stride - 2 * s.pad, 2 * s.pad);
    }
  }

  StateResults run(const std::shared_ptr<Device>& device) const {
    StateResults results = initial;
    Uploads uploads(device);
    void* const state = uploads.add(results.state);
    void* const out = uploads.add(results.out);
    const auto operand = [&](const Array& array, std::int64_t token, std::int64_t head) {
      return StepOperandArg{uploads.add(array), array.dtype(), token, head};
    };
    device->gated_delta_update(
        {.step = sequences.upload(uploads),
         .state = {.data = state, .dtype = results.state.dtype(), .slot_stride = slot_stride},
         .q = operand(q, q_stride, q_head),
         .k = operand(k, k_stride, k_head),
         .v = operand(v, v_stride, v_head),
         .a = operand(a, heads, 1),
         .b = operand(b, heads, 1),
         .out = {.data = out,
                 .dtype = results.out.dtype(),
                 .token_stride = out_stride,
                 .head_stride = out_head},
         .a_log = {.data = uploads.add(a_log), .dtype = a_log.dtype()},
         .dt_bias = {.data = uploads.add(dt_bias), .dtype = dt_bias.dtype()},
         .qk_heads = shape.qk_heads,
         .heads = heads,
         .k_dim = shape.k_dim,
         .v_dim = shape.v_dim,
         .scale = 1.0f / std::sqrt(static_cast<float>(shape.k_dim)),
         .b_sigmoid = shape.b_sigmoid,
         .qk_l2_norm = shape.l2_norm,
         .l2_eps = 0.25f});
    uploads.fetch(state, results.state);
    uploads.fetch(out, results.out);
    return results;
  }
};

void check(const DeltaShape& shape, const DeltaDTypes& dtypes, std::uint64_t seed) {
  SCOPED_TRACE("k_dim " + std::to_string(shape.k_dim) + " v_dim " + std::to_string(shape.v_dim) +
               " seed " + std::to_string(seed));
  expect_the_references_bits(DeltaCase(shape, dtypes, Numbers(seed)), seed);
}

DeltaDTypes drawn(Numbers& numbers) {
  return {numbers.dtype(), numbers.dtype(), numbers.dtype(),
          numbers.dtype(), numbers.dtype(), numbers.dtype()};
}

constexpr DType kDTypes[] = {DType::F32, DType::F16, DType::BF16};

// The last k_dims have short units, odd numbers of units and odd numbers of parts.
TEST(CudaGatedDelta, EveryShapeHasTheReferencesBits) {
  std::uint64_t seed = 0;
  for (const std::int64_t k_dim : {8, 64, 96, 128, 192, 256, 1, 12, 20, 24, 33, 72, 1000}) {
    for (const std::int64_t v_dim : {1, 7, 64, 128, 256}) {
      if (k_dim * v_dim <= 64 * 1024) {
        check({.k_dim = k_dim, .v_dim = v_dim, .lengths = {2}},
              {.state = kDTypes[seed % 3]}, ++seed);
      }
    }
  }
  check({.k_dim = 512, .v_dim = 36}, {}, ++seed);
  check({.k_dim = 496, .v_dim = 32}, {}, ++seed);
  check({.k_dim = 2048, .v_dim = 9, .lengths = {2}}, {}, ++seed);
  check({.k_dim = 2043, .v_dim = 3, .lengths = {2}, .l2_norm = false}, {}, ++seed);
}

TEST(CudaGatedDelta, AllDTypesMix) {
  Numbers numbers(1);
  std::uint64_t seed = 100;
  for (const DType state : kDTypes) {
    for (const DType out : kDTypes) {
      for (const std::int64_t v_dim : {32, 33}) {
        DeltaDTypes dtypes = drawn(numbers);
        dtypes.state = state;
        dtypes.out = out;
        check({.k_dim = 32, .v_dim = v_dim, .lengths = {1, 3}}, dtypes, ++seed);
      }
    }
  }
}

TEST(CudaGatedDelta, AllOptionsMix) {
  for (std::uint64_t options = 0; options < 24; ++options) {
    const bool a_log = options % 3 != 0;
    check({.k_dim = 48,
           .v_dim = 20,
           .qk_heads = 2,
           .group = 2,
           .lengths = {2},
           .a_log = a_log,
           .dt_bias = options % 3 == 2,
           .b_sigmoid = options / 3 % 2 != 0,
           .l2_norm = options / 6 % 2 != 0,
           .pad = options < 12 ? 0 : 4},
          {}, 200 + options);
  }
}

TEST(CudaGatedDelta, PromptsKeepTheStateAsItWouldBeStored) {
  Numbers numbers(2);
  std::uint64_t seed = 300;
  for (const DType state : kDTypes) {
    for (const std::int64_t k_dim : {64, 40}) {
      DeltaDTypes dtypes = drawn(numbers);
      dtypes.state = state;
      dtypes.out = DType::F32;
      check({.k_dim = k_dim, .v_dim = 32, .group = 2, .lengths = {16, 0, 35, 1}}, dtypes, ++seed);
    }
  }
}

TEST(CudaGatedDelta, LongRowsArePreparedInFewerTokensAtATime) {
  check({.k_dim = 1024, .v_dim = 4, .lengths = {9}}, {.q = DType::BF16}, 350);
  check({.k_dim = 512, .v_dim = 4, .lengths = {19}}, {.k = DType::F16}, 351);
}

TEST(CudaGatedDelta, ManySequencesTakeWiderTiles) {
  // Enough heads for tiles of every width.
  check({.k_dim = 16, .v_dim = 256, .qk_heads = 60, .group = 2, .lengths = {1, 1, 1, 1}}, {}, 360);
  check({.k_dim = 128, .v_dim = 72, .qk_heads = 130, .lengths = {1, 0, 1, 1, 1}}, {}, 361);
  check({.k_dim = 17, .v_dim = 33, .qk_heads = 130, .lengths = {1, 1, 1}}, {}, 362);
}

TEST(CudaGatedDelta, StridesAndMisalignedArraysDoNotMatter) {
  Numbers numbers(3);
  std::uint64_t seed = 400;
  for (const std::int64_t pad : {0, 1, 4}) {
    for (const std::int64_t shift : {0, 1, 2, 4}) {
      check({.k_dim = 32,
             .v_dim = 16,
             .qk_heads = 2,
             .lengths = {1, 2},
             .pad = pad,
             .shift = shift},
            drawn(numbers), ++seed);
    }
  }
}

TEST(CudaGatedDelta, ExtremeValuesAndGatesAreTheReferences) {
  for (const float scale : {100.0f, 1e6f, 1e38f, 1e-30f, 0.0f}) {
    for (const DType state : kDTypes) {
      for (const std::int64_t k_dim : {32, 20}) {
        check({.k_dim = k_dim, .v_dim = 8, .lengths = {5}, .a_log = false, .scale = scale},
              {.state = state}, 500);
        check({.k_dim = k_dim, .v_dim = 8, .lengths = {5}, .scale = scale}, {.state = state}, 501);
      }
    }
  }
}

TEST(CudaGatedDelta, APromptInPiecesGivesTheBitsOfTheWholeOne) {
  for (const DType state : kDTypes) {
    const DeltaShape shape{.k_dim = 64, .v_dim = 32, .lengths = {50}};
    const DeltaCase whole(shape, {.state = state}, Numbers(600));
    expect_the_same_in_pieces(whole, 20, Numbers(601));
  }
}

TEST(CudaGatedDelta, RefusesRowsBeyondItsLimitByName) {
  GatedDeltaUpdateArg arg;
  arg.k_dim = 2049;
  EXPECT_EQ(message_of([&] { device_under_test()->gated_delta_update(arg); }),
            "gated_delta_update: recurrent_state has a k_dim of 2049; the kernels take at most "
            "2048");
}

}  // namespace
}  // namespace octavo::cuda_test
