// One attention call over storage that a test fills as it likes: any codes, scales and queries,
// also those that no append would write. The same bytes are given to each device.
//
// Positions that no query sees have no block in the table and poison in storage.
//
// Threads: one at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "octavo/device.h"
#include "octavo/dtype.h"
#include "octavo/kv_config.h"

namespace octavo::cuda_test {

/// The rows of keys or values.
struct CaseRows {
  DType dtype = DType::Int8;  ///< UInt8 for Int4.
  KVCodec codec = KVCodec::Int8;
  KVScale scale = KVScale::PerTokenHead;
};

/// What a case was drawn as; `edit` of the case may change it.
struct CaseData {
  std::vector<float> queries;             ///< [T, q_heads, head_dim], rounded to their dtype later.
  std::vector<std::uint8_t> rows[2];      ///< Keys, values: [blocks, kv_heads, block_size, row].
  std::vector<float> scales[2];           ///< [blocks, kv_heads, block_size], or [kv_heads].
  std::vector<std::int32_t> block_table;  ///< [sequences, columns]
  std::int64_t columns = 0;
  std::int64_t row_bytes[2] = {0, 0};
};

struct AttendCase {
  std::uint64_t seed = 1;
  CaseRows keys = {};
  CaseRows values = {};
  std::int64_t kv_heads = 2;
  std::int64_t group = 2;
  std::int64_t head_dim = 64;
  DType query_dtype = DType::BF16;
  DType out_dtype = DType::F32;
  std::vector<std::int32_t> lengths = {40};  ///< Of the sequences, queries included.
  std::vector<std::int32_t> queries = {1};   ///< Tokens of each.
  bool paged = true;
  std::int64_t block_size =
      16;  ///< Or the capacity of a continuous row; then a ring with `window`.
  std::int64_t window = 0;
  bool causal = true;
  float soft_cap = 0.0f;
  bool sinks = false;
  bool partials = true;
  float magnitude = 1.0f;  ///< Of queries.
  std::function<void(const AttendCase&, CaseData&)> edit = nullptr;

  std::int64_t q_heads() const { return kv_heads * group; }
  std::int64_t tokens() const;
  /// Which row of storage holds a position of a sequence: an index into scales, and of a row.
  std::int64_t place(const CaseData& data,
                     std::size_t sequence,
                     std::int64_t position,
                     std::int64_t kv_head) const;
  /// The first position that some query of the sequence sees.
  std::int64_t first_seen(std::size_t sequence) const;
};

/// Results as floats, exactly.
struct CaseResult {
  std::vector<float> out;              ///< [T, q_heads, head_dim]
  std::vector<float> lse;              ///< [T, q_heads]
  std::vector<float> max_sum;          ///< [T, q_heads, 2]
  std::vector<float> partial_max_sum;  ///< [T, q_heads, chunks, 2]
  std::vector<float> partial_out;      ///< [T, q_heads, chunks, head_dim]
};

/// The numbers of a case, edited.
CaseData make_data(const AttendCase& attend_case);

/// The sink of a query head.
float case_sink(const AttendCase& attend_case, std::int64_t q_head);

CaseResult run_case(const AttendCase& attend_case, const CaseData& data, Device& device);

/// What differs, as text; empty when every bit agrees, NaNs as a class.
std::string difference(const CaseResult& a, const CaseResult& b);

/// What differs between the tuned kernels, run with that seed, and the reference.
std::string compare_case(const AttendCase& attend_case, std::uint64_t schedule_seed = 0);

}  // namespace octavo::cuda_test
