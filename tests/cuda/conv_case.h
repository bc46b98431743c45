// A call of the convolution: windows, inputs and weights drawn from a seed.
//
// Threads: one at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "tests/cuda/state_case.h"

namespace octavo::cuda_test {

inline constexpr std::int64_t kConvSlots = 7;

struct ConvShape {
  std::int64_t dim = 0;
  std::int64_t width = 0;
  std::vector<std::int64_t> lengths;
  bool silu = false;
  bool bias = false;
  bool in_place = false;
  std::int64_t pad = 0;    ///< Of token strides.
  std::int64_t shift = 0;  ///< Elements by which arrays are misaligned.
  float scale = 1.0f;      ///< Of the inputs.
};

struct ConvDTypes {
  DType x = DType::F32;
  DType out = DType::F32;
  DType state = DType::F32;
  DType weight = DType::F32;
};

struct ConvCase {
  ConvShape shape;
  Sequences sequences;
  std::int64_t x_stride;
  std::int64_t out_stride;
  std::int64_t slot_stride;
  Array x, weight, bias;
  StateResults initial;

  ConvCase(const ConvShape& s, const ConvDTypes& dtypes, Numbers numbers)
      : shape(s),
        sequences(s.lengths, kConvSlots, numbers),
        x_stride(s.dim + s.pad),
        out_stride(s.in_place ? x_stride : s.dim + 2 * s.pad),
        slot_stride(s.dim * s.width + s.pad),
        x(Array::random(dtypes.x, sequences.tokens() * x_stride, numbers, s.scale, s.shift)),
        weight(Array::random(dtypes.weight, s.dim * (s.width + 1), numbers, 1.0f, s.shift)),
        initial{
            .state = Array::random(dtypes.state, kConvSlots * slot_stride, numbers, 1.0f, s.shift),
            .out = s.in_place ? x : Array(dtypes.out, sequences.tokens() * out_stride, s.shift)} {
    if (s.bias) {
      bias = Array::random(dtypes.weight, s.dim, numbers, 1.0f, s.shift);
    }
    for (std::int64_t t = 0; t < sequences.tokens(); ++t) {
      x.poison(t * x_stride + s.dim, s.pad);
    }
    if (s.in_place) {
      initial.out = x;
    }
  }

  StateResults run(const std::shared_ptr<Device>& device) const {
    StateResults results = initial;
    Uploads uploads(device);
    void* const state = uploads.add(results.state);
    void* const out = uploads.add(results.out);
    device->conv_update(
        {.step = sequences.upload(uploads),
         .state = {.data = state, .dtype = results.state.dtype(), .slot_stride = slot_stride},
         .x = {.data = shape.in_place ? out : uploads.add(x),
               .dtype = x.dtype(),
               .token_stride = x_stride,
               .head_stride = 1},
         .out = {.data = out,
                 .dtype = results.out.dtype(),
                 .token_stride = out_stride,
                 .head_stride = 1},
         .weight = {.data = uploads.add(weight), .dtype = weight.dtype()},
         .bias = {.data = uploads.add(bias), .dtype = weight.dtype()},
         .dim = shape.dim,
         .width = shape.width,
         .silu = shape.silu});
    uploads.fetch(state, results.state);
    uploads.fetch(out, results.out);
    return results;
  }
};

}  // namespace octavo::cuda_test
