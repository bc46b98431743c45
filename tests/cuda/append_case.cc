#include "append_case.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "rows.h"

namespace octavo::cuda_test {
namespace {

using Int32s = std::vector<std::int32_t>;

Bytes bytes_of(const Int32s& values) {
  const auto* const first = reinterpret_cast<const std::uint8_t*>(values.data());
  return {first, first + values.size() * sizeof(std::int32_t)};
}

KVCodec codec_of(DType dtype) {
  switch (dtype) {
    case DType::E4M3:
      return KVCodec::E4M3;
    case DType::E5M2:
      return KVCodec::E5M2;
    case DType::Int8:
      return KVCodec::Int8;
    case DType::Int4:
      return KVCodec::Int4;
    default:
      return KVCodec::None;
  }
}

// Of what is stored as one.
std::int64_t element_bytes(DType dtype) {
  return dtype == DType::F32 ? 4 : dtype == DType::F16 || dtype == DType::BF16 ? 2 : 1;
}

// A row of one of the kinds on which quantizers and conversions turn.
void fill_row(Random& random, std::int64_t n, float* x) {
  const std::int64_t kind = random.below(10);
  const float most = random.below(2) == 0 ? 127.0f : 7.0f;
  const float unit =
      numerics_test::from_bits(static_cast<std::uint32_t>(64 + random.below(128)) << 23);
  for (std::int64_t i = 0; i < n; ++i) {
    const auto halves = static_cast<float>(random.below(static_cast<std::int64_t>(4 * most)));
    switch (kind) {
      case 0:  // Any bits: NaNs, infinities, subnormals.
        x[i] = numerics_test::from_bits(static_cast<std::uint32_t>(random.next()));
        break;
      case 1:  // Zeros of both signs.
        x[i] = random.below(2) == 0 ? 0.0f : -0.0f;
        break;
      case 2:  // So small that the scale may be 0.
        x[i] = random.unit() * 0x1p-142f;
        break;
      case 3:
      case 4:  // On and halfway between codes.
        x[i] = i == 0 ? most * unit : (halves * 0.5f - most) * unit;
        break;
      default:
        x[i] = random.unit() * unit;
    }
  }
  if (kind == 5) {
    x[random.below(n)] = numerics_test::from_bits(0xFFC12345);
  } else if (kind == 6) {
    x[random.below(n)] = numerics_test::from_bits(0xFF800000);
  }
}

void make_input(Random& random, AppendPart& part, std::int64_t tokens, std::int64_t heads) {
  StepOperandArg& from = part.from;
  const std::int64_t n = part.rows.head_dim;
  const std::int64_t gap = random.below(3) * (random.below(2) == 0 ? 1 : 8);
  from.head_stride = n + gap;
  from.token_stride = heads * from.head_stride + gap;
  if (random.below(4) == 0) {  // Heads outside, tokens inside.
    from.token_stride = n + gap;
    from.head_stride = std::max<std::int64_t>(tokens, 1) * from.token_stride + gap;
  }
  const std::int64_t size = element_bytes(from.dtype);
  part.input_offset = random.below(2) * random.below(16 / size) * size;
  const std::int64_t elements = std::max<std::int64_t>(
      0, (tokens - 1) * from.token_stride + (heads - 1) * from.head_stride + n);
  part.input.assign(static_cast<std::size_t>(part.input_offset + elements * size + 1), 0xFF);
  std::vector<float> x(static_cast<std::size_t>(n));
  for (std::int64_t row = 0; row < tokens * heads; ++row) {
    const std::int64_t first = row / heads * from.token_stride + row % heads * from.head_stride;
    std::uint8_t* const to = part.input.data() + part.input_offset + first * size;
    if (from.dtype != DType::F32 && random.below(8) == 0) {  // Any codes.
      std::generate_n(to, n * size, [&] { return static_cast<std::uint8_t>(random.next()); });
    } else {
      fill_row(random, n, x.data());
      ref_cpu::encode_row(from.dtype, x.data(), n, to, 0);
    }
  }
}

void make_rows(Random& random, AppendPart& part, const AppendCase& test) {
  KVRowsArg& rows = part.rows;
  const std::int64_t size = element_bytes(rows.dtype);
  const std::int64_t row_bytes =
      rows.dtype == DType::Int4 ? rows.head_dim / 2 : rows.head_dim * size;
  const std::int64_t gap = random.below(3) * (random.below(2) == 0 ? size : 16);
  rows.row_stride_bytes = row_bytes + gap;
  rows.head_stride_bytes = test.step.block_size * rows.row_stride_bytes + gap;
  rows.block_stride_bytes = test.kv_heads * rows.head_stride_bytes + gap;
  if (random.below(4) == 0) {  // Rows outside, heads inside.
    rows.head_stride_bytes = row_bytes + gap;
    rows.row_stride_bytes = test.kv_heads * rows.head_stride_bytes;
    rows.block_stride_bytes = test.step.block_size * rows.row_stride_bytes + gap;
  }
  part.data_offset = random.below(2) * random.below(16 / size) * size;
  part.data.assign(
      static_cast<std::size_t>(part.data_offset + test.blocks * rows.block_stride_bytes + 1), 0x7E);
  rows.scale_head_stride = test.step.block_size + random.below(3);
  rows.scale_block_stride = test.kv_heads * rows.scale_head_stride + random.below(3);
  std::int64_t scales = test.blocks * rows.scale_block_stride;
  const bool is_static = rows.scale == KVScale::Static;
  if (is_static) {
    rows.scale_head_stride = 1;
    rows.scale_block_stride = 0;
    scales = test.kv_heads;
  }
  part.scales_offset = 4 * random.below(3);
  part.scales.assign(static_cast<std::size_t>(part.scales_offset + 4 * scales + 1), 0xFF);
  for (std::int64_t head = 0; is_static && head < scales; ++head) {
    const float scale = random.between(0x1p-8f, 8.0f);
    std::memcpy(part.scales.data() + part.scales_offset + 4 * head, &scale, 4);
  }
}

std::int64_t query_length(Random& random, StepShape shape) {
  switch (shape) {
    case StepShape::Decode:
      return 1;
    case StepShape::Mixed:
      return random.below(3) == 0 ? random.below(9) : random.below(2);
    case StepShape::Prefill:
      return random.below(4) == 0 ? 0 : 1 + random.below(23);
  }
  return 0;
}

// Lengths, and a block for each cell that the step writes to; all others are not there.
void make_step(Random& random, StepShape shape, AppendCase& test) {
  KVStepArg& step = test.step;
  const bool paged = random.below(2) == 0;
  step.batch = random.below(6);
  step.block_size = paged ? std::int64_t{1} << random.below(6) : 23 + random.below(30);
  step.cumulative_k = random.below(2) == 0;
  Int32s queries{0};
  Int32s lengths;
  for (std::int64_t i = 0; i < step.batch; ++i) {
    const std::int64_t query_len = query_length(random, shape);
    // Past lengths also beyond the capacity of a continuous row, which is a ring then.
    const std::int64_t past = random.below(2) == 0 ? random.below(4) : random.below(1000);
    step.max_query_len = std::max(step.max_query_len, query_len);
    step.max_kv_len = std::max(step.max_kv_len, past + query_len);
    queries.push_back(queries.back() + static_cast<std::int32_t>(query_len));
    lengths.push_back(static_cast<std::int32_t>(past + query_len));
  }
  step.tokens = queries.back();
  step.table_columns = paged ? step.max_kv_len / step.block_size + 2 : 1;
  step.table_stride = step.table_columns + random.below(3);
  Int32s table(static_cast<std::size_t>(step.batch * step.table_stride + 1), 0x7F7F7F7F);
  Int32s ids;
  const auto query_len = [&](std::size_t i) { return queries[i + 1] - queries[i]; };
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    for (std::int64_t p = lengths[i] - query_len(i); p < lengths[i]; ++p) {
      const std::int64_t column = paged ? p / step.block_size : 0;
      std::int32_t& cell =
          table[i * static_cast<std::size_t>(step.table_stride) + static_cast<std::size_t>(column)];
      if (cell == 0x7F7F7F7F) {
        cell = static_cast<std::int32_t>(ids.size());
        ids.push_back(cell);
      }
    }
  }
  test.blocks = static_cast<std::int64_t>(ids.size()) + 1;
  for (std::int32_t& cell : table) {  // Ids that do not rise.
    cell = cell == 0x7F7F7F7F ? cell : static_cast<std::int32_t>(test.blocks - 1 - cell);
  }
  if (step.cumulative_k) {
    Int32s sums{0};
    for (const std::int32_t length : lengths) {
      sums.push_back(sums.back() + length);
    }
    lengths = sums;
  }
  test.cu_seqlens_q = bytes_of(queries);
  test.cu_seqlens_k = bytes_of(lengths);
  test.cu_seqlens_k.push_back(0);  // None is empty.
  test.block_table = bytes_of(table);
}

AppendPart make_part(Random& random, const RowKind& kind, const AppendCase& test) {
  AppendPart part;
  part.rows.dtype = kind.to;
  part.rows.codec = codec_of(kind.to);
  part.rows.scale = kind.scale;
  part.rows.head_dim = kind.head_dim;
  part.from.dtype = kind.from;
  make_rows(random, part, test);
  make_input(random, part, test.step.tokens, test.kv_heads);
  return part;
}

}  // namespace

