// The operations over the rows of a cache: attention, convolution and recurrence, as free functions
// over tensors, one argument struct each.
//
// An operation checks everything it is given, once, raises before anything is written, and then
// calls the tensors' Device, which all of them must share. Optional tensors are left undefined.
// The index tensors are what KVCache::prepare_step returned. On a device whose memory the host can
// read their contents are checked as well (lengths, ids, block ids: O(cells of the step)); on any
// other they are trusted.
//
// The arithmetic of every operation is written down in ref_cpu/NUMERICS.md and is the same on
// every device, to the bit, unless a device was asked for its fast mode: a result depends on the
// sequence's own numbers and on nothing else, neither on the batch nor on where the blocks lie.
//
// Common errors: InvalidArgument for a wrong dtype, shape or value and for tensors of different
// devices; FailedPrecondition for a cache tensor without row information and for a row of another
// kind; Unimplemented where the device has no kernels. Tokens T, sequences B.
//
// Threads: calls on distinct caches are independent; those on one cache come from one thread.
#pragma once

#include <cstdint>
#include <optional>

#include "octavo/tensor.h"

namespace octavo {

/// Positions of one chunk of the attention's arithmetic, and so of the optional partial results:
/// chunk c covers the absolute positions [256 c, 256 (c + 1)).
inline constexpr std::int64_t kAttentionChunk = 256;

/// The largest head_dim and v_head_dim of the operations; both must be multiples of 8.
inline constexpr std::int64_t kMaxHeadDim = 1024;

/// Where a step's tokens belong: KVCache::StepIndices, member by member.
struct KVStepTensors {
  Tensor cu_seqlens_q;  ///< [B + 1] Int32: queries of sequence i are [q[i], q[i + 1]), none empty.
  /// [B] Int32 lengths, the step's own tokens included, or [B + 1] the cumulative ones.
  Tensor cu_seqlens_k;
  /// Paged rows: [B, cells] Int32, each sequence's row of the block table. Without paged rows: [B]
  /// Int32 slot ids.
  Tensor kvcache_start;
  /// [B] Int32, for continuous rows that stand beside paged ones; else undefined.
  Tensor slot_ids;
  /// The longest query and the longest length (>= 0; 0: unknown). What a device's launch is sized
  /// by; both must be true, and on a device that the host can read they are found out by
  /// themselves.
  std::int64_t max_query_len = 0;
  std::int64_t max_kv_len = 0;
};

struct AppendArgs {
  Tensor key;          ///< [T, kv_heads, head_dim] F32, F16 or BF16.
  Tensor value;        ///< [T, kv_heads, v_head_dim] F32, F16 or BF16.
  Tensor key_cache;    ///< KVCache::keys(layer), of an AttentionKV row.
  Tensor value_cache;  ///< KVCache::values(layer)
  KVStepTensors step;
};

/// Writes the step's keys and values into the cache at each sequence's last positions, converted to
/// the row's dtype or quantized by its codec. Sequences must not share a row that they write.
/// Raises besides InvalidArgument when a windowed continuous row cannot hold the window of every
/// query of the step at once (a step longer than KVCacheConfig::max_step_tokens).
void append_varlen(const AppendArgs& args);

struct GroupQueryAttentionArgs {
  Tensor query;        ///< [T, q_heads, head_dim] F32, F16 or BF16; q_heads = kv_heads * group.
  Tensor key;          ///< As in AppendArgs. Undefined together with `value`: read only, nothing is
  Tensor value;        ///< appended, the rows hold all tokens already.
  Tensor key_cache;    ///< KVCache::keys(layer)
  Tensor value_cache;  ///< KVCache::values(layer)
  KVStepTensors step;

  std::optional<float> scale = {};  ///< Of the logits, finite; unset: 1 / sqrt(head_dim).
  float soft_cap = 0.0f;  ///< > 0: logits become soft_cap * tanh(logit / soft_cap). 0: no cap.
  /// [q_heads] F32: a logit a head that takes part in the softmax and has no value.
  Tensor sinks;

  Tensor out;  ///< [T, q_heads, v_head_dim], F32 or the query's dtype. Undefined: a new tensor.
  std::optional<DType> out_dtype =
      {};  ///< Of a new tensor: F32 or the query's; unset: the query's.

