// The gated delta rule. Two passes over a block of the state a token: the first decays it and asks
// what it holds under the key, the second writes the correction and reads with the query.

#include <algorithm>
#include <cmath>
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
struct DeltaToken {
  float q[kMaxStateKDim];
  float k[kMaxStateKDim];
  float decay;
  float beta;
};

/// factor / sqrt(sum of squares + eps)
OCTAVO_LANES float normaliser(const float* x, std::int64_t n, float eps, float factor) noexcept {
  return factor / std::sqrt(dot_spec(x, x, n) + eps);
}

OCTAVO_LANES void load_token(const GatedDeltaUpdateArg& arg,
                             std::int64_t token,
                             std::int64_t head,
                             DeltaToken& input) noexcept {
  const std::int64_t qk_head = head / (arg.heads / arg.qk_heads);
  operand_row(arg.q, row_element(arg.q, token, qk_head), 0, arg.k_dim, input.q);
  operand_row(arg.k, row_element(arg.k, token, qk_head), 0, arg.k_dim, input.k);
  float q_factor = arg.scale;
  if (arg.qk_l2_norm) {
    q_factor = normaliser(input.q, arg.k_dim, arg.l2_eps, arg.scale);
    const float k_factor = normaliser(input.k, arg.k_dim, arg.l2_eps, 1.0f);
    for (std::int64_t i = 0; i < arg.k_dim; ++i) {
      input.k[i] *= k_factor;
    }
  }
  for (std::int64_t i = 0; i < arg.k_dim; ++i) {
    input.q[i] *= q_factor;
  }
  float gate = operand_scalar(arg.a, token, head);
  if (arg.a_log.data != nullptr) {
    const float rate = exp_spec(weight_scalar(arg.a_log, head));
    gate = -(rate * softplus_spec(gate + weight_scalar(arg.dt_bias, head)));
  }
  input.decay = exp_spec(gate);
  const float b = operand_scalar(arg.b, token, head);
  input.beta = arg.b_sigmoid ? sigmoid_spec(b) : b;
}

/// Columns of one head's state: `n` from element `first` on, rows arg.v_dim apart.
struct StateColumns {
  std::int64_t first;
  std::int64_t n;
};

/// S *= decay, in binary32 and not yet stored; returns k S.
OCTAVO_LANES void recall(const GatedDeltaUpdateArg& arg,
                         const DeltaToken& input,
                         StateColumns columns,
                         float (&held)[kStateLanes]) noexcept {
  LaneTree<kStateLanes> tree;
  for (std::int64_t begin = 0; begin < arg.k_dim; begin += kDotUnit) {
    const std::int64_t end = std::min(begin + kDotUnit, arg.k_dim);
    float unit[kStateLanes];
    for (std::int64_t i = begin; i < end; ++i) {
      float row[kStateLanes];
      load_lanes(arg.state.dtype, arg.state.data, columns.first + i * arg.v_dim, columns.n, row);
      for (int lane = 0; lane < kStateLanes; ++lane) {
        const float decayed = row[lane] * input.decay;
        unit[lane] = i == begin ? decayed * input.k[i] : fma_rn(decayed, input.k[i], unit[lane]);
      }
    }
    tree.push(unit);
  }
  tree.finish(held);
}

/// S = decay S + k^T delta, stored; returns q S, read before S is rounded to its dtype.
OCTAVO_LANES void write_and_read(const GatedDeltaUpdateArg& arg,
                                 const DeltaToken& input,
                                 StateColumns columns,
                                 const float (&delta)[kStateLanes],
                                 float (&result)[kStateLanes]) noexcept {
  LaneTree<kStateLanes> tree;
  for (std::int64_t begin = 0; begin < arg.k_dim; begin += kDotUnit) {
    const std::int64_t end = std::min(begin + kDotUnit, arg.k_dim);
    float unit[kStateLanes];
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t element = columns.first + i * arg.v_dim;
      float row[kStateLanes];
      load_lanes(arg.state.dtype, arg.state.data, element, columns.n, row);
      for (int lane = 0; lane < kStateLanes; ++lane) {
        row[lane] = fma_rn(input.k[i], delta[lane], row[lane] * input.decay);
        unit[lane] =
            i == begin ? row[lane] * input.q[i] : fma_rn(row[lane], input.q[i], unit[lane]);
      }
      store_lanes(arg.state.dtype, row, columns.n, arg.state.data, element);
    }
    tree.push(unit);
  }
  tree.finish(result);
}

OCTAVO_LANES void update_head(const GatedDeltaUpdateArg& arg,
                              std::int64_t token,
                              std::int64_t head,
                              std::int64_t head_element,
                              const DeltaToken& input) noexcept {
  for (std::int64_t begin = 0; begin < arg.v_dim; begin += kStateLanes) {
    const std::int64_t n = std::min<std::int64_t>(kStateLanes, arg.v_dim - begin);
    const StateColumns columns{head_element + begin, n};
    float delta[kStateLanes];
    load_lanes(arg.v.dtype, arg.v.data, row_element(arg.v, token, head) + begin, n, delta);
    float held[kStateLanes];
    recall(arg, input, columns, held);
    for (int lane = 0; lane < kStateLanes; ++lane) {
      delta[lane] = (delta[lane] - held[lane]) * input.beta;
    }
    float result[kStateLanes];
    write_and_read(arg, input, columns, delta, result);
    store_lanes(arg.out.dtype, result, n, arg.out.data,
                token * arg.out.token_stride + head * arg.out.head_stride + begin);
  }
}

OCTAVO_LANES void update_lanes(const GatedDeltaUpdateArg& arg,
                               std::int64_t sequence,
                               PartRange heads) noexcept {
  const std::int64_t first_token = arg.step.cu_seqlens_q[sequence];
  const std::int64_t last_token = arg.step.cu_seqlens_q[sequence + 1];
  const std::int64_t slot_element = arg.step.slot_ids[sequence] * arg.state.slot_stride;
  DeltaToken input;
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
                gated_delta_update,
                (const GatedDeltaUpdateArg& arg, std::int64_t sequence, PartRange heads) noexcept,
                update_lanes,
                (arg, sequence, heads))

}  // namespace octavo::ref_cpu
