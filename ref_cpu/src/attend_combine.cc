// Chunks become one result: maxima, then sums over the chunks in their order.
#include <algorithm>

#include "attend.h"
#include "exact_math.h"
#include "simd.h"

namespace octavo::ref_cpu {
namespace {

OCTAVO_LANES void combine_lanes(const CombineRow& row,
                                float* out,
                                std::array<float, 2>& max_sum) noexcept {
  float m = kMinusInfinity;
  for (std::int64_t c = 0; c < row.num_chunks; ++c) {
    const float chunk_m = row.max_sums[c * row.max_sum_stride];
    m = chunk_m > m ? chunk_m : m;
  }
  float sink = kMinusInfinity;
  if (row.sink != nullptr) {
    sink = *row.sink * kLog2E + 0.0f;
    m = sink > m ? sink : m;
  }
  for (std::int64_t d = 0; d < row.v_head_dim; ++d) {
    out[d] = 0.0f;
  }
  if (row.num_chunks == 0) {
    max_sum = {m, m > kMinusInfinity ? 1.0f : 0.0f};
    return;
  }
  float l = row.sink != nullptr ? exp2_spec(sink - m) : 0.0f;
  for (std::int64_t c = 0; c < row.num_chunks; ++c) {
    const float* const chunk = row.max_sums + c * row.max_sum_stride;
    const float* const chunk_out = row.outs + c * row.out_stride;
    const float x = exp2_spec(chunk[0] - m);
    l = fma_rn(chunk[1], x, l);
    for (std::int64_t d = 0; d < row.v_head_dim; ++d) {
      out[d] = fma_rn(chunk_out[d], x, out[d]);
    }
  }
  for (std::int64_t d = 0; d < row.v_head_dim; ++d) {
    out[d] = one_nan(out[d] / l);
  }
  max_sum = {m, one_nan(l)};
}

}  // namespace

OCTAVO_DISPATCH(void,
                combine_row,
                (const CombineRow& row, float* out, std::array<float, 2>& max_sum) noexcept,
                combine_lanes,
                (row, out, max_sum))

float log_sum_exp(const std::array<float, 2>& max_sum) noexcept {
  const auto [m, l] = max_sum;
  if (m == kMinusInfinity && l == 0.0f) {
    return kMinusInfinity;
  }
  return one_nan(fma_rn(m, kLn2High, fma_rn(m, kLn2Low, log_spec(l))));
}

}  // namespace octavo::ref_cpu
