// The launch arguments of the operations that a device performs: raw device pointers, element
// types, sizes and strides, nothing that owns. They are the parameters of a CUDA kernel as they
// stand, and what the free functions of kv_ops.h and KVCache fill in after checking everything; a
// device trusts them.
//
// Words: B sequences take part in a step, T is the sum of their query lengths. A *block* holds
// `block_size` positions of every KV head; a continuous row is a table of one block a slot, whose
// id is the slot's and whose size is the row's capacity. So one address serves both layouts:
// position p of sequence i lies in row p mod block_size of block
//
//     block_table[i * table_stride + p / block_size]              (paged)
//     block_table[i * table_stride]                               (continuous, table_columns == 1)
//
// which is `(p / block_size) mod table_columns` for the column in either case.
//
// Strides count elements where they are named `..._stride`, bytes where `..._stride_bytes`; the
// last dimension is always contiguous. All sizes and strides are 64 bits. Pointers named "host"
// point into host memory and are read before the call returns; every other pointer is the device's.
//
// Plain data, no invariants of their own; may be copied between threads.
#pragma once

#include <cstdint>
#include <type_traits>

#include "octavo/dtype.h"
#include "octavo/kv_config.h"

namespace octavo {

struct BlockCopy;

/// Keys or values of one cache row.
struct KVRowsArg {
  /// [blocks, kv_heads, block_size, row]: `head_dim` elements of `dtype` a row; Int4 packs two in a
  /// byte, element 2i in the low nibble of byte i, stored as code + 8.
  void* data = nullptr;
  /// PerTokenHead: [blocks, kv_heads, block_size] F32; Static: [kv_heads] F32; null without codec.
  float* scales = nullptr;
  DType dtype = DType::BF16;      ///< F32, F16, BF16; with a codec E4M3, E5M2, Int8, Int4.
  KVCodec codec = KVCodec::None;  ///< None exactly when `dtype` is F32, F16 or BF16.
  KVScale scale = KVScale::PerTokenHead;
  std::int64_t head_dim = 0;  ///< Logical elements of a row: a multiple of 8, at most 1024.
  std::int64_t block_stride_bytes = 0;
  std::int64_t head_stride_bytes = 0;
  std::int64_t row_stride_bytes = 0;
  std::int64_t scale_block_stride = 0;  ///< Of `scales`; 0 for Static.
  std::int64_t scale_head_stride = 0;   ///< Of `scales`; 1 for Static. Rows lie 1 apart.
};

/// An input of a step, [T, heads, elements], or [T, heads] where an operation says so (then the
/// heads lie head_stride apart). `data` null: the operand is absent.
struct StepOperandArg {
  const void* data = nullptr;
  DType dtype = DType::F32;  ///< F32, F16 or BF16.
  std::int64_t token_stride = 0;
  std::int64_t head_stride = 0;
};

/// The same, written.
struct StepResultArg {
  void* data = nullptr;
  DType dtype = DType::F32;
  std::int64_t token_stride = 0;
  std::int64_t head_stride = 0;
};

/// A parameter of the model, contiguous. `data` null: absent.
struct WeightArg {
  const void* data = nullptr;
  DType dtype = DType::F32;  ///< F32, F16 or BF16.
};

/// Which tokens and which positions the sequences of a step have, and where the rows lie.
struct KVStepArg {
  const std::int32_t* cu_seqlens_q = nullptr;  ///< [B + 1]: queries of i are [q[i], q[i + 1]).
  /// [B] lengths including this step's tokens, or, when `cumulative_k`, [B + 1] cumulative ones.
  const std::int32_t* cu_seqlens_k = nullptr;
  bool cumulative_k = false;
  const std::int32_t* block_table = nullptr;  ///< [B, table_columns]: block or slot ids.
  std::int64_t table_stride = 0;
  std::int64_t table_columns = 0;
  std::int64_t block_size = 0;     ///< Positions a block; a continuous row's capacity.
  std::int64_t batch = 0;          ///< B
  std::int64_t tokens = 0;         ///< T
  std::int64_t max_query_len = 0;  ///< No query length is larger.
  std::int64_t max_kv_len = 0;     ///< No length is larger.
};

/// Writes a step's keys and values, converted or quantized, at positions
/// length - query length .. length - 1 of each sequence; K, V and scales in one launch.
struct AppendArg {
  KVStepArg step = {};
  KVRowsArg keys = {};
  KVRowsArg values = {};
  StepOperandArg key = {};    ///< [T, kv_heads, keys.head_dim]
  StepOperandArg value = {};  ///< [T, kv_heads, values.head_dim]
  std::int64_t kv_heads = 0;
};

/// Grouped-query attention of a step's queries over what the rows hold. Query j of sequence i
/// stands at position length - query length + j; it sees positions <= its own when `causal`, else
/// all of [0, length), and only the last `window` of those when window > 0.
/// The arithmetic: ref_cpu/NUMERICS.md.
struct AttendArg {
  KVStepArg step = {};
  KVRowsArg keys = {};
  KVRowsArg values = {};
  StepOperandArg query = {};  ///< [T, q_heads, keys.head_dim]
  StepResultArg out = {};     ///< [T, q_heads, values.head_dim], F32 or the query's dtype.
  std::int64_t kv_heads = 0;
  std::int64_t q_heads = 0;  ///< kv_heads * group; heads h * group .. + group - 1 share KV head h.
  std::int64_t window = 0;   ///< 0: all.
  bool causal = true;
  /// What a dot product is multiplied by: scale * log2(e), or scale / soft_cap with a soft cap.
  float score_factor = 0.0f;
  /// soft_cap * log2(e), or 0 without a soft cap.
  float cap_factor = 0.0f;
  const float* sinks = nullptr;  ///< [q_heads] F32, natural units; null: none.

