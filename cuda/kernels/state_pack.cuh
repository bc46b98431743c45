// Packs: one or four neighbouring elements of F32, F16 or BF16 data, moved as one access and held
// as floats. What the convolution and the recurrences read and write their arrays with.
//
// A pack of four lies at a multiple of its own size: 16 bytes of F32, 8 of the others. The caller
// sees to that.
#pragma once

#include "convert.cuh"
#include "octavo/dtype.h"
#include "platform.cuh"

namespace octavo::cuda {
inline namespace OCTAVO_CUDA_TARGET {

/// A pack as it lies in memory. Loading and decoding are two steps so that a thread can have many
/// loads in flight before it waits for the first.
template <unsigned kPack>
struct RawPack {
  std::uint32_t words[kPack];  ///< The upper half stays unused where elements have 16 bits.
};

template <unsigned kPack>
__device__ __forceinline__ RawPack<kPack> load_raw(DType dtype,
                                                   const void* data,
                                                   std::int64_t index) {
  static_assert(kPack == 1 || kPack == 4);
  RawPack<kPack> raw = {};
  if constexpr (kPack == 4) {
    if (dtype == DType::F32) {
      const uint4 all =
          *reinterpret_cast<const uint4*>(static_cast<const std::uint32_t*>(data) + index);
      raw.words[0] = all.x;
      raw.words[1] = all.y;
      raw.words[2] = all.z;
      raw.words[3] = all.w;
    } else {
      const uint2 all =
          *reinterpret_cast<const uint2*>(static_cast<const std::uint16_t*>(data) + index);
      raw.words[0] = all.x;
      raw.words[1] = all.y;
    }
  } else if (dtype == DType::F32) {
    raw.words[0] = static_cast<const std::uint32_t*>(data)[index];
  } else {
    raw.words[0] = static_cast<const std::uint16_t*>(data)[index];
  }
  return raw;
}

/// The value of a code of F16 or BF16.
__device__ __forceinline__ float half_to_f32(DType dtype, std::uint32_t code) {
  return dtype == DType::F16 ? f16_to_f32(code) : bf16_to_f32(code);
}
__device__ __forceinline__ std::uint32_t f32_to_half(DType dtype, float x) {
  return dtype == DType::F16 ? f32_to_f16(x) : f32_to_bf16(x);
}

/// Two at once, `low` in the lower half.
__device__ __forceinline__ std::uint32_t f32_to_half2(DType dtype, float low, float high) {
  return dtype == DType::F16 ? f32_to_f16x2(low, high) : f32_to_bf16x2(low, high);
}

template <unsigned kPack>
__device__ __forceinline__ void decode(DType dtype,
                                       const RawPack<kPack>& raw,
                                       float (&values)[kPack]) {
  if (dtype == DType::F32) {
    OCTAVO_UNROLL
    for (unsigned i = 0; i < kPack; ++i) {
      values[i] = __uint_as_float(raw.words[i]);
    }
  } else {
    OCTAVO_UNROLL
    for (unsigned i = 0; i < kPack; ++i) {
      values[i] = half_to_f32(dtype, raw.words[i / 2] >> 16 * (i % 2) & 0xFFFFu);
    }
  }
}

template <unsigned kPack>
__device__ __forceinline__ void load_pack(DType dtype,
                                          const void* data,
                                          std::int64_t index,
                                          float (&values)[kPack]) {
  decode<kPack>(dtype, load_raw<kPack>(dtype, data, index), values);
}

template <unsigned kPack>
__device__ __forceinline__ void store_pack(DType dtype,
                                           void* data,
                                           std::int64_t index,
                                           const float (&values)[kPack]) {
  if constexpr (kPack == 1) {
    store_element(dtype, data, index, values[0]);
  } else if (dtype == DType::F32) {
    *reinterpret_cast<float4*>(static_cast<float*>(data) + index) =
        make_float4(values[0], values[1], values[2], values[3]);
  } else {
    *reinterpret_cast<uint2*>(static_cast<std::uint16_t*>(data) + index) =
        make_uint2(f32_to_half(dtype, values[0]) | f32_to_half(dtype, values[1]) << 16,
                   f32_to_half(dtype, values[2]) | f32_to_half(dtype, values[3]) << 16);
  }
}

/// The same to global memory, in one access whatever stands around it.
template <unsigned kPack>
__device__ __forceinline__ void store_global_pack(DType dtype,
                                                  void* data,
                                                  std::int64_t index,
                                                  const float (&values)[kPack]) {
  if constexpr (kPack == 1) {
    store_element(dtype, data, index, values[0]);
  } else if (dtype == DType::F32) {
    store_global(static_cast<float*>(data) + index,
                 make_uint4(__float_as_uint(values[0]), __float_as_uint(values[1]),
                            __float_as_uint(values[2]), __float_as_uint(values[3])));
  } else {
    store_global(static_cast<std::uint16_t*>(data) + index,
                 make_uint2(f32_to_half2(dtype, values[0], values[1]),
                            f32_to_half2(dtype, values[2], values[3])));
  }
}

/// x as it reads back once it is stored as `dtype`.
__device__ __forceinline__ float rounded_to(DType dtype, float x) {
  return dtype == DType::F32 ? x : half_to_f32(dtype, f32_to_half(dtype, x));
}

}  // namespace OCTAVO_CUDA_TARGET
}  // namespace octavo::cuda
