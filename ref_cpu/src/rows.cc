#include "rows.h"

namespace octavo::ref_cpu {

OCTAVO_DISPATCH(
    void,
    decode_row,
    (DType dtype, const void* data, std::int64_t first, std::int64_t n, float* values) noexcept,
    decode_row_lanes,
    (dtype, data, first, n, values))

OCTAVO_DISPATCH(
    void,
    encode_row,
    (DType dtype, const float* values, std::int64_t n, void* data, std::int64_t first) noexcept,
    encode_row_lanes,
    (dtype, values, n, data, first))

}  // namespace octavo::ref_cpu
