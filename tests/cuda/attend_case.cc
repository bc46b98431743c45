#include "attend_case.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <utility>

#include "device_under_test.h"
#include "octavo/device_ops.h"
#include "octavo/kv_ops.h"
#include "octavo/ref_cpu/cpu_device.h"
#include "quantize.h"
#include "rows.h"

#include "tests/ref_cpu/numerics/samples.h"

namespace octavo::cuda_test {
namespace {

using numerics_test::Random;

constexpr double kLog2E = 1.4426950408889634;

// Memory of a device with a copy of host bytes in it.
class Upload {
 public:
  Upload(Device& device, const void* data, std::int64_t size_bytes)
      : device_(device), data_(device.allocate(size_bytes)), size_bytes_(size_bytes) {
    if (data != nullptr) {
      device.copy_from_host(data_, data, size_bytes);
    } else {
      device.fill(data_, 0x7F, size_bytes);
    }
  }
  template <typename T>
  Upload(Device& device, const std::vector<T>& values)
      : Upload(device, values.data(), static_cast<std::int64_t>(values.size() * sizeof(T))) {}
  Upload(const Upload&) = delete;
  Upload& operator=(const Upload&) = delete;
  ~Upload() { device_.deallocate(data_, size_bytes_); }

  void* get() const { return data_; }
  template <typename T>
  T* as() const {
    return static_cast<T*>(data_);
  }
  std::vector<float> floats() const {
    std::vector<float> values(static_cast<std::size_t>(size_bytes_) / sizeof(float));
    device_.copy_to_host(values.data(), data_, size_bytes_);
    return values;
  }

 private:
  Device& device_;
  void* data_;
  std::int64_t size_bytes_;
};

// Queries lie apart in odd cases, so that strides count.
std::int64_t head_stride_of(const AttendCase& attend_case) {
  return attend_case.head_dim + (attend_case.seed % 2 == 1 ? 4 : 0);
}

std::vector<std::uint8_t> encoded_queries(const AttendCase& attend_case, const CaseData& data) {
  const std::int64_t stride = head_stride_of(attend_case);
  const std::int64_t rows = attend_case.tokens() * attend_case.q_heads();
  const auto size = static_cast<std::size_t>(bytes_per_element(attend_case.query_dtype));
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(rows * stride) * size, 0x7F);
  for (std::int64_t row = 0; row < rows; ++row) {
    ref_cpu::encode_row(attend_case.query_dtype, data.queries.data() + row * attend_case.head_dim,
                        attend_case.head_dim, bytes.data(), row * stride);
  }
  return bytes;
}

KVRowsArg rows_arg(const AttendCase& attend_case,
                   const CaseRows& rows,
                   std::int64_t row_bytes,
                   const Upload& data,
                   const Upload& scales) {
  const bool is_static = rows.scale == KVScale::Static;
  const std::int64_t heads = attend_case.kv_heads;
  const std::int64_t size = attend_case.block_size;
  return {.data = data.get(),
          .scales = rows.codec == KVCodec::None ? nullptr : scales.as<float>(),
          .dtype = rows.dtype,
          .codec = rows.codec,
          .scale = rows.scale,
          .head_dim = attend_case.head_dim,
          .block_stride_bytes = heads * size * row_bytes,
          .head_stride_bytes = size * row_bytes,
          .row_stride_bytes = row_bytes,
          .scale_block_stride = is_static ? 0 : heads * size,
          .scale_head_stride = is_static ? 1 : size};
}

std::int32_t largest_of(const std::vector<std::int32_t>& values) {
  return *std::max_element(values.begin(), values.end());
}

std::vector<std::int32_t> sums_of(const std::vector<std::int32_t>& values) {
  std::vector<std::int32_t> sums{0};
  for (const std::int32_t value : values) {
    sums.push_back(sums.back() + value);
  }
  return sums;
}

std::vector<float> sinks_of(const AttendCase& attend_case) {
  std::vector<float> sinks;
  for (std::int64_t head = 0; head < attend_case.q_heads(); ++head) {
    sinks.push_back(case_sink(attend_case, head));
  }
  return sinks;
}

// What a call reads. Even cases have cumulative lengths.
struct Inputs {
  Inputs(const AttendCase& attend_case, const CaseData& data, Device& device)
      : query(device, encoded_queries(attend_case, data)),
        keys(device, data.rows[0]),
        values(device, data.rows[1]),
        key_scales(device, data.scales[0]),
        value_scales(device, data.scales[1]),
        table(device, data.block_table),
        seqlens_q(device, sums_of(attend_case.queries)),
        seqlens_k(device,
                  attend_case.seed % 2 == 0 ? sums_of(attend_case.lengths) : attend_case.lengths),
        sinks(device, sinks_of(attend_case)) {}

