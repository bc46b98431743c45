// Quantizers of cache rows: int8, int4, E4M3 and E5M2, with a scale per token and head or a given
// one. The rules and their bounds: NUMERICS.md.
//
// A row is the head_dim elements of one token and head. Codes: Int8 two's complement in
// [-127, 127]; Int4 code + 8 in [1, 15], element 2i in the low nibble of byte i; fp8 as
// float_bits.h.
//
// Pure functions over the caller's memory, which must not overlap; usable from any thread.
#pragma once

#include <cstdint>

#include "octavo/kv_config.h"

namespace octavo::ref_cpu {

/// The code that the largest magnitude of a row gets: 127, 7, 448, 57344.
float largest_code(KVCodec codec) noexcept;

/// Bytes of a row of `n` elements; `n` is even for Int4.
std::int64_t code_bytes(KVCodec codec, std::int64_t n) noexcept;

/// Writes the codes of x[0 .. n) and the row's scale, max |x| / largest_code(codec).
///   - scale 0 (all of x zero, or so small that the quotient is): every code 0;
///   - a NaN or infinity in x: scale NaN (0x7FFFFFFF), int codes 0, fp8 codes NaN (0x7F).
/// `codec` is not None.
void quantize_row(
    KVCodec codec, const float* x, std::int64_t n, std::uint8_t* codes, float* scale) noexcept;

/// The same with the given scale, finite and positive: x / scale, saturated. A NaN element gives
/// the fp8 code NaN or the int code 0, whatever its neighbours are.
void quantize_row_static(
    KVCodec codec, const float* x, std::int64_t n, float scale, std::uint8_t* codes) noexcept;

/// The exact values of the codes as floats, without any scale: what the attention arithmetic reads.
void decode_codes(KVCodec codec, const std::uint8_t* codes, std::int64_t n, float* values) noexcept;

/// The integer codes of an Int8 or Int4 row.
void unpack_codes(KVCodec codec,
                  const std::uint8_t* codes,
                  std::int64_t n,
                  std::int8_t* integers) noexcept;

/// code * scale, rounded: what a row stands for when it is looked at by itself.
void dequantize_row(
    KVCodec codec, const std::uint8_t* codes, std::int64_t n, float scale, float* values) noexcept;

}  // namespace octavo::ref_cpu