  // Optional results, null when not asked for. F32, contiguous.
  float* max_sum = nullptr;          ///< [T, q_heads, 2]: M in powers of two, and L.
  float* lse = nullptr;              ///< [T, q_heads]: ln of the sum of exp, sinks included.
  float* partial_max_sum = nullptr;  ///< [T, q_heads, max_chunks, 2]; (-inf, 0) for unseen chunks.
  float* partial_out = nullptr;      ///< [T, q_heads, max_chunks, values.head_dim]; 0 likewise.
  std::int64_t max_chunks = 0;       ///< >= ceil(max_kv_len / 256) when partials are asked for.
};

/// One array whose dimension 1 is blocks: the data or the scales of a pool.
struct BlockArrayArg {
  void* data = nullptr;  ///< [members, blocks, heads, block_size, row_bytes]
  std::int64_t members = 0;
  std::int64_t heads = 0;
  std::int64_t row_bytes = 0;  ///< Bytes of a row; 4 for scales. Rows lie that far apart.
  std::int64_t member_stride_bytes = 0;
  std::int64_t block_stride_bytes = 0;
  std::int64_t head_stride_bytes = 0;
};

/// Copies the leading rows of blocks, in every member and head of every array; the copies take
/// effect one after another.
struct CopyBlocksArg {
  const BlockArrayArg* arrays = nullptr;  ///< host, [num_arrays]
  std::int64_t num_arrays = 0;
  const BlockCopy* copies = nullptr;  ///< host, [num_copies]
  std::int64_t num_copies = 0;
};

/// gathered[i, :] = table[slot_ids[i], :]
struct GatherBlockTableArg {
  const std::int32_t* table = nullptr;     ///< [max_seqs, columns]
  const std::int32_t* slot_ids = nullptr;  ///< [B]
  std::int32_t* gathered = nullptr;        ///< [B, columns]
  std::int64_t table_stride = 0;
  std::int64_t gathered_stride = 0;
  std::int64_t columns = 0;
  std::int64_t batch = 0;
};

/// Writes positions 0 .. tokens - 1 of one slot's cross-attention rows, converted or quantized.
struct StoreCrossArg {
  KVRowsArg keys = {};  ///< A block is a slot.
  KVRowsArg values = {};
  StepOperandArg key = {};    ///< [tokens, kv_heads, keys.head_dim]
  StepOperandArg value = {};  ///< [tokens, kv_heads, values.head_dim]
  std::int64_t kv_heads = 0;
  std::int64_t slot = 0;
  std::int64_t tokens = 0;
};

/// One array whose dimension 0 is slots.
struct SlotArrayArg {
  void* data = nullptr;  ///< [max_seqs, slot_bytes]
  std::int64_t slot_bytes = 0;
  std::int64_t slot_stride_bytes = 0;
};

/// Sets all bytes of some slots to zero in every array.
struct ZeroSlotsArg {
  const SlotArrayArg* arrays = nullptr;  ///< host, [num_arrays]
  std::int64_t num_arrays = 0;
  const std::int32_t* slots = nullptr;  ///< host, [num_slots]
  std::int64_t num_slots = 0;
};

/// The sequences of a step over state rows.
struct StateStepArg {
  const std::int32_t* cu_seqlens_q = nullptr;  ///< [B + 1]
  const std::int32_t* slot_ids = nullptr;      ///< [B], distinct
  std::int64_t batch = 0;
  std::int64_t tokens = 0;
  std::int64_t max_query_len = 0;
};

/// A state array [max_seqs, heads, rows, columns], the last three contiguous.
struct StateArg {
  void* data = nullptr;
  DType dtype = DType::F32;  ///< F32, F16 or BF16.
  std::int64_t slot_stride = 0;
};

/// Causal depthwise convolution over each sequence's window and its new tokens: with w = width and
/// s the concatenation of the w stored inputs and the step's, out[t, c] = act(bias[c] +
/// sum over j of weight[c, j] * s[t + j, c]), j = 0 .. w, oldest first; afterwards the state holds
/// the last w inputs.
struct ConvUpdateArg {
  StateStepArg step = {};
  StateArg state = {};     ///< [max_seqs, dim, width], oldest input first.
  StepOperandArg x = {};   ///< [T, dim], head_stride 1.
  StepResultArg out = {};  ///< [T, dim], head_stride 1. May be x itself.
  WeightArg weight = {};   ///< [dim, width + 1]
  WeightArg bias = {};     ///< [dim], or absent.
  std::int64_t dim = 0;
  std::int64_t width = 0;  ///< Stored inputs: the kernel's size less one.
  bool silu = false;
};

/// The gated delta rule over the recurrent slab, token by token:
///   S = exp(g) S;  r = v - k S;  S = S + k^T (beta r);  out = scale * q S
/// with S [k_dim, v_dim] of one head. g is `a` itself, or -exp(a_log[h]) * softplus(a + dt_bias[h])
/// when `a_log` is there; beta is `b`, or sigmoid(b) when `b_sigmoid`.
struct GatedDeltaUpdateArg {
  StateStepArg step = {};
  StateArg state = {};     ///< [max_seqs, heads, k_dim, v_dim]
  StepOperandArg q = {};   ///< [T, qk_heads, k_dim]
  StepOperandArg k = {};   ///< [T, qk_heads, k_dim]
  StepOperandArg v = {};   ///< [T, heads, v_dim]
  StepOperandArg a = {};   ///< [T, heads]
  StepOperandArg b = {};   ///< [T, heads]
  StepResultArg out = {};  ///< [T, heads, v_dim]
  WeightArg a_log = {};    ///< [heads], or absent.
  WeightArg dt_bias = {};  ///< [heads], or absent (then 0); only beside a_log.
  std::int64_t qk_heads =
      0;  ///< Divides heads; value head h reads q and k of h / (heads/qk_heads).
  std::int64_t heads = 0;
  std::int64_t k_dim = 0;
  std::int64_t v_dim = 0;
  float scale = 1.0f;  ///< Of q; 1 / sqrt(k_dim) by default in kv_ops.h.
  bool b_sigmoid = false;
  bool qk_l2_norm = false;  ///< q and k are divided by sqrt(sum of squares + l2_eps) first.
  float l2_eps = 1e-6f;
};

/// The selective state space update (Mamba-2 form) over the recurrent slab, token by token:
///   dt' = dt + dt_bias[h], softplus of it when `dt_softplus`
///   S[n, p] = exp(dt' A[h]) S[n, p] + (dt' x[p]) B[n];  y[p] = sum over n of C[n] S[n, p]
///   out[p] = (y[p] + D[h] x[p]) * silu(z[p])
/// with n in [0, k_dim) the state's and p in [0, v_dim) the head's dimension.
struct SelectiveStateUpdateArg {
  StateStepArg step = {};
  StateArg state = {};      ///< [max_seqs, heads, k_dim, v_dim]
  StepOperandArg x = {};    ///< [T, heads, v_dim]
  StepOperandArg dt = {};   ///< [T, heads]
  StepOperandArg b = {};    ///< [T, groups, k_dim]
  StepOperandArg c = {};    ///< [T, groups, k_dim]
  StepOperandArg z = {};    ///< [T, heads, v_dim], or absent: no gate.
  StepResultArg out = {};   ///< [T, heads, v_dim]
  WeightArg a = {};         ///< [heads]: A itself (negative), not its logarithm.
  WeightArg d = {};         ///< [heads], or absent: 0.
  WeightArg dt_bias = {};   ///< [heads], or absent: 0.
  std::int64_t groups = 0;  ///< Divides heads; head h reads B and C of h / (heads / groups).
  std::int64_t heads = 0;
  std::int64_t k_dim = 0;
  std::int64_t v_dim = 0;
  bool dt_softplus = false;
};

static_assert(std::is_trivially_copyable_v<AppendArg> && std::is_trivially_copyable_v<AttendArg> &&
              std::is_trivially_copyable_v<GatedDeltaUpdateArg> &&
              std::is_trivially_copyable_v<SelectiveStateUpdateArg>);

}  // namespace octavo