  KVStepArg step(const AttendCase& attend_case, const CaseData& data) const {
    return {.cu_seqlens_q = seqlens_q.as<std::int32_t>(),
            .cu_seqlens_k = seqlens_k.as<std::int32_t>(),
            .cumulative_k = attend_case.seed % 2 == 0,
            .block_table = table.as<std::int32_t>(),
            .table_stride = data.columns,
            .table_columns = data.columns,
            .block_size = attend_case.block_size,
            .batch = static_cast<std::int64_t>(attend_case.lengths.size()),
            .tokens = attend_case.tokens(),
            .max_query_len = largest_of(attend_case.queries),
            .max_kv_len = largest_of(attend_case.lengths)};
  }

  Upload query, keys, values, key_scales, value_scales, table, seqlens_q, seqlens_k, sinks;
};

// Roughly normal, in (-3, 3).
float bell(Random& random) {
  return random.unit() + random.unit() + random.unit();
}

// Bytes of one row of plausible numbers.
std::vector<std::uint8_t> draw_row(const CaseRows& rows, std::int64_t dim, Random& random) {
  std::vector<float> x(static_cast<std::size_t>(dim));
  std::generate(x.begin(), x.end(), [&] { return bell(random); });
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(dim) * 4);
  if (rows.codec == KVCodec::None) {
    ref_cpu::encode_row(rows.dtype, x.data(), dim, bytes.data(), 0);
    bytes.resize(static_cast<std::size_t>(dim * bytes_per_element(rows.dtype)));
  } else {
    float scale = 0.0f;
    ref_cpu::quantize_row(rows.codec, x.data(), dim, bytes.data(), &scale);
    bytes.resize(static_cast<std::size_t>(ref_cpu::code_bytes(rows.codec, dim)));
  }
  return bytes;
}

void draw_storage(const AttendCase& attend_case, Random& random, CaseData& data) {
  // The last block is in use: what reads beyond a row may leave the storage.
  const std::int64_t blocks = largest_of(data.block_table) + 1;
  const std::int64_t rows = blocks * attend_case.kv_heads * attend_case.block_size;
  for (const int part : {0, 1}) {
    const CaseRows& kind = part == 0 ? attend_case.keys : attend_case.values;
    const float unit =
        kind.codec == KVCodec::None ? 1.0f : 2.5f / ref_cpu::largest_code(kind.codec);
    data.row_bytes[part] =
        static_cast<std::int64_t>(draw_row(kind, attend_case.head_dim, random).size());
    data.rows[part].assign(static_cast<std::size_t>(rows * data.row_bytes[part]), 0x7F);
    const bool is_static = kind.scale == KVScale::Static;
    data.scales[part].assign(static_cast<std::size_t>(is_static ? attend_case.kv_heads : rows),
                             std::numeric_limits<float>::quiet_NaN());
    for (float& x : data.scales[part]) {
      x = is_static ? random.between(0.5f, 1.5f) * unit : x;
    }
    for (std::size_t i = 0; i < attend_case.lengths.size(); ++i) {
      for (std::int64_t p = attend_case.first_seen(i); p < attend_case.lengths[i]; ++p) {
        for (std::int64_t head = 0; head < attend_case.kv_heads; ++head) {
          const std::int64_t at = attend_case.place(data, i, p, head);
          const auto row = draw_row(kind, attend_case.head_dim, random);
          std::copy(row.begin(), row.end(), data.rows[part].begin() + at * data.row_bytes[part]);
          if (!is_static) {
            data.scales[part][static_cast<std::size_t>(at)] = random.between(0.5f, 1.5f) * unit;
          }
        }
      }
    }
  }
}

