// One chunk of attention: up to kTileRows query rows of one sequence and KV head against the
// positions of one chunk. Chunks, heads and rows are independent of each other.
//
// A *row* is one query head of one query token. attend_chunk_spec is the specification spelled out,
// with Eigen arrays as lanes; attend_chunk_avx2 does the same operations in the same order, laid
// out for AVX2. Both give the same bits; attend_chunk picks.
//
// Threads: a ChunkTask and its scratch belong to one thread at a time.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "octavo/device_ops.h"
#include "octavo/kv_ops.h"

namespace octavo::ref_cpu {

inline constexpr int kChunk = static_cast<int>(kAttentionChunk);
inline constexpr int kTileRows = 32;

/// Streams of the weighted sum: 1024 / bit_ceil(v_head_dim).
int num_streams(std::int64_t v_head_dim) noexcept;

/// Positions [begin, end) of a chunk, relative to its first; empty when begin >= end.
struct ChunkRange {
  int begin = 0;
  int end = 0;
  bool empty() const noexcept { return begin >= end; }
};

/// Memory of one worker, kept from call to call.
class ChunkScratch {
 public:
  /// Makes room for the head dims of `arg`.
  void prepare(const AttendArg& arg);

  // All 64-byte aligned. Dk = keys.head_dim, Dv = values.head_dim.
  float* queries = nullptr;             ///< [kTileRows, Dk]
  float* scores = nullptr;              ///< [kTileRows, kChunk]: dots, then weights.
  float* decoded = nullptr;             ///< [kChunk, max(Dk, Dv)]: rows as floats, or integers.
  float* sums = nullptr;                ///< [kTileRows, 1024]: streams of the weighted sum.
  std::int16_t* int_queries = nullptr;  ///< [kTileRows, Dk padded to 16s], S2.
  std::int32_t* int_weights = nullptr;  ///< [kTileRows, kChunk], S2.

 private:
  struct Free {
    void operator()(void* memory) const noexcept;
  };
  std::unique_ptr<void, Free> memory_;
  std::int64_t key_dim_ = 0;
  std::int64_t value_dim_ = 0;
};

struct ChunkTask {
  const AttendArg* arg = nullptr;
  std::int64_t kv_head = 0;
  int num_rows = 0;
  std::array<std::int64_t, kTileRows> row_token;  ///< Of the step, [0, T).
  std::array<std::int64_t, kTileRows> row_head;   ///< Query head.
  std::array<ChunkRange, kTileRows> row_range;    ///< What the row sees of this chunk.
  ChunkRange range;                               ///< Their union's hull; never empty.

  // Of the positions in `range`; nothing else is set. Scales only where the codec has them.
  std::array<const std::uint8_t*, kChunk> key_rows;
  std::array<const std::uint8_t*, kChunk> value_rows;
  alignas(64) std::array<float, kChunk> key_scales;
  alignas(64) std::array<float, kChunk> value_scales;

  float* max_sum = nullptr;  ///< [num_rows, 2]: m and l; (-inf, 0) for a row with an empty range.
  float* out = nullptr;      ///< [num_rows, Dv]: o; zeros likewise.
};

/// Fills in the addresses and scales of `range` for chunk `chunk` of sequence `sequence`.
void locate_rows(std::int64_t sequence, std::int64_t chunk, ChunkTask& task) noexcept;

void attend_chunk(const ChunkTask& task, ChunkScratch& scratch) noexcept;
void attend_chunk_spec(const ChunkTask& task, ChunkScratch& scratch) noexcept;
/// Only where simd_enabled().
void attend_chunk_avx2(const ChunkTask& task, ChunkScratch& scratch) noexcept;

/// Whether a codec's rows are integers (S2).
inline bool is_integer(KVCodec codec) noexcept {
  return codec == KVCodec::Int8 || codec == KVCodec::Int4;
}

}  // namespace octavo::ref_cpu