  // Further results, written when defined; F32, contiguous.
  Tensor lse;  ///< [T, q_heads]: ln(sum of exp(logit)), the sink included; -inf if there is none.
  Tensor max_sum;  ///< [T, q_heads, 2]: (M, L) with lse = ln 2 * (M + log2 L).
  /// [T, q_heads, chunks, 2]: maximum and sum of every chunk, (-inf, 0) for one without a visible
  /// position; chunks >= ceil(longest length / kAttentionChunk). With `partial_out`, or neither.
  Tensor partial_max_sum;
  Tensor partial_out;  ///< [T, q_heads, chunks, v_head_dim]: the chunk's weighted sum of values.
};

/// Grouped-query attention over variable-length sequences: appends the step's keys and values (as
/// append_varlen) and attends over what the rows then hold. Query j of a sequence of length n with
/// q queries stands at position n - q + j and sees the positions up to its own, only the last
/// `window` of them in a row with a window. Over a CrossAttentionKV row every query sees all n
/// positions, and nothing may be appended.
/// Returns `out`, or the new tensor.
/// Raises besides InvalidArgument what append_varlen raises, and for head dims that are no multiple
/// of 8 or above kMaxHeadDim, for query heads that are no multiple of the row's KV heads, for a
/// scale that is not finite or a negative soft cap.
Tensor group_query_attention_varlen(const GroupQueryAttentionArgs& args);

struct CausalConvArgs {
  Tensor x;           ///< [T, dim] F32, F16 or BF16.
  Tensor weight;      ///< [dim, width + 1] F32, F16 or BF16; the last column is the newest input's.
  Tensor bias;        ///< [dim], or undefined.
  Tensor conv_state;  ///< KVCache::conv_state: [max_seqs, dim, width], oldest input first.
  Tensor cu_seqlens_q;  ///< [B + 1] Int32
  Tensor slot_ids;      ///< [B] Int32, distinct.
  bool silu = true;     ///< Whether SiLU follows.
  Tensor out;  ///< [T, dim], F32 or x's dtype; may be x. Undefined: a new one of x's dtype.
  std::int64_t max_query_len = 0;  ///< As in KVStepTensors.
};

/// The causal depthwise convolution of each sequence's window followed by its new tokens, for
/// decode and prefill alike; the state then holds the last `width` inputs. Returns `out`.
Tensor causal_conv_update(const CausalConvArgs& args);

struct GatedDeltaArgs {
  Tensor q;  ///< [T, qk_heads, k_dim] F32, F16 or BF16; qk_heads divides heads.
  Tensor k;  ///< [T, qk_heads, k_dim]
  Tensor v;  ///< [T, heads, v_dim]
  Tensor a;  ///< [T, heads]: the logarithm of the decay; with `a_log`, what it is computed from.
  Tensor b;  ///< [T, heads]: beta; with `b_sigmoid`, its logit.
  /// [heads], or undefined. Given: the logarithm of the decay is
  /// -exp(a_log) * softplus(a + dt_bias).
  Tensor a_log;
  Tensor dt_bias;                   ///< [heads], or undefined (0); only beside a_log.
  Tensor recurrent_state;           ///< KVCache::recurrent_state: [max_seqs, heads, k_dim, v_dim].
  Tensor cu_seqlens_q;              ///< [B + 1] Int32
  Tensor slot_ids;                  ///< [B] Int32, distinct.
  std::optional<float> scale = {};  ///< Of q, finite; unset: 1 / sqrt(k_dim).
  bool b_sigmoid = false;
  bool qk_l2_norm = false;  ///< q and k are divided by sqrt(sum of squares + l2_eps) first.
  float l2_eps = 1e-6f;     ///< Finite, >= 0.
  Tensor out;  ///< [T, heads, v_dim], F32 or v's dtype. Undefined: a new one of v's dtype.
  std::int64_t max_query_len = 0;
};

/// The gated delta rule (Gated DeltaNet), token by token over the slab, in place by slot:
///   S = exp(g) S;  S = S + k^T beta (v - k S);  out = scale q S
/// Returns `out`.
Tensor gated_delta_update(const GatedDeltaArgs& args);

struct SelectiveStateArgs {
  Tensor x;        ///< [T, heads, v_dim] F32, F16 or BF16.
  Tensor dt;       ///< [T, heads]
  Tensor a;        ///< [heads]: A itself, not its logarithm.
  Tensor b;        ///< [T, groups, k_dim]; groups divides heads.
  Tensor c;        ///< [T, groups, k_dim]
  Tensor d;        ///< [heads], or undefined (0).
  Tensor z;        ///< [T, heads, v_dim], or undefined: the output is multiplied by SiLU(z).
  Tensor dt_bias;  ///< [heads], or undefined (0).
  bool dt_softplus = false;
  Tensor recurrent_state;  ///< KVCache::recurrent_state: [max_seqs, heads, k_dim, v_dim].
  Tensor cu_seqlens_q;     ///< [B + 1] Int32
  Tensor slot_ids;         ///< [B] Int32, distinct.
  Tensor out;  ///< [T, heads, v_dim], F32 or x's dtype. Undefined: a new one of x's dtype.
  std::int64_t max_query_len = 0;
};

/// The selective state space update (Mamba-2 form), token by token over the slab, in place by slot;
/// k_dim is the state's dimension, v_dim the head's:
///   S[n, p] = exp(dt A) S[n, p] + dt x[p] B[n];  out[p] = (sum over n of C[n] S[n, p]) + D x[p]
/// Returns `out`.
Tensor selective_state_update(const SelectiveStateArgs& args);

}  // namespace octavo