// Blocks in any order, and none for cells that no query sees.
void draw_table(const AttendCase& attend_case, Random& random, CaseData& data) {
  const std::int64_t longest = largest_of(attend_case.lengths);
  data.columns =
      attend_case.paged ? (longest + attend_case.block_size - 1) / attend_case.block_size : 1;
  const auto cells = static_cast<std::size_t>(data.columns) * attend_case.lengths.size();
  std::vector<std::int32_t> ids(cells + 2);
  std::iota(ids.begin(), ids.end(), 0);
  for (std::size_t i = ids.size(); i > 1; --i) {
    std::swap(ids[i - 1],
              ids[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(i)))]);
  }
  data.block_table.assign(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(cells));
  for (std::size_t i = 0; i < attend_case.lengths.size() && attend_case.paged; ++i) {
    const std::int64_t first = attend_case.first_seen(i) / attend_case.block_size;
    for (std::int64_t column = 0; column < data.columns; ++column) {
      if (column < first || column * attend_case.block_size >= attend_case.lengths[i]) {
        data.block_table[i * static_cast<std::size_t>(data.columns) +
                         static_cast<std::size_t>(column)] = -1;
      }
    }
  }
}

std::string first_difference(const char* what,
                             const std::vector<float>& a,
                             const std::vector<float>& b) {
  if (a.size() != b.size()) {
    return std::string(what) + ": sizes differ";
  }
  for (std::size_t i = 0; i < a.size(); ++i) {
    const bool both_nan = std::isnan(a[i]) && std::isnan(b[i]);
    if (!both_nan && std::bit_cast<std::uint32_t>(a[i]) != std::bit_cast<std::uint32_t>(b[i])) {
      return std::string(what) + "[" + std::to_string(i) + "] of " + std::to_string(a.size()) +
             " is " + std::to_string(a[i]) + ", not " + std::to_string(b[i]);
    }
  }
  return {};
}

}  // namespace

std::int64_t AttendCase::tokens() const {
  return std::accumulate(queries.begin(), queries.end(), std::int64_t{0});
}

std::int64_t AttendCase::place(const CaseData& data,
                               std::size_t sequence,
                               std::int64_t position,
                               std::int64_t kv_head) const {
  const std::int64_t column = paged ? position / block_size : 0;
  const std::int64_t block = data.block_table[sequence * static_cast<std::size_t>(data.columns) +
                                              static_cast<std::size_t>(column)];
  return (block * kv_heads + kv_head) * block_size + position % block_size;
}

std::int64_t AttendCase::first_seen(std::size_t sequence) const {
  const std::int64_t first_query =
      causal ? lengths[sequence] - queries[sequence] + 1 : std::int64_t{lengths[sequence]};
  return window > 0 ? std::max<std::int64_t>(0, first_query - window) : 0;
}

float case_sink(const AttendCase& attend_case, std::int64_t q_head) {
  Random random(attend_case.seed * 100 + 7 + static_cast<std::uint64_t>(q_head));
  return random.between(-2.0f, 4.0f);
}

CaseData make_data(const AttendCase& attend_case) {
  Random random(attend_case.seed);
  CaseData data;
  draw_table(attend_case, random, data);
  draw_storage(attend_case, random, data);
  const std::int64_t count = attend_case.tokens() * attend_case.q_heads() * attend_case.head_dim;
  data.queries.resize(static_cast<std::size_t>(count));
  std::generate(data.queries.begin(), data.queries.end(),
                [&] { return bell(random) * attend_case.magnitude; });
  if (attend_case.edit) {
    attend_case.edit(attend_case, data);
  }
  return data;
}

