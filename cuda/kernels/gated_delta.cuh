// The gated delta rule of NUMERICS.md section 7.
#pragma once

#include "recurrent.cuh"

namespace octavo::cuda {
inline namespace OCTAVO_CUDA_TARGET {

/// The tree over the units of the sum of squares of a row that a warp holds in shared memory,
/// kMaxUnits = 8 neighbouring units a lane at most: an aligned subtree a lane, then across lanes.
/// Every lane gets the sum.
__device__ __forceinline__ float sum_of_squares(const float* row, std::int64_t k_dim) {
  const unsigned units = static_cast<unsigned>((k_dim + kDotUnit - 1) / kDotUnit);
  const unsigned lane = threadIdx.x % 32;
  unsigned lane_units = 1;  // A power of two.
  while (32 * lane_units < units) {
    lane_units *= 2;
  }
  float sums[8];
  OCTAVO_UNROLL
  for (unsigned u = 0; u < 8; ++u) {
    const unsigned unit = lane * lane_units + u;
    sums[u] = 0.0f;
    if (u < lane_units && unit < units) {
      const float* const x = row + unit * kDotUnit;
      const unsigned size = unit_size(k_dim, unit);
      float sum = __fmul_rn(x[0], x[0]);
      OCTAVO_UNROLL
      for (unsigned i = 1; i < kDotUnit; ++i) {
        sum = i < size ? __fmaf_rn(x[i], x[i], sum) : sum;
      }
      sums[u] = sum;
    }
  }
  OCTAVO_UNROLL
  for (unsigned step = 1; step < 8; step *= 2) {
    OCTAVO_UNROLL
    for (unsigned u = 0; u + step < 8; u += 2 * step) {
      const bool both = u + step < lane_units && lane * lane_units + u + step < units;
      sums[u] = both ? __fadd_rn(sums[u], sums[u + step]) : sums[u];
    }
  }
  float sum = sums[0];
  OCTAVO_UNROLL
  for (unsigned step = 1; step < 32; step *= 2) {
    const float right = __shfl_sync(0xFFFFFFFFu, sum, static_cast<int>((lane + step) % 32));
    sum = lane + step < 32 && (lane + step) * lane_units < units ? __fadd_rn(sum, right) : sum;
  }
  return __shfl_sync(0xFFFFFFFFu, sum, 0);
}

/// A warp multiplies the row it has just copied by `factor`, or by factor / norm.
__device__ __forceinline__ void scale_row(const GatedDeltaUpdateArg& arg,
                                          unsigned parts,
                                          float factor,
                                          float* row) {
  if (arg.qk_l2_norm) {
    __syncwarp();
    const float squares = sum_of_squares(row, arg.k_dim);
    factor = __fdiv_rn(factor, __fsqrt_rn(__fadd_rn(squares, arg.l2_eps)));
    __syncwarp();  // All of the row is read.
  }
  for (unsigned unit = threadIdx.x % 32; unit < 2 * parts; unit += 32) {
    OCTAVO_UNROLL
    for (unsigned i = 0; i < kDotUnit; ++i) {
      row[unit * kDotUnit + i] = __fmul_rn(row[unit * kDotUnit + i], factor);
    }
  }
}

/// Where the operands of the prepared tokens lie in shared memory, and the parts of the two sums.
struct DeltaShared {
  float* q;      ///< [tokens, parts * kPartRows], scaled.
  float* k;      ///< The same.
  float* v;      ///< [tokens, columns]
  float* decay;  ///< [tokens]
  float* beta;   ///< [tokens]
  float* held;   ///< [parts, columns]
  float* read;   ///< [parts, columns]

  static constexpr unsigned kGateFloats = 32;  ///< At least two a token.

  /// Floats of all of it.
  __host__ __device__ static constexpr std::int64_t size(std::int64_t tokens,
                                                         std::int64_t parts,
                                                         std::int64_t columns) {
    return tokens * (2 * parts * kPartRows + columns) + kGateFloats + 2 * parts * columns;
  }

  __device__ __forceinline__ DeltaShared(float* memory,
                                         const RecurrentShape& shape,
                                         unsigned columns) {
    const unsigned row = shape.parts * kPartRows;
    q = memory;
    k = q + shape.tokens * row;
    held = k + shape.tokens * row;
    read = held + shape.parts * columns;
    v = read + shape.parts * columns;
    decay = v + shape.tokens * columns;
    beta = decay + kGateFloats / 2;
  }
};

__device__ __forceinline__ void prepare_gates(const GatedDeltaUpdateArg& arg,
                                              std::int64_t token,
                                              std::int64_t head,
                                              float& decay,
                                              float& beta) {
  float gate = operand_scalar(arg.a, token, head);
  if (arg.a_log.data != nullptr) {
    const float rate = exp_spec(weight_scalar(arg.a_log, head));
    const float raw = __fadd_rn(gate, weight_scalar(arg.dt_bias, head));
    gate = negated(__fmul_rn(rate, softplus_spec(raw)));
  }
  decay = exp_spec(gate);
  const float b = operand_scalar(arg.b, token, head);
  beta = arg.b_sigmoid ? sigmoid_spec(b) : b;
}

/// Everything that `count` tokens from `token` on bring to the block's head and columns: a warp
/// each for a query or a key.
__device__ __forceinline__ void prepare_tokens(const GatedDeltaUpdateArg& arg,
                                               const RecurrentShape& shape,
                                               const RecurrentPlace& place,
                                               std::int64_t token,
                                               unsigned count,
                                               unsigned columns,
                                               const DeltaShared& shared) {
  const unsigned row = shape.parts * kPartRows;
  const std::int64_t qk_head = place.head / (arg.heads / arg.qk_heads);
  const unsigned warps = blockDim.x / 32;
  for (unsigned job = threadIdx.x / 32; job < 2 * count; job += warps) {
    const unsigned t = job / 2;
    const bool is_key = job % 2 != 0;
    const StepOperandArg& operand = is_key ? arg.k : arg.q;
    float* const to = (is_key ? shared.k : shared.q) + t * row;
    copy_row(operand, (token + t) * operand.token_stride + qk_head * operand.head_stride, arg.k_dim,
             shape.parts, to);
    if (!is_key || arg.qk_l2_norm) {
      scale_row(arg, shape.parts, is_key ? 1.0f : arg.scale, to);
    }
  }
  copy_columns(arg.v, place, token, count, columns, arg.v_dim, shared.v);
  // From the last thread down: the first warps have the queries and keys.
  const unsigned t = blockDim.x - 1 - threadIdx.x;
  if (t < count) {
    prepare_gates(arg, token + t, place.head, shared.decay[t], shared.beta[t]);
  }
}

/// One prepared token. The state in registers is decayed and asked what it holds under the key;
/// the correction is written, and the query reads before the state is rounded to its dtype.
template <DType kState, unsigned kPack>
__device__ __forceinline__ void delta_token(const GatedDeltaUpdateArg& arg,
                                            const RecurrentShape& shape,
                                            const RecurrentPlace& place,
                                            std::int64_t token,
                                            unsigned t,
                                            const DeltaShared& shared,
                                            StateTile<kState, kPack>& tile) {
  constexpr bool kTuned = kPack == 4;
  const unsigned part = threadIdx.x / shape.lanes;
  const unsigned column = (threadIdx.x - part * shape.lanes) * kPack;
  const unsigned columns = shape.lanes * kPack;
  const bool holds = part < shape.parts;
  const unsigned row = (t * shape.parts + (holds ? part : 0)) * kPartRows;
  float rows[kPartRows];
  float sums[kPack] = {};
  read_rows(shared.k + row, rows);
  OCTAVO_UNROLL
  for (unsigned i = 0; i < kPartRows; ++i) {
    OCTAVO_UNROLL
    for (unsigned c = 0; c < kPack; ++c) {
      tile.s[i][c] = __fmul_rn(tile.s[i][c], shared.decay[t]);
    }
  }
  tile.dot(rows, sums);
  if (holds) {
    store_pack<kPack>(DType::F32, shared.held, part * columns + column, sums);
  }
  __syncthreads();
  float delta[kPack];
  tree_over_parts<kTuned, kPack>(shared.held + column, columns, shape.parts, sums);
  read_columns<kPack>(shared.v + t * columns + column, delta);
  OCTAVO_UNROLL
  for (unsigned c = 0; c < kPack; ++c) {
    delta[c] = __fmul_rn(__fsub_rn(delta[c], sums[c]), shared.beta[t]);
  }
  read_rows(shared.k + row, rows);  // Again: registers are what the sum across parts lacks.
  OCTAVO_UNROLL
  for (unsigned i = 0; i < kPartRows; ++i) {
    OCTAVO_UNROLL
    for (unsigned c = 0; c < kPack; ++c) {
      tile.s[i][c] = __fmaf_rn(rows[i], delta[c], tile.s[i][c]);
    }
  }
  read_rows(shared.q + row, rows);
  tile.dot(rows, sums);
  if (holds) {
    store_pack<kPack>(DType::F32, shared.read, part * columns + column, sums);
  }
  tile.round();
  __syncthreads();
  for (unsigned c = threadIdx.x; c < columns; c += blockDim.x) {
    if (place.first_column + c < arg.v_dim) {
      float result[1] = {};
      tree_over_parts<kTuned, 1>(shared.read + c, columns, shape.parts, result);
      store_element(
          arg.out.dtype, arg.out.data,
          token * arg.out.token_stride + place.head * arg.out.head_stride + place.first_column + c,
          result[0]);
    }
  }
}

/// grid: sequences x heads x tiles of columns. block: lanes x parts threads. Dynamic shared memory:
/// DeltaShared.
///
/// Bytes: the state once in and once out, [k_dim, v_dim] elements each; q, k, v, the gates and the
/// result are less than 3 % of it at 128 x 128. A decode step is bound by those: a thread has 16
/// loads of a pack in flight, 32 KiB a block of 128 threads in F32, and several blocks on a
/// multiprocessor load, compute and store at different times. A prompt is bound by the latency of
/// two block-wide sums a token; operands are prepared `tokens` tokens at a time so that no token
/// waits for global memory, and the host takes narrow tiles so that there are blocks enough.
template <DType kState, unsigned kPack>
__global__ void __launch_bounds__(kPack == 4 ? 256 : 512, kPack == 4 ? 2 : 1)
    gated_delta_kernel(const GatedDeltaUpdateArg arg, const RecurrentShape shape) {
  OCTAVO_DYNAMIC_SHARED(memory);
  const RecurrentPlace place = recurrent_place<kPack>(shape);
  const std::int64_t begin = arg.step.cu_seqlens_q[place.sequence];
  const std::int64_t end = arg.step.cu_seqlens_q[place.sequence + 1];
  if (begin == end) {
    return;  // Without tokens the state is left alone.
  }
  auto tile = tile_of_thread<kState, kPack>(
      shape, place, arg.state, arg.step.slot_ids[place.sequence], arg.k_dim, arg.v_dim);
  tile.load(arg.state, arg.v_dim);
  const unsigned columns = shape.lanes * kPack;
  const DeltaShared shared(reinterpret_cast<float*>(memory), shape, columns);
  for (std::int64_t token = begin; token < end; token += shape.tokens) {
    const std::int64_t left = end - token;
    const unsigned count = static_cast<unsigned>(left < shape.tokens ? left : shape.tokens);
    // The second sum of the last token has been waited for: its operands are used up.
    prepare_tokens(arg, shape, place, token, count, columns, shared);
    __syncthreads();
    for (unsigned t = 0; t < count; ++t) {
      delta_token<kState, kPack>(arg, shape, place, token + t, t, shared, tile);
    }
  }
  tile.store(arg.state, arg.v_dim);
}

}  // namespace OCTAVO_CUDA_TARGET
}  // namespace octavo::cuda
