// causal_conv_update, gated_delta_update and selective_state_update: everything is checked before
// the launch.
#include <cmath>
#include <span>
#include <string>

#include "octavo/device.h"
#include "octavo/error.h"
#include "octavo/kv_ops.h"
#include "ops/cache_rows.h"
#include "ops/op_check.h"

namespace octavo {
namespace {

// The sequences of a step; slot ids must lie in [0, slots).
StateStepArg check_step(OpCheck& check,
                        const Tensor& cu_seqlens_q,
                        const Tensor& slot_ids,
                        std::int64_t tokens,
                        std::int64_t max_query_len,
                        std::int64_t slots) {
  check.require_index("cu_seqlens_q", cu_seqlens_q, OpCheck::kAny);
  StateStepArg step;
  step.batch = cu_seqlens_q.size(0) - 1;
  step.tokens = tokens;
  if (step.batch < 0) {
    check.refuse("cu_seqlens_q",
                 "is empty; it must have one element more than there are sequences");
  }
  check.require_index("slot_ids", slot_ids, step.batch);
  step.max_query_len = max_query_len > 0 ? max_query_len : tokens;
  if (check.device().host_accessible()) {
    const std::span lens(cu_seqlens_q.data<std::int32_t>(),
                         static_cast<std::size_t>(step.batch) + 1);
    step.max_query_len = check_cumulative(check, "cu_seqlens_q", lens, tokens);
    const std::span ids(slot_ids.data<std::int32_t>(), static_cast<std::size_t>(step.batch));
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if (ids[i] < 0 || ids[i] >= slots) {
        check.refuse("slot_ids", "of sequence " + std::to_string(i) + " names slot " +
                                     std::to_string(ids[i]) + "; it must be in [0, " +
                                     std::to_string(slots) + ")");
      }
    }
  }
  step.cu_seqlens_q = static_cast<const std::int32_t*>(cu_seqlens_q.address());
  step.slot_ids = static_cast<const std::int32_t*>(slot_ids.address());
  return step;
}

StateArg check_state(OpCheck& check,
                     const char* argument,
                     const Tensor& state,
                     std::initializer_list<std::int64_t> shape) {
  check.require_operand(argument, state, shape);
  check.require_contiguous(argument, state);
  return {.data = state.address(), .dtype = state.dtype(), .slot_stride = state.strides()[0]};
}

WeightArg check_weight(OpCheck& check,
                       const char* argument,
                       const Tensor& tensor,
                       std::initializer_list<std::int64_t> shape) {
  check.require_operand(argument, tensor, shape);
  check.require_contiguous(argument, tensor);
  return weight(tensor);
}

WeightArg check_optional_weight(OpCheck& check,
                                const char* argument,
                                const Tensor& tensor,
                                std::initializer_list<std::int64_t> shape) {
  return tensor.defined() ? check_weight(check, argument, tensor, shape) : WeightArg{};
}

// [T, dim] has no heads: its elements lie 1 apart.
StepOperandArg flat_operand(const Tensor& tensor) {
  return {.data = tensor.address(),
          .dtype = tensor.dtype(),
          .token_stride = tensor.strides()[0],
          .head_stride = 1};
}

void check_divides(const OpCheck& check,
                   const char* argument,
                   std::int64_t part,
                   std::int64_t heads) {
  if (part < 1 || heads % part != 0) {
    check.refuse(argument, "has " + std::to_string(part) + " heads; they must divide the state's " +
                               std::to_string(heads));
  }
}

void check_rank(const OpCheck& check,
                const char* argument,
                const Tensor& tensor,
                std::size_t rank) {
  if (tensor.rank() != rank) {
    check.refuse(argument, "has shape " + to_string(tensor.shape()) + "; it must have rank " +
                               std::to_string(rank));
  }
}

float check_finite(const OpCheck& check, const char* argument, float value, bool negative_too) {
  if (!std::isfinite(value) || (!negative_too && value < 0.0f)) {
    check.refuse(argument, "is " + std::to_string(value) + "; it must be finite" +
                               (negative_too ? "" : " and >= 0"));
  }
  return value;
}

}  // namespace

Tensor causal_conv_update(const CausalConvArgs& args) {
  OpCheck check("causal_conv_update");
  check.require_defined("conv_state", args.conv_state);
  check_rank(check, "conv_state", args.conv_state, 3);
  const std::int64_t dim = args.conv_state.size(1);
  const std::int64_t width = args.conv_state.size(2);
  check.require_operand("x", args.x, {OpCheck::kAny, dim});
  const std::int64_t tokens = args.x.size(0);
  ConvUpdateArg arg{
      .step = check_step(check, args.cu_seqlens_q, args.slot_ids, tokens, args.max_query_len,
                         args.conv_state.size(0)),
      .state = check_state(check, "conv_state", args.conv_state, {OpCheck::kAny, dim, width}),
      .x = flat_operand(args.x),
      .weight = check_weight(check, "weight", args.weight, {dim, width + 1}),
      .bias = check_optional_weight(check, "bias", args.bias, {dim}),
      .dim = dim,
      .width = width,
      .silu = args.silu};
  Tensor out = check.result(args.out, args.x.dtype(), args.x.dtype(), {tokens, dim});
  arg.out = step_result(out);
  arg.out.head_stride = 1;
  if (tokens > 0) {
    check.device().conv_update(arg);
  }
  return out;
}

