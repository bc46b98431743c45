// The selective state update of NUMERICS.md section 7, Mamba-2's form.
#pragma once

#include "recurrent.cuh"

namespace octavo::cuda {
inline namespace OCTAVO_CUDA_TARGET {

/// Where the operands of the prepared tokens lie in shared memory, and the parts of the sum.
struct SelectiveShared {
  float* b;      ///< [tokens, parts * kPartRows]
  float* c;      ///< The same.
  float* x;      ///< [tokens, columns]
  float* dt;     ///< [tokens]
  float* decay;  ///< [tokens]
  float* sums;   ///< [2, parts, columns]: tokens take turns.

  static constexpr unsigned kGateFloats = 32;  ///< At least two a token.

  /// Floats of all of it.
  __host__ __device__ static constexpr std::int64_t size(std::int64_t tokens,
                                                         std::int64_t parts,
                                                         std::int64_t columns) {
    return tokens * (2 * parts * kPartRows + columns) + kGateFloats + 2 * parts * columns;
  }

  __device__ __forceinline__ SelectiveShared(float* memory,
                                             const RecurrentShape& shape,
                                             unsigned columns) {
    const unsigned row = shape.parts * kPartRows;
    b = memory;
    c = b + shape.tokens * row;
    sums = c + shape.tokens * row;
    x = sums + 2 * shape.parts * columns;
    dt = x + shape.tokens * columns;
    decay = dt + kGateFloats / 2;
  }
};

/// Everything that `count` tokens from `token` on bring to the block's head and columns: a warp
/// each for a row of B or C.
__device__ __forceinline__ void prepare_tokens(const SelectiveStateUpdateArg& arg,
                                               const RecurrentShape& shape,
                                               const RecurrentPlace& place,
                                               std::int64_t token,
                                               unsigned count,
                                               unsigned columns,
                                               const SelectiveShared& shared) {
  const unsigned row = shape.parts * kPartRows;
  const std::int64_t group = place.head / (arg.heads / arg.groups);
  const unsigned warps = blockDim.x / 32;
  for (unsigned job = threadIdx.x / 32; job < 2 * count; job += warps) {
    const unsigned t = job / 2;
    const bool is_c = job % 2 != 0;
    const StepOperandArg& operand = is_c ? arg.c : arg.b;
    copy_row(operand, (token + t) * operand.token_stride + group * operand.head_stride, arg.k_dim,
             shape.parts, (is_c ? shared.c : shared.b) + t * row);
  }
  copy_columns(arg.x, place, token, count, columns, arg.v_dim, shared.x);
  // From the last thread down: the first warps have the rows.
  const unsigned t = blockDim.x - 1 - threadIdx.x;
  if (t < count) {
    const float raw = __fadd_rn(operand_scalar(arg.dt, token + t, place.head),
                                weight_scalar(arg.dt_bias, place.head));
    const float dt = arg.dt_softplus ? softplus_spec(raw) : raw;
    shared.dt[t] = dt;
    shared.decay[t] = exp_spec(__fmul_rn(dt, weight_scalar(arg.a, place.head)));
  }
}

/// The result of column `c` of the tile, from the parts of its sum.
__device__ __forceinline__ void finish_column(const SelectiveStateUpdateArg& arg,
                                              const RecurrentPlace& place,
                                              std::int64_t token,
                                              unsigned c,
                                              float x,
                                              float y) {
  if (arg.d.data != nullptr) {
    y = __fmaf_rn(weight_scalar(arg.d, place.head), x, y);
  }
  if (arg.z.data != nullptr) {
    const float z = load_element(
        arg.z.dtype, arg.z.data,
        token * arg.z.token_stride + place.head * arg.z.head_stride + place.first_column + c);
    y = __fmul_rn(y, silu_spec(z));
  }
  store_element(
      arg.out.dtype, arg.out.data,
      token * arg.out.token_stride + place.head * arg.out.head_stride + place.first_column + c, y);
}

/// One prepared token: the state in registers is decayed, what the token brings is written, and C
/// reads before the state is rounded to its dtype.
template <DType kState, unsigned kPack>
__device__ __forceinline__ void selective_token(const SelectiveStateUpdateArg& arg,
                                                const RecurrentShape& shape,
                                                const RecurrentPlace& place,
                                                std::int64_t token,
                                                unsigned t,
                                                const SelectiveShared& shared,
                                                StateTile<kState, kPack>& tile) {
  const unsigned part = threadIdx.x / shape.lanes;
  const unsigned column = (threadIdx.x - part * shape.lanes) * kPack;
  const unsigned columns = shape.lanes * kPack;
  const bool holds = part < shape.parts;
  const unsigned row = (t * shape.parts + (holds ? part : 0)) * kPartRows;
  float* const parts = shared.sums + (token & 1) * shape.parts * columns;
  float rows[kPartRows];
  float step[kPack];
  read_rows(shared.b + row, rows);
  read_columns<kPack>(shared.x + t * columns + column, step);
  OCTAVO_UNROLL
  for (unsigned c = 0; c < kPack; ++c) {
    step[c] = __fmul_rn(shared.dt[t], step[c]);
  }
  OCTAVO_UNROLL
  for (unsigned i = 0; i < kPartRows; ++i) {
    OCTAVO_UNROLL
    for (unsigned c = 0; c < kPack; ++c) {
      tile.s[i][c] = __fmaf_rn(rows[i], step[c], __fmul_rn(tile.s[i][c], shared.decay[t]));
    }
  }
  float sums[kPack] = {};
  read_rows(shared.c + row, rows);
  tile.dot(rows, sums);
  if (holds) {
    store_pack<kPack>(DType::F32, parts, part * columns + column, sums);
  }
  tile.round();
  __syncthreads();
  for (unsigned c = threadIdx.x; c < columns; c += blockDim.x) {
    if (place.first_column + c < arg.v_dim) {
      float y[1] = {};
      tree_over_parts<kPack == 4, 1>(parts + c, columns, shape.parts, y);
      finish_column(arg, place, token, c, shared.x[t * columns + c], y[0]);
    }
  }
}

/// grid: sequences x heads x tiles of columns. block: lanes x parts threads. Dynamic shared memory:
/// SelectiveShared.
///
/// Bytes and bounds: those of gated_delta_kernel, with one sum and one barrier a token.
template <DType kState, unsigned kPack>
__global__ void __launch_bounds__(kPack == 4 ? 256 : 512, kPack == 4 ? 2 : 1)
    selective_state_kernel(const SelectiveStateUpdateArg arg, const RecurrentShape shape) {
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
  const SelectiveShared shared(reinterpret_cast<float*>(memory), shape, columns);
  for (std::int64_t token = begin; token < end; token += shape.tokens) {
    const std::int64_t left = end - token;
    const unsigned count = static_cast<unsigned>(left < shape.tokens ? left : shape.tokens);
    prepare_tokens(arg, shape, place, token, count, columns, shared);
    __syncthreads();
    for (unsigned t = 0; t < count; ++t) {
      selective_token<kState, kPack>(arg, shape, place, token + t, t, shared, tile);
    }
    __syncthreads();  // The last token's x is read.
  }
  tile.store(arg.state, arg.v_dim);
}

}  // namespace OCTAVO_CUDA_TARGET
}  // namespace octavo::cuda
