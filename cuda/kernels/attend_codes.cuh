// Codes of cache rows as numbers: any storage format by a choice at run time, for the kernels that
// take every shape. The choice is the same for all threads.
#pragma once

#include "attend_tile.cuh"

namespace octavo::cuda {
inline namespace OCTAVO_CUDA_TARGET {

/// The storage formats of a row.
enum class RowFormat { F32, F16, BF16, E4M3, E5M2, Int8, Int4 };

__device__ __forceinline__ RowFormat format_of(const KVRowsArg& rows) {
  switch (rows.codec) {
    case KVCodec::Int8:
      return RowFormat::Int8;
    case KVCodec::Int4:
      return RowFormat::Int4;
    case KVCodec::E4M3:
      return RowFormat::E4M3;
    case KVCodec::E5M2:
      return RowFormat::E5M2;
    case KVCodec::None:
      break;
  }
  return rows.dtype == DType::F32   ? RowFormat::F32
         : rows.dtype == DType::F16 ? RowFormat::F16
                                    : RowFormat::BF16;
}

__device__ __forceinline__ int bits_of_format(RowFormat format) {
  switch (format) {
    case RowFormat::F32:
      return 32;
    case RowFormat::F16:
    case RowFormat::BF16:
      return 16;
    case RowFormat::Int4:
      return 4;
    default:
      return 8;
  }
}

/// kCount elements as they lie in memory: a whole number of words, or half a word.
template <int kCount>
struct PackedElements {
  Registers<std::uint32_t, kCount> words;
};

/// kBytes bytes, whether aligned to them or not.
template <int kBytes>
__device__ __forceinline__ void load_bytes(const std::uint8_t* from,
                                           bool aligned,
                                           std::uint32_t* words) {
  if (!aligned) {
    OCTAVO_UNROLL
    for (int i = 0; i < (kBytes + 3) / 4; ++i) {
      words[i] = 0;
    }
    OCTAVO_UNROLL
    for (int i = 0; i < kBytes; ++i) {
      words[i / 4] |= std::uint32_t{from[i]} << (8 * (i % 4));
    }
  } else if constexpr (kBytes == 2) {
    words[0] = *reinterpret_cast<const std::uint16_t*>(from);
  } else if constexpr (kBytes == 4) {
    words[0] = *reinterpret_cast<const std::uint32_t*>(from);
  } else if constexpr (kBytes == 8) {
    const uint2 x = *reinterpret_cast<const uint2*>(from);
    words[0] = x.x;
    words[1] = x.y;
  } else {
    OCTAVO_UNROLL
    for (int i = 0; i < kBytes / 16; ++i) {
      const uint4 x = reinterpret_cast<const uint4*>(from)[i];
      words[4 * i] = x.x;
      words[4 * i + 1] = x.y;
      words[4 * i + 2] = x.z;
      words[4 * i + 3] = x.w;
    }
  }
}

/// Whether kCount elements of a row, from a multiple of kCount on, are aligned to their size.
template <int kCount>
__device__ __forceinline__ bool elements_are_aligned(const KVRowsArg& rows) {
  const int bytes = bits_of_format(format_of(rows)) * kCount / 8;
  const auto all = static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(rows.data)) |
                   rows.block_stride_bytes | rows.head_stride_bytes | rows.row_stride_bytes;
  return all % (bytes < 16 ? bytes : 16) == 0;
}

/// Elements first .. first + kCount - 1 of a row; kCount is 4 or 8 and divides `first`.
template <int kCount>
__device__ __forceinline__ PackedElements<kCount> load_elements(RowFormat format,
                                                                const std::uint8_t* row,
                                                                int first,
                                                                bool aligned) {
  PackedElements<kCount> packed;
  switch (bits_of_format(format)) {
    case 32:
      load_bytes<4 * kCount>(row + 4 * first, aligned, packed.words);
      break;
    case 16:
      load_bytes<2 * kCount>(row + 2 * first, aligned, packed.words);
      break;
    case 8:
      load_bytes<kCount>(row + first, aligned, packed.words);
      break;
    default:
      load_bytes<kCount / 2>(row + first / 2, aligned, packed.words);
  }
  return packed;
}

/// Code i of a word's, as an unsigned number of kBits bits.
template <int kBits>
__device__ __forceinline__ std::uint32_t code_at(const std::uint32_t* words, int i) {
  return words[i * kBits / 32] >> (i * kBits % 32) & ((1u << kBits) - 1);
}

template <int kCount>
__device__ __forceinline__ void decode(RowFormat format,
                                       const PackedElements<kCount>& packed,
                                       Registers<float, kCount>& x) {
  const std::uint32_t* const words = packed.words;
  OCTAVO_UNROLL
  for (int i = 0; i < kCount; ++i) {
    switch (format) {
      case RowFormat::F32:
        x[i] = __uint_as_float(words[i]);
        break;
      case RowFormat::F16:
        x[i] = f16_to_f32(code_at<16>(words, i));
        break;
      case RowFormat::BF16:
        x[i] = bf16_to_f32(code_at<16>(words, i));
        break;
      case RowFormat::E4M3:
        if (i % 2 == 0) {
          const float2 both = e4m3x2_to_f32(code_at<16>(words, i / 2));
          x[i] = both.x;
          x[i + 1] = both.y;
        }
        break;
      default:
        x[i] = e5m2_to_f32(code_at<8>(words, i));
    }
  }
}

template <int kCount>
__device__ __forceinline__ void decode(RowFormat format,
                                       const PackedElements<kCount>& packed,
                                       Registers<std::int32_t, kCount>& x) {
  OCTAVO_UNROLL
  for (int i = 0; i < kCount; ++i) {
    x[i] = format == RowFormat::Int8
               ? static_cast<std::int32_t>(static_cast<std::int8_t>(code_at<8>(packed.words, i)))
               : static_cast<std::int32_t>(code_at<4>(packed.words, i)) - 8;
  }
}

}  // namespace OCTAVO_CUDA_TARGET
}  // namespace octavo::cuda