Tensor gated_delta_update(const GatedDeltaArgs& args) {
  OpCheck check("gated_delta_update");
  check.require_defined("recurrent_state", args.recurrent_state);
  check_rank(check, "recurrent_state", args.recurrent_state, 4);
  const std::int64_t heads = args.recurrent_state.size(1);
  const std::int64_t k_dim = args.recurrent_state.size(2);
  const std::int64_t v_dim = args.recurrent_state.size(3);
  check.require_operand("v", args.v, {OpCheck::kAny, heads, v_dim});
  const std::int64_t tokens = args.v.size(0);
  check.require_operand("q", args.q, {tokens, OpCheck::kAny, k_dim});
  const std::int64_t qk_heads = args.q.size(1);
  check_divides(check, "q", qk_heads, heads);
  check.require_operand("k", args.k, {tokens, qk_heads, k_dim});
  check.require_operand("a", args.a, {tokens, heads});
  check.require_operand("b", args.b, {tokens, heads});
  if (args.dt_bias.defined() && !args.a_log.defined()) {
    check.refuse("dt_bias", "is given without a_log, which it belongs to");
  }
  const auto default_scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(k_dim)));
  GatedDeltaUpdateArg arg{
      .step = check_step(check, args.cu_seqlens_q, args.slot_ids, tokens, args.max_query_len,
                         args.recurrent_state.size(0)),
      .state = check_state(check, "recurrent_state", args.recurrent_state,
                           {OpCheck::kAny, heads, k_dim, v_dim}),
      .q = step_operand(args.q),
      .k = step_operand(args.k),
      .v = step_operand(args.v),
      .a = step_operand(args.a),
      .b = step_operand(args.b),
      .a_log = check_optional_weight(check, "a_log", args.a_log, {heads}),
      .dt_bias = check_optional_weight(check, "dt_bias", args.dt_bias, {heads}),
      .qk_heads = qk_heads,
      .heads = heads,
      .k_dim = k_dim,
      .v_dim = v_dim,
      .scale = check_finite(check, "scale", args.scale.value_or(default_scale), true),
      .b_sigmoid = args.b_sigmoid,
      .qk_l2_norm = args.qk_l2_norm,
      .l2_eps = check_finite(check, "l2_eps", args.l2_eps, false)};
  Tensor out = check.result(args.out, args.v.dtype(), args.v.dtype(), {tokens, heads, v_dim});
  arg.out = step_result(out);
  if (tokens > 0) {
    check.device().gated_delta_update(arg);
  }
  return out;
}

Tensor selective_state_update(const SelectiveStateArgs& args) {
  OpCheck check("selective_state_update");
  check.require_defined("recurrent_state", args.recurrent_state);
  check_rank(check, "recurrent_state", args.recurrent_state, 4);
  const std::int64_t heads = args.recurrent_state.size(1);
  const std::int64_t k_dim = args.recurrent_state.size(2);
  const std::int64_t v_dim = args.recurrent_state.size(3);
  check.require_operand("x", args.x, {OpCheck::kAny, heads, v_dim});
  const std::int64_t tokens = args.x.size(0);
  check.require_operand("dt", args.dt, {tokens, heads});
  check.require_operand("b", args.b, {tokens, OpCheck::kAny, k_dim});
  const std::int64_t groups = args.b.size(1);
  check_divides(check, "b", groups, heads);
  check.require_operand("c", args.c, {tokens, groups, k_dim});
  if (args.z.defined()) {
    check.require_operand("z", args.z, {tokens, heads, v_dim});
  }
  SelectiveStateUpdateArg arg{
      .step = check_step(check, args.cu_seqlens_q, args.slot_ids, tokens, args.max_query_len,
                         args.recurrent_state.size(0)),
      .state = check_state(check, "recurrent_state", args.recurrent_state,
                           {OpCheck::kAny, heads, k_dim, v_dim}),
      .x = step_operand(args.x),
      .dt = step_operand(args.dt),
      .b = step_operand(args.b),
      .c = step_operand(args.c),
      .z = step_operand(args.z),
      .a = check_weight(check, "a", args.a, {heads}),
      .d = check_optional_weight(check, "d", args.d, {heads}),
      .dt_bias = check_optional_weight(check, "dt_bias", args.dt_bias, {heads}),
      .groups = groups,
      .heads = heads,
      .k_dim = k_dim,
      .v_dim = v_dim,
      .dt_softplus = args.dt_softplus};
  Tensor out = check.result(args.out, args.x.dtype(), args.x.dtype(), {tokens, heads, v_dim});
  arg.out = step_result(out);
  if (tokens > 0) {
    check.device().selective_state_update(arg);
  }
  return out;
}

}  // namespace octavo
