#include "append.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "octavo/kv_ops.h"
#include "quantize.h"
#include "rows.h"

namespace octavo::ref_cpu {
namespace {

constexpr std::int64_t kTokensAtOnce = 32;

struct Place {
  std::int64_t block = 0;
  std::int64_t row = 0;
};

// One token's keys or values of one head.
void write_row(const StepOperandArg& from,
               std::int64_t token,
               std::int64_t head,
               const KVRowsArg& rows,
               Place place) {
  auto* const row = static_cast<std::uint8_t*>(rows.data) + place.block * rows.block_stride_bytes +
                    head * rows.head_stride_bytes + place.row * rows.row_stride_bytes;
  const std::int64_t first = token * from.token_stride + head * from.head_stride;
  if (from.dtype == rows.dtype) {
    const std::int64_t element_bytes = from.dtype == DType::F32 ? 4 : 2;
    std::memcpy(row, static_cast<const std::uint8_t*>(from.data) + first * element_bytes,
                static_cast<std::size_t>(rows.head_dim * element_bytes));
    return;
  }
  alignas(64) std::array<float, kMaxHeadDim> values;
  decode_row(from.dtype, from.data, first, rows.head_dim, values.data());
  if (rows.codec == KVCodec::None) {
    encode_row(rows.dtype, values.data(), rows.head_dim, row, 0);
  } else if (rows.scale == KVScale::Static) {
    const float scale = rows.scales[head * rows.scale_head_stride];
    quantize_row_static(rows.codec, values.data(), rows.head_dim, scale, row);
  } else {
    float* const scale = rows.scales + place.block * rows.scale_block_stride +
                         head * rows.scale_head_stride + place.row;
    quantize_row(rows.codec, values.data(), rows.head_dim, row, scale);
  }
}

// Where the tokens of the step go, asked for in rising order from `first` on.
class TokenPlaces {
 public:
  TokenPlaces(const KVStepArg& step, std::int64_t first) : step_(step) {
    const std::int32_t* const ends = step.cu_seqlens_q + 1;
    sequence_ = std::upper_bound(ends, ends + step.batch, first) - ends;
  }

  Place of(std::int64_t token) {
    while (token >= step_.cu_seqlens_q[sequence_ + 1]) {
      ++sequence_;
    }
    const std::int64_t end = step_.cu_seqlens_q[sequence_ + 1];
    const std::int64_t length =
        step_.cumulative_k
            ? std::int64_t{step_.cu_seqlens_k[sequence_ + 1]} - step_.cu_seqlens_k[sequence_]
            : std::int64_t{step_.cu_seqlens_k[sequence_]};
    const std::int64_t position = length - (end - token);
    const std::int64_t cell = position / step_.block_size;
    const std::int32_t* const table = step_.block_table + sequence_ * step_.table_stride;
    return {table[step_.table_columns == 1 ? 0 : cell], position - cell * step_.block_size};
  }

 private:
  const KVStepArg& step_;
  std::int64_t sequence_ = 0;
};

}  // namespace

void append_rows(const AppendArg& arg, ThreadPool& pool) {
  const std::int64_t tokens = arg.step.tokens;
  const std::int64_t items = (tokens + kTokensAtOnce - 1) / kTokensAtOnce;
  pool.run(items, [&](std::int64_t item, int /*worker*/) {
    const std::int64_t first = item * kTokensAtOnce;
    const std::int64_t end = std::min(first + kTokensAtOnce, tokens);
    TokenPlaces places(arg.step, first);
    // Heads inside: a token's heads lie side by side, and reading waits where writing does not.
    for (std::int64_t token = first; token < end; ++token) {
      const Place place = places.of(token);
      for (std::int64_t head = 0; head < arg.kv_heads; ++head) {
        write_row(arg.key, token, head, arg.keys, place);
        write_row(arg.value, token, head, arg.values, place);
      }
    }
  });
}

void store_cross_rows(const StoreCrossArg& arg, ThreadPool& pool) {
  const std::int64_t items = (arg.tokens + kTokensAtOnce - 1) / kTokensAtOnce;
  pool.run(items, [&](std::int64_t item, int /*worker*/) {
    const std::int64_t first = item * kTokensAtOnce;
    const std::int64_t end = std::min(first + kTokensAtOnce, arg.tokens);
    for (std::int64_t token = first; token < end; ++token) {
      for (std::int64_t head = 0; head < arg.kv_heads; ++head) {
        write_row(arg.key, token, head, arg.keys, {arg.slot, token});
        write_row(arg.value, token, head, arg.values, {arg.slot, token});
      }
    }
  });
}

}  // namespace octavo::ref_cpu
