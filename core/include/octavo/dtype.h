// DType: the element types of tensors and of the cache's storage, their widths and names.
//
// Plain values; usable from any thread. The bit layouts of the floating types are those of IEEE 754
// (F32, F16), of the upper half of an F32 (BF16) and of the OCP 8-bit formats (E4M3 without
// infinities, E5M2).
#pragma once

#include <cstdint>
#include <string_view>

namespace octavo {

enum class DType : std::uint8_t {
  F32,
  F16,
  BF16,
  E4M3,
  E5M2,
  Int32,
  Int8,
  Int4,  ///< A logical type only: two elements share a byte, and a tensor holds them as UInt8.
  UInt8,
};

/// Bits of one element: 32, 16, 8 or 4.
int bits_per_element(DType dtype);

/// Bytes of one element. Raises InvalidArgument for Int4, whose elements are half a byte.
std::int64_t bytes_per_element(DType dtype);

/// The type that a tensor of `dtype` elements is stored as: UInt8 for Int4, else `dtype` itself.
DType storage_dtype(DType dtype);

/// Elements of storage_dtype(dtype) that a row of `row_elements` takes: half of them for Int4.
/// Raises InvalidArgument for a negative count, and for an odd one of Int4.
std::int64_t storage_elements(DType dtype, std::int64_t row_elements);

/// Whether elements are F32, F16 or BF16: what an unquantized cache may be stored as.
bool is_floating(DType dtype);

/// The canonical name: "f32", "f16", "bf16", "e4m3", "e5m2", "int32", "int8", "int4", "uint8".
std::string_view to_string(DType dtype);

/// The type of a canonical name or of a spelling the field uses: "float32", "float16", "half",
/// "bfloat16", "fp8_e4m3", "float8_e4m3fn", ... Case does not matter.
/// Raises InvalidArgument for any other name, listing the canonical ones.
DType parse_dtype(std::string_view name);

}  // namespace octavo
