// The quantization contract: which codec goes with which scale, and which scales must be given.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "octavo/kv_config.h"

namespace octavo {

/// The storage type of a codec; `kv_dtype` without one.
DType codec_dtype(KVCodec codec, DType kv_dtype);

/// Raises InvalidArgument, naming `argument`, when a Static scale goes with anything but E4M3 and
/// E5M2.
void check_quant(const KVQuantSpec& quant, const std::string& argument);

/// The scales of a row's heads: `kv_heads` values for a Static scale (a single one given is
/// repeated), none otherwise.
/// Raises InvalidArgument, naming `argument`, for a count other than 1 or kv_heads, a value that is
/// not finite and positive, and for scales given where the quantization takes none.
std::vector<float> resolve_static_scales(const KVQuantSpec& quant,
                                         const std::vector<float>& scales,
                                         std::int64_t kv_heads,
                                         const std::string& argument);

}  // namespace octavo
