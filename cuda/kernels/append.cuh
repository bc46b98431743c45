// The row writer: keys and values of a step, or of a slot's cross-attention, into cache rows,
// copied, converted or quantized, K and V in one launch.
//
// Work: a row is one token's elements of one head, of K or of V. 1 to 32 neighbouring lanes of a
// warp write it, a lane up to kUnits units of 8 elements, so that every access of a warp is to
// whole sectors of up to 32 / lanes rows (int4: to halves of some); heads lie side by side in the
// inputs, and so do the rows of a warp. Each element is read once and stays in registers until the
// row's largest magnitude is known (an integer maximum by shuffles: without an order). Loads are
// issued before the place in the cache is looked up, since that is a chain of up to three dependent
// reads.
//
// Grid: x rows, y = 0 keys, 1 values. Bytes: input once, rows and scales once; bound by memory from
// some thousand rows on, by the launch below.
#pragma once

#include "octavo/device_ops.h"
#include "platform.cuh"
#include "quantize.cuh"
#include "rows.cuh"

namespace octavo::cuda {
inline namespace OCTAVO_CUDA_TARGET {

constexpr std::uint32_t kAppendThreads = 128;

/// The keys or the values of a launch.
struct AppendRows {
  KVRowsArg rows = {};
  StepOperandArg from = {};
  std::uint32_t lanes_log2 = 0;  ///< Of a row: lanes * kUnits units are no fewer than it has.
};

/// One launch.
struct AppendTask {
  AppendRows parts[2] = {};  ///< Keys, values.
  KVStepArg step = {};       ///< Unused with a slot.
  std::int64_t slot = -1;    ///< Token t goes to row t of this block instead, if >= 0.
  std::uint64_t rows = 0;    ///< tokens * heads
  std::uint32_t heads = 0;
};

/// The row that a lane works on.
struct RowWork {
  std::int64_t token = 0;
  std::int64_t head = 0;
  std::uint32_t lane = 0;  ///< Of the row.
  bool on = false;         ///< Off: nothing is written; what is read is another row.
};

__device__ __forceinline__ bool is_aligned(const void* address, std::uint32_t size) {
  return (reinterpret_cast<std::uintptr_t>(address) & (size - 1)) == 0;
}

/// Reads kWords words, 16 bytes at a time.
template <std::uint32_t kWords>
__device__ __forceinline__ void load_vector(const std::uint8_t* from,
                                            std::uint32_t (&words)[kWords]) {
  for (std::uint32_t i = 0; i < kWords; i += 4) {
    const uint4 four = reinterpret_cast<const uint4*>(from)[i / 4];
    words[i] = four.x;
    words[i + 1] = four.y;
    words[i + 2] = four.z;
    words[i + 3] = four.w;
  }
}

/// The same, one element of kElement bytes at a time.
template <std::uint32_t kWords, std::uint32_t kElement>
__device__ __forceinline__ void load_elements(const std::uint8_t* from,
                                              std::uint32_t (&words)[kWords]) {
  for (std::uint32_t i = 0; i < kWords; ++i) {
    if constexpr (kElement == 4) {
      words[i] = reinterpret_cast<const std::uint32_t*>(from)[i];
    } else {
      const auto* const halves = reinterpret_cast<const std::uint16_t*>(from) + 2 * i;
      words[i] = halves[0] | static_cast<std::uint32_t>(halves[1]) << 16;
    }
  }
}

/// A lane's units of a row of `units`, from unit `first` on, `stride` apart. One condition around
/// all of them: a branch around one is so short that both its sides take their slots.
template <std::uint32_t kUnits, std::uint32_t kWords, std::uint32_t kElement>
__device__ __forceinline__ void load_units(const std::uint8_t* from,
                                           bool vector,
                                           std::uint32_t first,
                                           std::uint32_t stride,
                                           std::uint32_t units,
                                           std::uint32_t (&words)[kUnits][kWords]) {
  if (vector) {
    for (std::uint32_t i = 0; i < kUnits; ++i) {
      if (first + i * stride < units) {
        load_vector<kWords>(from + 4 * kWords * (first + i * stride), words[i]);
      }
    }
  } else {
    for (std::uint32_t i = 0; i < kUnits; ++i) {
      if (first + i * stride < units) {
        load_elements<kWords, kElement>(from + 4 * kWords * (first + i * stride), words[i]);
      }
    }
  }
}

/// Writes kWords words: all 4 or 8 at once, or 16 bytes at a time.
template <std::uint32_t kWords>
__device__ __forceinline__ void store_vector(std::uint8_t* to,
                                             const std::uint32_t (&words)[kWords]) {
  if constexpr (kWords == 1) {
    *reinterpret_cast<std::uint32_t*>(to) = words[0];
  } else if constexpr (kWords == 2) {
    *reinterpret_cast<uint2*>(to) = make_uint2(words[0], words[1]);
  } else {
    for (std::uint32_t i = 0; i < kWords; i += 4) {
      reinterpret_cast<uint4*>(to)[i / 4] =
          make_uint4(words[i], words[i + 1], words[i + 2], words[i + 3]);
    }
  }
}

/// The same, one element of kElement bytes at a time.
template <std::uint32_t kWords, std::uint32_t kElement>
__device__ __forceinline__ void store_elements(std::uint8_t* to,
                                               const std::uint32_t (&words)[kWords]) {
  for (std::uint32_t i = 0; i < 4 / kElement * kWords; ++i) {
    const std::uint32_t word = words[i * kElement / 4] >> (i * kElement % 4 * 8);
    if constexpr (kElement == 4) {
      reinterpret_cast<std::uint32_t*>(to)[i] = word;
    } else if constexpr (kElement == 2) {
      reinterpret_cast<std::uint16_t*>(to)[i] = static_cast<std::uint16_t>(word);
    } else {
      to[i] = static_cast<std::uint8_t>(word);
    }
  }
}

/// The counterpart of load_units.
template <std::uint32_t kUnits, std::uint32_t kWords, std::uint32_t kElement>
__device__ __forceinline__ void store_units(std::uint8_t* to,
                                            bool vector,
                                            std::uint32_t first,
                                            std::uint32_t stride,
                                            std::uint32_t units,
                                            const std::uint32_t (&words)[kUnits][kWords]) {
  if (vector) {
    for (std::uint32_t i = 0; i < kUnits; ++i) {
      if (first + i * stride < units) {
        store_vector<kWords>(to + 4 * kWords * (first + i * stride), words[i]);
      }
    }
  } else {
    for (std::uint32_t i = 0; i < kUnits; ++i) {
      if (first + i * stride < units) {
        store_elements<kWords, kElement>(to + 4 * kWords * (first + i * stride), words[i]);
      }
    }
  }
}

__device__ __forceinline__ RowPlace place_of_row(const AppendTask& task, std::int64_t token) {
  return task.slot >= 0
             ? RowPlace{static_cast<std::uint32_t>(task.slot), static_cast<std::uint32_t>(token)}
             : place_of_token(task.step, token);
}

template <DType kFrom>
__device__ __forceinline__ const std::uint8_t* row_input(const AppendRows& part,
                                                         const RowWork& work) {
  return static_cast<const std::uint8_t*>(part.from.data) +
         (work.token * part.from.token_stride + work.head * part.from.head_stride) *
             kElementBytes<kFrom>;
}

/// Elements of the row's own type: their bits, NaNs' included. 16 bytes a lane and turn, neighbours
/// side by side, also where a unit is longer.
template <DType kType, std::uint32_t kUnits>
__device__ __forceinline__ void copy_row(const AppendTask& task,
                                         const AppendRows& part,
                                         const RowWork& work) {
  constexpr std::uint32_t kPieces = kUnits * kUnitWords<kType> / 4;
  const std::uint8_t* const from = row_input<kType>(part, work);
  const std::uint32_t pieces =
      static_cast<std::uint32_t>(part.rows.head_dim) * kElementBytes<kType> / 16;
  const std::uint32_t lanes = 1u << part.lanes_log2;
  const bool vector_in = is_aligned(from, 16);
  std::uint32_t words[kPieces][4];
  load_units<kPieces, 4, kElementBytes<kType>>(from, vector_in, work.lane, lanes, pieces, words);
  std::uint8_t* const to = row_data(part.rows, work.head, place_of_row(task, work.token));
  const bool vector_out = is_aligned(to, 16);
  store_units<kPieces, 4, kElementBytes<kType>>(to, vector_out, work.lane, lanes,
                                                work.on ? pieces : 0, words);
}

/// The divisor of a quantized row, the same in all of its lanes; stores a scale of the row's own.
template <DType kTo, std::uint32_t kUnits>
__device__ __forceinline__ RowDivisor row_divisor(const AppendRows& part,
                                                  const RowWork& work,
                                                  const RowPlace& place,
                                                  const float (&x)[kUnits][kUnitElements]) {
  float* const scale_at = row_scale(part.rows, work.head, place);
  if (part.rows.scale == KVScale::Static) {
    return {*scale_at, 0.0f, false, 0.0f, 0.0f};
  }
  std::uint32_t largest = 0;
  for (std::uint32_t i = 0; i < kUnits; ++i) {
    largest = max(largest, largest_bits(x[i]));
  }
  for (int step = 1; step < 1 << part.lanes_log2; step *= 2) {
    largest = max(largest, __shfl_xor_sync(0xFFFFFFFFu, largest, step));
  }
  const float scale = scale_of<kTo>(largest);
  if (work.on && work.lane == 0) {
    *scale_at = scale;
  }
  return divisor_of(scale);
}

template <DType kFrom, DType kTo, std::uint32_t kUnits>
__device__ __forceinline__ void convert_row(const AppendTask& task,
                                            const AppendRows& part,
                                            const RowWork& work) {
  constexpr std::uint32_t kToBytes = 4 * kUnitWords<kTo>;
  const std::uint8_t* const from = row_input<kFrom>(part, work);
  const std::uint32_t units = static_cast<std::uint32_t>(part.rows.head_dim) / kUnitElements;
  const std::uint32_t lanes = 1u << part.lanes_log2;
  const bool vector_in = is_aligned(from, 16);
  std::uint32_t in[kUnits][kUnitWords<kFrom>] = {};  // Zeros where the row has no unit.
  load_units<kUnits, kUnitWords<kFrom>, kElementBytes<kFrom>>(from, vector_in, work.lane, lanes,
                                                              units, in);
  float x[kUnits][kUnitElements];
  for (std::uint32_t i = 0; i < kUnits; ++i) {
    widen_unit<kFrom>(in[i], x[i]);
  }
  const RowPlace place = place_of_row(task, work.token);
  std::uint8_t* const to = row_data(part.rows, work.head, place);
  const bool vector_out = is_aligned(to, kToBytes < 16 ? kToBytes : 16);
  RowDivisor by;
  if constexpr (kIsQuantized<kTo>) {
    by = row_divisor<kTo, kUnits>(part, work, place, x);
  }
  std::uint32_t out[kUnits][kUnitWords<kTo>];
  for (std::uint32_t i = 0; i < kUnits; ++i) {
    if constexpr (kIsQuantized<kTo>) {
      quantize_unit<kTo>(x[i], by, out[i]);
    } else {
      narrow_unit<kTo>(x[i], out[i]);
    }
  }
  store_units<kUnits, kUnitWords<kTo>, kElementBytes<kTo>>(to, vector_out, work.lane, lanes,
                                                           work.on ? units : 0, out);
}

template <DType kFrom, DType kTo, std::uint32_t kUnits>
__device__ __forceinline__ void write_row(const AppendTask& task,
                                          const AppendRows& part,
                                          const RowWork& work) {
  if constexpr (kFrom == kTo) {
    copy_row<kTo, kUnits>(task, part, work);
  } else {
    convert_row<kFrom, kTo, kUnits>(task, part, work);
  }
}

/// The types are those of the launch, the same for all threads of a block.
template <DType kFrom, std::uint32_t kUnits>
__device__ __forceinline__ void write_row_as(const AppendTask& task,
                                             const AppendRows& part,
                                             const RowWork& work) {
  switch (part.rows.dtype) {
    case DType::F32:
      return write_row<kFrom, DType::F32, kUnits>(task, part, work);
    case DType::F16:
      return write_row<kFrom, DType::F16, kUnits>(task, part, work);
    case DType::BF16:
      return write_row<kFrom, DType::BF16, kUnits>(task, part, work);
    case DType::E4M3:
      return write_row<kFrom, DType::E4M3, kUnits>(task, part, work);
    case DType::E5M2:
      return write_row<kFrom, DType::E5M2, kUnits>(task, part, work);
    case DType::Int8:
      return write_row<kFrom, DType::Int8, kUnits>(task, part, work);
    default:
      return write_row<kFrom, DType::Int4, kUnits>(task, part, work);
  }
}

template <std::uint32_t kUnits>
__global__ void __launch_bounds__(kAppendThreads, kUnits == 2 ? 6 : 4)
    append_kernel(const AppendTask task) {
  const AppendRows& part = task.parts[blockIdx.y];
  const std::uint32_t lane = threadIdx.x % 32;
  const std::uint32_t group = lane >> part.lanes_log2;
  const std::uint64_t rows_a_warp = 32u >> part.lanes_log2;
  const std::uint64_t rows_a_turn = gridDim.x * (kAppendThreads / 32) * rows_a_warp;
  std::uint64_t first =
      (blockIdx.x * std::uint64_t{kAppendThreads / 32} + threadIdx.x / 32) * rows_a_warp;
  // Whole warps go on or stop, as their lanes meet in shuffles.
  for (; first < task.rows; first += rows_a_turn) {
    RowWork work;
    work.on = first + group < task.rows;
    const std::uint64_t row = work.on ? first + group : task.rows - 1;
    const std::uint64_t token = quotient(row, task.heads);
    work.token = static_cast<std::int64_t>(token);
    work.head = static_cast<std::int64_t>(row - token * task.heads);
    work.lane = lane & ((1u << part.lanes_log2) - 1);
    if (part.from.dtype == DType::F32) {
      write_row_as<DType::F32, kUnits>(task, part, work);
    } else if (part.from.dtype == DType::F16) {
      write_row_as<DType::F16, kUnits>(task, part, work);
    } else {
      write_row_as<DType::BF16, kUnits>(task, part, work);
    }
  }
}

}  // namespace OCTAVO_CUDA_TARGET
}  // namespace octavo::cuda
