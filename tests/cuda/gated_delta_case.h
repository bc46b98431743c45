// A call of the gated delta rule: states, operands and gates drawn from a seed.
//
// Threads: one at a time.
#pragma once

#include <cmath>
#include <cstdint>
#include <memory>
#include <vector>

#include "tests/cuda/state_case.h"

namespace octavo::cuda_test {

inline constexpr std::int64_t kDeltaSlots = 5;

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
        sequences(s.lengths, kDeltaSlots, numbers),
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
                    dtypes.state, kDeltaSlots * slot_stride, numbers, 1.0f, s.shift),
                .out = Array(dtypes.out, sequences.tokens() * out_stride, s.shift)} {
    if (s.a_log) {
      a_log = Array::random(dtypes.v, heads, numbers);
    }
    if (s.a_log && s.dt_bias) {
      dt_bias = Array::random(dtypes.k, heads, numbers);
    }
    for (std::int64_t slot = 0; slot < kDeltaSlots; ++slot) {
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

}  // namespace octavo::cuda_test