CaseResult run_case(const AttendCase& attend_case, const CaseData& data, Device& device) {
  const std::int64_t heads = attend_case.q_heads();
  const std::int64_t dim = attend_case.head_dim;
  const std::int64_t chunks =
      (largest_of(attend_case.lengths) + kAttentionChunk - 1) / kAttentionChunk;
  const Inputs inputs(attend_case, data, device);
  const std::int64_t rows = attend_case.tokens() * heads;
  const std::int64_t out_bytes = rows * dim * bytes_per_element(attend_case.out_dtype);
  const Upload out(device, nullptr, out_bytes);
  const Upload lse(device, nullptr, rows * 4);
  const Upload max_sum(device, nullptr, rows * 8);
  const Upload partial_max_sum(device, nullptr, rows * chunks * 8);
  const Upload partial_out(device, nullptr, rows * chunks * dim * 4);
  const auto scale =
      static_cast<double>(static_cast<float>(1.0 / std::sqrt(static_cast<double>(dim))));
  const auto cap = static_cast<double>(attend_case.soft_cap);
  const std::int64_t stride = head_stride_of(attend_case);
  device.attend({.step = inputs.step(attend_case, data),
                 .keys = rows_arg(attend_case, attend_case.keys, data.row_bytes[0], inputs.keys,
                                  inputs.key_scales),
                 .values = rows_arg(attend_case, attend_case.values, data.row_bytes[1],
                                    inputs.values, inputs.value_scales),
                 .query = {inputs.query.get(), attend_case.query_dtype, heads * stride, stride},
                 .out = {out.get(), attend_case.out_dtype, heads * dim, dim},
                 .kv_heads = attend_case.kv_heads,
                 .q_heads = heads,
                 .window = attend_case.window,
                 .causal = attend_case.causal,
                 .score_factor = static_cast<float>(cap > 0.0 ? scale / cap : scale * kLog2E),
                 .cap_factor = static_cast<float>(cap * kLog2E),
                 .sinks = attend_case.sinks ? inputs.sinks.as<float>() : nullptr,
                 .max_sum = max_sum.as<float>(),
                 .lse = lse.as<float>(),
                 .partial_max_sum = attend_case.partials ? partial_max_sum.as<float>() : nullptr,
                 .partial_out = attend_case.partials ? partial_out.as<float>() : nullptr,
                 .max_chunks = attend_case.partials ? chunks : 0});
  std::vector<std::uint8_t> out_codes(static_cast<std::size_t>(out_bytes));
  device.copy_to_host(out_codes.data(), out.get(), out_bytes);
  CaseResult result{.out = std::vector<float>(static_cast<std::size_t>(rows * dim)),
                    .lse = lse.floats(),
                    .max_sum = max_sum.floats(),
                    .partial_max_sum = {},
                    .partial_out = {}};
  ref_cpu::decode_row(attend_case.out_dtype, out_codes.data(), 0, rows * dim, result.out.data());
  if (attend_case.partials) {
    result.partial_max_sum = partial_max_sum.floats();
    result.partial_out = partial_out.floats();
  }
  return result;
}

std::string difference(const CaseResult& a, const CaseResult& b) {
  for (const auto& [what, member] :
       {std::pair{"partial_max_sum", &CaseResult::partial_max_sum},
        std::pair{"partial_out", &CaseResult::partial_out},
        std::pair{"max_sum", &CaseResult::max_sum}, std::pair{"lse", &CaseResult::lse},
        std::pair{"out", &CaseResult::out}}) {
    const std::string text = first_difference(what, a.*member, b.*member);
    if (!text.empty()) {
      return text;
    }
  }
  return {};
}

std::string compare_case(const AttendCase& attend_case, std::uint64_t schedule_seed) {
  const CaseData data = make_data(attend_case);
  const std::shared_ptr<Device> reference = make_cpu_device(1);
  const std::shared_ptr<Device> device = tuned_device_under_test(schedule_seed);
  return difference(run_case(attend_case, data, *device), run_case(attend_case, data, *reference));
}

}  // namespace octavo::cuda_test
