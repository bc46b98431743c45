// Stored rows read as exact numbers, and attention over them in binary64.
//
// Written from the definitions of the formats and of attention, without a look at any device's
// code: a device that is wrong in the same way everywhere is caught here.
//
// Pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "octavo/dtype.h"
#include "octavo/kv_config.h"

namespace octavo::sim::check {

/// How the bytes of one row are to be read.
struct RowFormat {
  DType dtype = DType::BF16;  ///< Of the elements; Int4 packs two in a byte.
  KVCodec codec = KVCodec::None;
  std::int64_t elements = 0;
};

/// The elements: code times scale, the product exact; `scale` is 1 without a codec.
std::vector<double> read_row(const RowFormat& format, const std::byte* bytes, float scale);

/// The most by which a stored element may differ from `value`, by the definition of the formats
/// and quantizers (ref_cpu/NUMERICS.md, section 3).
double storage_error_max(const RowFormat& format, double value, double scale);

/// softmax(q k / sqrt(elements)) v over all given rows; none give 0.
std::vector<double> attend_exactly(std::span<const float> query,
                                   const std::vector<std::vector<double>>& keys,
                                   const std::vector<std::vector<double>>& values);

}  // namespace octavo::sim::check
