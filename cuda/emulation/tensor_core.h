// A model of how a Hopper tensor core adds up 16 products of 16-bit floats and a float.
//
// A model, not a contract: vendors do not document this arithmetic, it differs between
// architectures, and what is known of Hopper was found out from outside (MMA-Sim, arXiv 2511.10909;
// Khattak and Mikaitis, arXiv 2512.07004). Results are compared within bounds, never to the bit.
//
//   - The products are exact. The exponent of a product is the sum of its factors' exponents, its
//     significand lies in [1, 4). A zero counts with the exponent -126.
//   - All 17 terms are aligned to the largest exponent, and each is cut off (toward zero) after 25
//     fractional bits.
//   - Their sum is exact, and cut off (toward zero) to binary32; subnormals are kept, and what is
//     too large is infinite.
//   - NaN as ever; the NaN that comes out is 0x7FFFFFFF.
#pragma once

#include <cstdint>

namespace octavo::emulation {

enum class HalfFormat { BF16, F16 };

inline constexpr unsigned kTensorCoreTerms = 16;

/// The 16-bit floats of one row of a or one column of b, taken apart: significand *
/// 2^(exponent - 10).
struct TensorCoreTerms {
  std::int32_t significands[kTensorCoreTerms];
  std::int32_t exponents[kTensorCoreTerms];
  float values[kTensorCoreTerms];
  bool are_finite;
};

TensorCoreTerms tensor_core_terms(HalfFormat format,
                                  const std::uint16_t (&codes)[kTensorCoreTerms]);

/// c + the products of a and b.
float tensor_core_sum(const TensorCoreTerms& a, const TensorCoreTerms& b, float c);

}  // namespace octavo::emulation
