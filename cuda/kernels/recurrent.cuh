// What the two recurrences of NUMERICS.md section 7 share: how a head's state [k_dim, v_dim] lies
// across the threads of a block, and the sums over k in the order of section 5.
//
// A block does the tokens of one sequence in order, for one head and a tile of its columns. The
// state of the tile stays in registers from the first token to the last; it is read once and
// written once. A thread holds kPartRows = 16 rows, that is two neighbouring units of the sum, of
// kPack columns. Parts are aligned in the tree over the units, so the tree over a sum's units is
// the sum of each part's two units and then the tree over the parts, across shared memory.
//
// Two shapes: `Tuned`, four columns a thread and whole parts, and the one for everything else, one
// column a thread and up to 128 parts.
#pragma once

#include "exact_math.cuh"
#include "octavo/device_ops.h"
#include "platform.cuh"
#include "state_pack.cuh"

namespace octavo::cuda {
inline namespace OCTAVO_CUDA_TARGET {

constexpr unsigned kDotUnit = 8;
constexpr unsigned kPartRows = 2 * kDotUnit;
constexpr unsigned kMaxTunedParts = 32;
constexpr unsigned kMaxParts = 128;

/// A block's work and shared memory. Thread t holds the columns of lane t % lanes and the rows of
/// part t / lanes; threads behind the last part hold nothing, they fill up the last warp.
struct RecurrentShape {
  std::uint32_t tiles;  ///< Tiles of columns a head.
  std::uint32_t heads;
  std::uint32_t lanes;   ///< Threads side by side; a power of two.
  std::uint32_t parts;   ///< ceil(k_dim / kPartRows)
  std::uint32_t tokens;  ///< Whose operands are prepared at once.
};

/// The block's head and columns.
struct RecurrentPlace {
  std::int64_t sequence;
  std::int64_t head;
  std::int64_t first_column;
};

template <unsigned kPack>
__device__ __forceinline__ RecurrentPlace recurrent_place(const RecurrentShape& shape) {
  const std::uint32_t all_heads = blockIdx.x / shape.tiles;
  const std::uint32_t tile = blockIdx.x - all_heads * shape.tiles;
  const std::uint32_t sequence = all_heads / shape.heads;
  return {sequence, all_heads - sequence * shape.heads,
          static_cast<std::int64_t>(tile) * shape.lanes * kPack};
}

/// The part of the state that one thread holds.
template <DType kState, unsigned kPack>
struct StateTile {
  float s[kPartRows][kPack];
  std::int64_t element;  ///< Of its first row, from the array's start.
  unsigned rows;         ///< Of kPartRows; 0: the thread holds nothing.

  /// Whether row `i` exists. Tuned shapes have whole parts: no test, and threads that hold nothing
  /// compute on zeros.
  __device__ __forceinline__ bool has(unsigned i) const { return kPack == 4 || i < rows; }

  __device__ __forceinline__ void load(const StateArg& state, std::int64_t v_dim) {
    RawPack<kPack> raw[kPartRows];
    OCTAVO_UNROLL
    for (unsigned i = 0; i < kPartRows; ++i) {
      raw[i] = {};
      if (kPack == 4 ? rows != 0 : i < rows) {
        raw[i] = load_raw<kPack>(kState, state.data, element + i * v_dim);
      }
    }
    OCTAVO_UNROLL
    for (unsigned i = 0; i < kPartRows; ++i) {
      decode<kPack>(kState, raw[i], s[i]);
    }
  }

  __device__ __forceinline__ void store(const StateArg& state, std::int64_t v_dim) const {
    OCTAVO_UNROLL
    for (unsigned i = 0; i < kPartRows; ++i) {
      if (kPack == 4 ? rows != 0 : i < rows) {
        store_global_pack<kPack>(kState, state.data, element + i * v_dim, s[i]);
      }
    }
  }

  /// Every element as the state array holds it.
  __device__ __forceinline__ void round() {
    OCTAVO_UNROLL
    for (unsigned i = 0; i < kPartRows; ++i) {
      OCTAVO_UNROLL
      for (unsigned c = 0; c < kPack; ++c) {
        s[i][c] = rounded_to(kState, s[i][c]);
      }
    }
  }

  /// The tile's part of the sums of s[i] * x[i] over k: the tree over its own two units.
  __device__ __forceinline__ void dot(const float (&x)[kPartRows], float (&sums)[kPack]) const {
    OCTAVO_UNROLL
    for (unsigned c = 0; c < kPack; ++c) {
      float first = __fmul_rn(s[0][c], x[0]);
      float second = __fmul_rn(s[kDotUnit][c], x[kDotUnit]);
      OCTAVO_UNROLL
      for (unsigned i = 1; i < kDotUnit; ++i) {
        first = has(i) ? __fmaf_rn(s[i][c], x[i], first) : first;
        second =
            has(kDotUnit + i) ? __fmaf_rn(s[kDotUnit + i][c], x[kDotUnit + i], second) : second;
      }
      sums[c] = has(kDotUnit) ? __fadd_rn(first, second) : first;
    }
  }
};

/// `tile` of the block's head and columns for this thread; without its values.
template <DType kState, unsigned kPack>
__device__ __forceinline__ StateTile<kState, kPack> tile_of_thread(const RecurrentShape& shape,
                                                                   const RecurrentPlace& place,
                                                                   const StateArg& state,
                                                                   std::int64_t slot,
                                                                   std::int64_t k_dim,
                                                                   std::int64_t v_dim) {
  const unsigned part = threadIdx.x / shape.lanes;
  const unsigned lane = threadIdx.x - part * shape.lanes;
  const std::int64_t column = place.first_column + lane * kPack;
  const std::int64_t rows_left = k_dim - part * kPartRows;
  StateTile<kState, kPack> tile;
  tile.element = slot * state.slot_stride +
                 (place.head * k_dim + static_cast<std::int64_t>(part) * kPartRows) * v_dim +
                 column;
  tile.rows = static_cast<unsigned>(rows_left < kPartRows ? rows_left : kPartRows);
  if (part >= shape.parts || column >= v_dim) {
    tile.rows = 0;
  }
  return tile;
}

/// kPartRows floats of shared memory, aligned to 16 bytes.
__device__ __forceinline__ void read_rows(const float* shared, float (&x)[kPartRows]) {
  OCTAVO_UNROLL
  for (unsigned i = 0; i < kPartRows; i += 4) {
    const float4 four = *reinterpret_cast<const float4*>(shared + i);
    x[i] = four.x;
    x[i + 1] = four.y;
    x[i + 2] = four.z;
    x[i + 3] = four.w;
  }
}

/// kPack floats of shared memory, aligned to their size.
template <unsigned kPack>
__device__ __forceinline__ void read_columns(const float* shared, float (&x)[kPack]) {
  load_pack<kPack>(DType::F32, shared, 0, x);
}

/// The whole tree over 2^kLevel rows of `partial`, `stride` floats apart, kPack columns each. The
/// upper levels are a loop: all loads at once would take more registers than there are.
template <unsigned kLevel, unsigned kPack>
__device__ __forceinline__ void whole_tree(const float* partial,
                                           unsigned stride,
                                           float (&sums)[kPack]) {
  float half[kPack] = {};
  if constexpr (kLevel == 0) {
    read_columns<kPack>(partial, sums);
  } else if constexpr (kLevel <= 3) {
    whole_tree<kLevel - 1, kPack>(partial, stride, sums);
    whole_tree<kLevel - 1, kPack>(partial + (stride << (kLevel - 1)), stride, half);
    OCTAVO_UNROLL
    for (unsigned c = 0; c < kPack; ++c) {
      sums[c] = __fadd_rn(sums[c], half[c]);
    }
  } else {
    OCTAVO_NO_UNROLL
    for (unsigned right = 0; right < 2; ++right) {
      whole_tree<kLevel - 1, kPack>(partial + right * (stride << (kLevel - 1)), stride, half);
      OCTAVO_UNROLL
      for (unsigned c = 0; c < kPack; ++c) {
        sums[c] = right == 0 ? half[c] : __fadd_rn(sums[c], half[c]);
      }
    }
  }
}

/// Puts the whole subtree of 2^kLevel rows, if the count has that bit, to the left of what the
/// lower bits gave; then the higher bits.
template <unsigned kLevel, unsigned kLevels, unsigned kPack>
__device__ __forceinline__ void add_subtrees(
    const float* partial, unsigned stride, unsigned count, bool started, float (&sums)[kPack]) {
  if constexpr (kLevel < kLevels) {
    if ((count >> kLevel & 1) != 0) {
      const unsigned first = count >> (kLevel + 1) << (kLevel + 1);
      float left[kPack] = {};
      whole_tree<kLevel, kPack>(partial + first * stride, stride, left);
      OCTAVO_UNROLL
      for (unsigned c = 0; c < kPack; ++c) {
        sums[c] = started ? __fadd_rn(left[c], sums[c]) : left[c];
      }
      started = true;
    }
    add_subtrees<kLevel + 1, kLevels, kPack>(partial, stride, count, started, sums);
  }
}

/// The neighbours-first tree over `count` rows of `partial`: an odd last element passes up until it
/// meets the whole subtree to its left, so the tree is that of the bits of `count`. kTuned: of no
/// more than kMaxTunedParts rows.
template <bool kTuned, unsigned kPack>
__device__ __forceinline__ void tree_over_parts(const float* partial,
                                                unsigned stride,
                                                unsigned count,
                                                float (&sums)[kPack]) {
  add_subtrees<0, kTuned ? 6 : 8, kPack>(partial, stride, count, false, sums);
}
static_assert(kMaxTunedParts < 1 << 6 && kMaxParts < 1 << 8);

/// The kDotUnit elements of a row from element `index` on, `count` of them there; the rest 0.
__device__ __forceinline__ void load_unit(const StepOperandArg& operand,
                                          std::int64_t index,
                                          unsigned count,
                                          float (&x)[kDotUnit]) {
  const unsigned bytes = operand.dtype == DType::F32 ? 4 : 2;
  const auto address = reinterpret_cast<std::uintptr_t>(operand.data) +
                       static_cast<std::uintptr_t>(index) * static_cast<std::uintptr_t>(bytes);
  if (count == kDotUnit && address % static_cast<std::uintptr_t>(4 * bytes) == 0) {
    float low[4];
    float high[4];
    load_pack<4>(operand.dtype, operand.data, index, low);
    load_pack<4>(operand.dtype, operand.data, index + 4, high);
    OCTAVO_UNROLL
    for (unsigned i = 0; i < 4; ++i) {
      x[i] = low[i];
      x[4 + i] = high[i];
    }
    return;
  }
  OCTAVO_UNROLL
  for (unsigned i = 0; i < kDotUnit; ++i) {
    x[i] = i < count ? load_element(operand.dtype, operand.data, index + i) : 0.0f;
  }
}

/// How many elements of a row of k_dim lie in unit `unit`.
__device__ __forceinline__ unsigned unit_size(std::int64_t k_dim, unsigned unit) {
  const std::int64_t left = k_dim - static_cast<std::int64_t>(unit) * kDotUnit;
  return static_cast<unsigned>(left < 0 ? 0 : left < kDotUnit ? left : kDotUnit);
}

__device__ __forceinline__ void write_unit(float* shared, const float (&x)[kDotUnit]) {
  *reinterpret_cast<float4*>(shared) = make_float4(x[0], x[1], x[2], x[3]);
  *reinterpret_cast<float4*>(shared + 4) = make_float4(x[4], x[5], x[6], x[7]);
}

/// A warp copies a row of k_dim elements to shared memory as floats, zeros up to a whole part.
__device__ __forceinline__ void copy_row(const StepOperandArg& operand,
                                         std::int64_t element,
                                         std::int64_t k_dim,
                                         unsigned parts,
                                         float* shared) {
  for (unsigned unit = threadIdx.x % 32; unit < 2 * parts; unit += 32) {
    float x[kDotUnit];
    load_unit(operand, element + unit * kDotUnit, unit_size(k_dim, unit), x);
    write_unit(shared + unit * kDotUnit, x);
  }
}

/// One element of an operand [T, heads].
__device__ __forceinline__ float operand_scalar(const StepOperandArg& operand,
                                                std::int64_t token,
                                                std::int64_t head) {
  return load_element(operand.dtype, operand.data,
                      token * operand.token_stride + head * operand.head_stride);
}

/// Element `index` of a weight, 0 when it is absent.
__device__ __forceinline__ float weight_scalar(const WeightArg& weight, std::int64_t index) {
  return weight.data == nullptr ? 0.0f : load_element(weight.dtype, weight.data, index);
}

/// All threads copy the tile's columns of `count` tokens to shared memory [count, columns] as
/// floats, zeros behind v_dim.
__device__ __forceinline__ void copy_columns(const StepOperandArg& operand,
                                             const RecurrentPlace& place,
                                             std::int64_t token,
                                             unsigned count,
                                             unsigned columns,
                                             std::int64_t v_dim,
                                             float* shared) {
  for (unsigned at = threadIdx.x; at < count * columns; at += blockDim.x) {
    const unsigned row = at / columns;
    const std::int64_t column = place.first_column + at - row * columns;
    const std::int64_t element =
        (token + row) * operand.token_stride + place.head * operand.head_stride + column;
    shared[at] = column < v_dim ? load_element(operand.dtype, operand.data, element) : 0.0f;
  }
}

}  // namespace OCTAVO_CUDA_TARGET
}  // namespace octavo::cuda