AppendCase random_case(Random& random,
                       const RowKind& keys,
                       const RowKind& values,
                       StepShape shape) {
  AppendCase test;
  test.kv_heads = 1 + random.below(3);
  make_step(random, shape, test);
  test.keys = make_part(random, keys, test);
  test.values = make_part(random, values, test);
  return test;
}

LoadedCase::LoadedCase(const AppendCase& test, const std::shared_ptr<Device>& device)
    : key_data_(device, test.keys.data),
      key_scales_(device, test.keys.scales),
      key_(device, test.keys.input),
      value_data_(device, test.values.data),
      value_scales_(device, test.values.scales),
      value_(device, test.values.input),
      cu_seqlens_q_(device, test.cu_seqlens_q),
      cu_seqlens_k_(device, test.cu_seqlens_k),
      block_table_(device, test.block_table),
      arg_{test.step,      test.keys.rows,   test.values.rows,
           test.keys.from, test.values.from, test.kv_heads} {
  arg_.step.cu_seqlens_q = cu_seqlens_q_.at<std::int32_t>();
  arg_.step.cu_seqlens_k = cu_seqlens_k_.at<std::int32_t>();
  arg_.step.block_table = block_table_.at<std::int32_t>();
  arg_.keys.data = key_data_.at(test.keys.data_offset);
  arg_.values.data = value_data_.at(test.values.data_offset);
  arg_.key.data = key_.at(test.keys.input_offset);
  arg_.value.data = value_.at(test.values.input_offset);
  if (test.keys.rows.codec != KVCodec::None) {
    arg_.keys.scales = key_scales_.at<float>(test.keys.scales_offset);
  }
  if (test.values.rows.codec != KVCodec::None) {
    arg_.values.scales = value_scales_.at<float>(test.values.scales_offset);
  }
}

StoreCrossArg LoadedCase::cross(std::int64_t slot) const {
  return {.keys = arg_.keys,
          .values = arg_.values,
          .key = arg_.key,
          .value = arg_.value,
          .kv_heads = arg_.kv_heads,
          .slot = slot,
          .tokens = std::min(arg_.step.tokens, arg_.step.block_size)};
}

Written LoadedCase::read() const {
  return {key_data_.read(), key_scales_.read(), value_data_.read(), value_scales_.read()};
}

}  // namespace octavo::cuda_test
