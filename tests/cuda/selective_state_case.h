// A call of the selective state update: states, operands and weights drawn from a seed.
//
// Threads: one at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "tests/cuda/state_case.h"

namespace octavo::cuda_test {

inline constexpr std::int64_t kSelectiveSlots = 5;

struct SelectiveShape {
  std::int64_t k_dim = 0;
  std::int64_t v_dim = 0;
  std::int64_t groups = 1;
  std::int64_t heads_a_group = 1;
  std::vector<std::int64_t> lengths = {1};
  bool d = true;
  bool z = true;
  bool dt_bias = true;
  bool dt_softplus = true;
  std::int64_t pad = 0;    ///< Of strides.
  std::int64_t shift = 0;  ///< Elements by which arrays are misaligned.
  float scale = 1.0f;      ///< Of x and dt.
};

struct SelectiveDTypes {
  DType x = DType::F32;
  DType b = DType::F32;
  DType c = DType::F32;
  DType z = DType::F32;
  DType weight = DType::F32;
  DType state = DType::F32;
  DType out = DType::F32;
};

struct SelectiveCase {
  SelectiveShape shape;
  Sequences sequences;
  std::int64_t heads;
  std::int64_t x_head, x_stride, b_head, b_stride, c_head, c_stride, z_head, z_stride;
  std::int64_t out_head, out_stride, slot_stride;
  Array x, dt, b, c, z, a, d, dt_bias;
  StateResults initial;

  SelectiveCase(const SelectiveShape& s, const SelectiveDTypes& dtypes, Numbers numbers)
      : shape(s),
        sequences(s.lengths, kSelectiveSlots, numbers),
        heads(s.groups * s.heads_a_group),
        x_head(s.v_dim + s.pad),
        x_stride(heads * x_head + s.pad),
        b_head(s.k_dim + s.pad),
        b_stride(s.groups * b_head + 2 * s.pad),
        c_head(s.k_dim + 3 * s.pad),
        c_stride(s.groups * c_head + s.pad),
        z_head(s.v_dim + 2 * s.pad),
        z_stride(heads * z_head + s.pad),
        out_head(s.v_dim + 3 * s.pad),
        out_stride(heads * out_head),
        slot_stride(heads * s.k_dim * s.v_dim + s.pad),
        x(Array::random(dtypes.x, sequences.tokens() * x_stride, numbers, s.scale, s.shift)),
        dt(Array::random(dtypes.x, sequences.tokens() * heads, numbers, s.scale)),
        b(Array::random(dtypes.b, sequences.tokens() * b_stride, numbers, 1.0f, s.shift)),
        c(Array::random(dtypes.c, sequences.tokens() * c_stride, numbers, 1.0f, s.shift)),
        a(Array::random(dtypes.weight, heads, numbers, 2.0f)),
        initial{.state = Array::random(
                    dtypes.state, kSelectiveSlots * slot_stride, numbers, 1.0f, s.shift),
                .out = Array(dtypes.out, sequences.tokens() * out_stride, s.shift)} {
    if (s.z) {
      z = Array::random(dtypes.z, sequences.tokens() * z_stride, numbers, 3.0f, s.shift);
    }
    if (s.d) {
      d = Array::random(dtypes.weight, heads, numbers);
    }
    if (s.dt_bias) {
      dt_bias = Array::random(dtypes.weight, heads, numbers);
    }
    for (std::int64_t slot = 0; slot < kSelectiveSlots; ++slot) {
      initial.state.poison((slot + 1) * slot_stride - s.pad, s.pad);
    }
    for (std::int64_t t = 0; t < sequences.tokens(); ++t) {
      x.poison((t + 1) * x_stride - 2 * s.pad, 2 * s.pad);
      b.poison((t + 1) * b_stride - 3 * s.pad, 3 * s.pad);
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
    const auto weight = [&](const Array& array) {
      return WeightArg{uploads.add(array), array.dtype()};
    };
    device->selective_state_update(
        {.step = sequences.upload(uploads),
         .state = {.data = state, .dtype = results.state.dtype(), .slot_stride = slot_stride},
         .x = operand(x, x_stride, x_head),
         .dt = operand(dt, heads, 1),
         .b = operand(b, b_stride, b_head),
         .c = operand(c, c_stride, c_head),
         .z = operand(z, z_stride, z_head),
         .out = {.data = out,
                 .dtype = results.out.dtype(),
                 .token_stride = out_stride,
                 .head_stride = out_head},
         .a = weight(a),
         .d = weight(d),
         .dt_bias = weight(dt_bias),
         .groups = shape.groups,
         .heads = heads,
         .k_dim = shape.k_dim,
         .v_dim = shape.v_dim,
         .dt_softplus = shape.dt_softplus});
    uploads.fetch(state, results.state);
    uploads.fetch(out, results.out);
    return results;
  }
};

}  // namespace octavo::cuda_test
