// The selective state space update, Mamba-2 form: one pass over a block of the state a token.

#include <algorithm>
#include <cstdint>

#include "dot_tree.h"
#include "exact_math.h"
#include "recurrent_lanes.h"
#include "rows.h"
#include "simd.h"
#include "state_ops.h"

namespace octavo::ref_cpu {
namespace {

/// What one token brings to one head.
struct SelectiveToken {
  float b[kMaxStateKDim];
  float c[kMaxStateKDim];
  float dt;
  float decay;
};

OCTAVO_LANES void load_token(const SelectiveStateUpdateArg& arg,
                             std::int64_t token,
                             std::int64_t head,
                             SelectiveToken& input) noexcept {
  const std::int64_t group = head / (arg.heads / arg.groups);
  operand_row(arg.b, row_element(arg.b, token, group), 0, arg.k_dim, input.b);
  operand_row(arg.c, row_element(arg.c, token, group), 0, arg.k_dim, input.c);
  const float dt = operand_scalar(arg.dt, token, head) + weight_scalar(arg.dt_bias, head);
  input.dt = arg.dt_softplus ? softplus_spec(dt) : dt;
  input.decay = exp_spec(input.dt * weight_scalar(arg.a, head));
}

/// S = decay S + B^T (dt x), stored; returns C S, read before S is rounded to its dtype. `first` is
/// the block's element in the state, `n` its columns.
OCTAVO_LANES void write_and_read(const SelectiveStateUpdateArg& arg,
                                 const SelectiveToken& input,
                                 std::int64_t first,
                                 std::int64_t n,
                                 const float (&step)[kStateLanes],
                                 float (&result)[kStateLanes]) noexcept {
  LaneTree<kStateLanes> tree;
  for (std::int64_t begin = 0; begin < arg.k_dim; begin += kDotUnit) {
    const std::int64_t end = std::min(begin + kDotUnit, arg.k_dim);
    float unit[kStateLanes];
    for (std::int64_t i = begin; i < end; ++i) {
      float row[kStateLanes];
      load_lanes(arg.state.dtype, arg.state.data, first + i * arg.v_dim, n, row);
      for (int lane = 0; lane < kStateLanes; ++lane) {
        row[lane] = fma_rn(input.b[i], step[lane], row[lane] * input.decay);
        unit[lane] =
            i == begin ? row[lane] * input.c[i] : fma_rn(row[lane], input.c[i], unit[lane]);
      }
      store_lanes(arg.state.dtype, row, n, arg.state.data, first + i * arg.v_dim);
    }
    tree.push(unit);
  }
  tree.finish(result);
}

OCTAVO_LANES void update_head(const SelectiveStateUpdateArg& arg,
                              std::int64_t token,
                              std::int64_t head,
                              std::int64_t head_element,
                              const SelectiveToken& input) noexcept {
  for (std::int64_t begin = 0; begin < arg.v_dim; begin += kStateLanes) {
    const std::int64_t n = std::min<std::int64_t>(kStateLanes, arg.v_dim - begin);
    float x[kStateLanes];
    load_lanes(arg.x.dtype, arg.x.data, row_element(arg.x, token, head) + begin, n, x);
    float step[kStateLanes];
    for (int lane = 0; lane < kStateLanes; ++lane) {
      step[lane] = input.dt * x[lane];
    }
    float result[kStateLanes];
    write_and_read(arg, input, head_element + begin, n, step, result);
    if (arg.d.data != nullptr) {
      const float skip = weight_scalar(arg.d, head);
      for (int lane = 0; lane < kStateLanes; ++lane) {
        result[lane] = fma_rn(skip, x[lane], result[lane]);
      }
    }
    if (arg.z.data != nullptr) {
      float z[kStateLanes];
      load_lanes(arg.z.dtype, arg.z.data, row_element(arg.z, token, head) + begin, n, z);
      for (int lane = 0; lane < kStateLanes; ++lane) {
        result[lane] *= silu_spec(z[lane]);
      }
    }
    store_lanes(arg.out.dtype, result, n, arg.out.data,
                token * arg.out.token_stride + head * arg.out.head_stride + begin);
  }
}

OCTAVO_LANES void update_lanes(const SelectiveStateUpdateArg& arg,
                               std::int64_t sequence,
                               PartRange heads) noexcept {
  const std::int64_t first_token = arg.step.cu_seqlens_q[sequence];
  const std::int64_t last_token = arg.step.cu_seqlens_q[sequence + 1];
  const std::int64_t slot_element = arg.step.slot_ids[sequence] * arg.state.slot_stride;
  SelectiveToken input;
  for (std::int64_t head = heads.begin; head < heads.end; ++head) {
    const std::int64_t head_element = slot_element + head * arg.k_dim * arg.v_dim;
    for (std::int64_t token = first_token; token < last_token; ++token) {
      load_token(arg, token, head, input);
      update_head(arg, token, head, head_element, input);
    }
  }
}

}  // namespace

OCTAVO_DISPATCH(void,
                selective_state_update,
                (const SelectiveStateUpdateArg& arg,
                 std::int64_t sequence,
                 PartRange heads) noexcept,
                update_lanes,
                (arg, sequence, heads))

}  // namespace octavo::ref_cpu
