// append_varlen and group_query_attention_varlen: everything is checked before the first launch.
#include <cmath>
#include <string>

#include "octavo/device.h"
#include "octavo/error.h"
#include "octavo/kv_ops.h"
#include "ops/cache_rows.h"
#include "ops/op_check.h"

namespace octavo {
namespace {

constexpr double kLog2E = 1.4426950408889634;

AppendArg check_append(OpCheck& check,
                       const CacheRows& rows,
                       const KVStepArg& step,
                       const Tensor& key,
                       const Tensor& value) {
  if (rows.info->kind == KVLayerKind::CrossAttentionKV) {
    check.refuse(
        ErrorCode::FailedPrecondition, "key_cache",
        "belongs to a CrossAttentionKV row, which only `fill` writes; pass no key and value");
  }
  check.require_operand("key", key, {step.tokens, rows.kv_heads, rows.keys.head_dim});
  check.require_operand("value", value, {step.tokens, rows.kv_heads, rows.values.head_dim});
  return {.step = step,
          .keys = rows.keys,
          .values = rows.values,
          .key = step_operand(key),
          .value = step_operand(value),
          .kv_heads = rows.kv_heads};
}

// The score's factors; ref_cpu/NUMERICS.md says how they are used.
void check_scores(OpCheck& check, const GroupQueryAttentionArgs& args, AttendArg& arg) {
  const auto default_scale =
      static_cast<float>(1.0 / std::sqrt(static_cast<double>(arg.keys.head_dim)));
  const double scale = static_cast<double>(args.scale.value_or(default_scale));
  if (!std::isfinite(scale)) {
    check.refuse("scale", "is " + std::to_string(scale) + "; it must be finite");
  }
  const double cap = static_cast<double>(args.soft_cap);
  if (!(cap >= 0.0) || !std::isfinite(cap)) {
    check.refuse("soft_cap", "is " + std::to_string(cap) + "; it must be finite and >= 0");
  }
  const double factor = cap > 0.0 ? scale / cap : scale * kLog2E;
  arg.score_factor = static_cast<float>(factor);
  arg.cap_factor = static_cast<float>(cap * kLog2E);
  if (!std::isfinite(arg.score_factor) || !std::isfinite(arg.cap_factor)) {
    check.refuse(cap > 0.0 ? "soft_cap" : "scale", "leaves the range of a float");
  }
  if (args.sinks.defined()) {
    check.require_defined("sinks", args.sinks);
    check.require_dtype("sinks", args.sinks, {DType::F32});
    check.require_shape("sinks", args.sinks, {arg.q_heads});
    arg.sinks = static_cast<const float*>(args.sinks.address());
  }
}

float* check_extra(OpCheck& check,
                   const char* argument,
                   const Tensor& tensor,
                   std::initializer_list<std::int64_t> shape) {
  if (!tensor.defined()) {
    return nullptr;
  }
  check.require_defined(argument, tensor);
  check.require_dtype(argument, tensor, {DType::F32});
  check.require_shape(argument, tensor, shape);
  check.require_contiguous(argument, tensor);
  return static_cast<float*>(tensor.address());
}

void check_extras(OpCheck& check, const GroupQueryAttentionArgs& args, AttendArg& arg) {
  const std::int64_t tokens = arg.step.tokens;
  arg.lse = check_extra(check, "lse", args.lse, {tokens, arg.q_heads});
  arg.max_sum = check_extra(check, "max_sum", args.max_sum, {tokens, arg.q_heads, 2});
  if (args.partial_max_sum.defined() != args.partial_out.defined()) {
    check.refuse(args.partial_out.defined() ? "partial_max_sum" : "partial_out",
                 "is undefined; partial_max_sum and partial_out come together");
  }
  if (!args.partial_out.defined()) {
    return;
  }
  arg.partial_max_sum = check_extra(check, "partial_max_sum", args.partial_max_sum,
                                    {tokens, arg.q_heads, OpCheck::kAny, 2});
  arg.max_chunks = args.partial_max_sum.size(2);
  arg.partial_out = check_extra(check, "partial_out", args.partial_out,
                                {tokens, arg.q_heads, arg.max_chunks, arg.values.head_dim});
  const std::int64_t chunks =
      arg.step.max_kv_len / kAttentionChunk + (arg.step.max_kv_len % kAttentionChunk != 0 ? 1 : 0);
  if (arg.max_chunks < chunks) {
    check.refuse("partial_max_sum",
                 "has " + std::to_string(arg.max_chunks) + " chunks; lengths up to " +
                     std::to_string(arg.step.max_kv_len) + " take " + std::to_string(chunks));
  }
}

std::int64_t check_query(OpCheck& check, const Tensor& query, const CacheRows& rows) {
  check.require_operand("query", query, {OpCheck::kAny, OpCheck::kAny, rows.keys.head_dim});
  const std::int64_t q_heads = query.size(1);
  if (q_heads < 1 || q_heads % rows.kv_heads != 0) {
    check.refuse("query", "has " + std::to_string(q_heads) +
                              " heads; they must be a positive multiple of the row's " +
                              std::to_string(rows.kv_heads) + " KV heads");
  }
  return q_heads;
}

DType check_out_dtype(OpCheck& check, const GroupQueryAttentionArgs& args) {
  const DType query = args.query.dtype();
  const DType wanted = args.out_dtype.value_or(query);
  if (wanted != query && wanted != DType::F32) {
    check.refuse("out_dtype", "is " + std::string(to_string(wanted)) + "; it must be f32 or the " +
                                  "query's, " + std::string(to_string(query)));
  }
  if (args.out.defined() && args.out_dtype.has_value() && args.out.dtype() != wanted) {
    check.refuse("out_dtype", "is " + std::string(to_string(wanted)) + ", but out is " +
                                  std::string(to_string(args.out.dtype())));
  }
  return wanted;
}

}  // namespace

void append_varlen(const AppendArgs& args) {
  OpCheck check("append_varlen");
  const CacheRows rows = check_rows(check, args.key_cache, args.value_cache);
  check.require_defined("key", args.key);
  const std::int64_t tokens = args.key.rank() == 3 ? args.key.size(0) : 0;
  const KVStepArg step = check_step(check, rows, args.step, tokens);
  const AppendArg arg = check_append(check, rows, step, args.key, args.value);
  if (arg.step.tokens > 0) {
    check.device().append(arg);
  }
}

Tensor group_query_attention_varlen(const GroupQueryAttentionArgs& args) {
  OpCheck check("group_query_attention_varlen");
  const CacheRows rows = check_rows(check, args.key_cache, args.value_cache);
  const std::int64_t q_heads = check_query(check, args.query, rows);
  const std::int64_t tokens = args.query.size(0);
  const KVStepArg step = check_step(check, rows, args.step, tokens);

  AttendArg arg{.step = step,
                .keys = rows.keys,
                .values = rows.values,
                .query = step_operand(args.query),
                .kv_heads = rows.kv_heads,
                .q_heads = q_heads,
                .window = rows.info->window,
                .causal = rows.info->kind != KVLayerKind::CrossAttentionKV};
  check_scores(check, args, arg);
  check_extras(check, args, arg);
  if (args.key.defined() != args.value.defined()) {
    check.refuse(args.key.defined() ? "value" : "key",
                 "is undefined; key and value come together, or neither for a read-only call");
  }
  const bool appends = args.key.defined();
  const AppendArg append_arg =
      appends ? check_append(check, rows, step, args.key, args.value) : AppendArg{};
  Tensor out = check.result(args.out, args.query.dtype(), check_out_dtype(check, args),
                            {tokens, q_heads, rows.values.head_dim});
  arg.out = step_result(out);
  if (tokens > 0) {
    if (appends) {
      check.device().append(append_arg);
    }
    check.device().attend(arg);
  }
  return out;
}

}  // namespace octavo
