#include "attend_chunk.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <new>

#include "simd.h"

namespace octavo::ref_cpu {
namespace {

constexpr std::size_t kAlignment = 64;

// Hands out aligned pieces of one allocation; without one, only counts.
class Carver {
 public:
  explicit Carver(void* memory) : memory_(static_cast<unsigned char*>(memory)) {}

  template <typename T>
  void carve(T*& piece, std::size_t count) {
    if (memory_ != nullptr) {
      piece = new (memory_ + used_) T[count];  // Starts the lifetime; costs nothing for numbers.
    }
    used_ += (count * sizeof(T) + kAlignment - 1) / kAlignment * kAlignment;
  }

  std::size_t used() const { return used_; }

 private:
  unsigned char* memory_;
  std::size_t used_ = 0;
};

std::size_t carve_scratch(ChunkScratch& scratch,
                          void* memory,
                          std::size_t key_dim,
                          std::size_t value_dim) {
  constexpr std::size_t kRows = kTileRows;
  constexpr std::size_t kPositions = kChunk;
  Carver carver(memory);
  carver.carve(scratch.queries, kRows * key_dim);
  carver.carve(scratch.scores, kRows * kPositions);
  carver.carve(scratch.decoded, kPositions * std::max(key_dim, value_dim));
  carver.carve(scratch.sums, kRows * 1024);
  carver.carve(scratch.int_queries, kRows * (key_dim + 8));  // Padded to whole vectors.
  carver.carve(scratch.int_weights, kRows * kPositions);
  return carver.used();
}

const std::uint8_t* row_address(const KVRowsArg& rows,
                                std::int64_t block,
                                std::int64_t head,
                                std::int64_t row) noexcept {
  return static_cast<const std::uint8_t*>(rows.data) + block * rows.block_stride_bytes +
         head * rows.head_stride_bytes + row * rows.row_stride_bytes;
}

// The scales of `count` rows from `row` on.
void locate_scales(const KVRowsArg& rows,
                   std::int64_t block,
                   std::int64_t head,
                   std::int64_t row,
                   int count,
                   float* scales) noexcept {
  if (rows.scales == nullptr) {
    return;
  }
  if (rows.scale == KVScale::Static) {
    std::fill_n(scales, count, rows.scales[head * rows.scale_head_stride]);
    return;
  }
  const float* const from =
      rows.scales + block * rows.scale_block_stride + head * rows.scale_head_stride + row;
  for (int i = 0; i < count; ++i) {
    scales[i] = from[i];
  }
}

}  // namespace

int num_streams(std::int64_t v_head_dim) noexcept {
  return 1024 / static_cast<int>(std::bit_ceil(static_cast<std::uint64_t>(v_head_dim)));
}

void ChunkScratch::Free::operator()(void* memory) const noexcept {
  std::free(memory);
}

void ChunkScratch::prepare(const AttendArg& arg) {
  if (arg.keys.head_dim <= key_dim_ && arg.values.head_dim <= value_dim_) {
    return;
  }
  const std::int64_t key_dim = std::max(key_dim_, arg.keys.head_dim);
  const std::int64_t value_dim = std::max(value_dim_, arg.values.head_dim);
  const auto keys = static_cast<std::size_t>(key_dim);
  const auto values = static_cast<std::size_t>(value_dim);
  void* memory = std::aligned_alloc(kAlignment, carve_scratch(*this, nullptr, keys, values));
  if (memory == nullptr) {
    throw std::bad_alloc();
  }
  memory_.reset(memory);
  carve_scratch(*this, memory, keys, values);
  key_dim_ = key_dim;
  value_dim_ = value_dim;
}

void locate_rows(std::int64_t sequence, std::int64_t chunk, ChunkTask& task) noexcept {
  const AttendArg& arg = *task.arg;
  const KVStepArg& step = arg.step;
  const std::int32_t* const table = step.block_table + sequence * step.table_stride;
  for (int at = task.range.begin; at < task.range.end;) {
    const std::int64_t position = chunk * kAttentionChunk + at;
    const std::int64_t cell = position / step.block_size;
    const std::int64_t row = position - cell * step.block_size;
    const std::int64_t block = table[step.table_columns == 1 ? 0 : cell];
    const int count = static_cast<int>(
        std::min<std::int64_t>(step.block_size - row, std::int64_t{task.range.end} - at));
    const std::uint8_t* key = row_address(arg.keys, block, task.kv_head, row);
    const std::uint8_t* value = row_address(arg.values, block, task.kv_head, row);
    for (int i = 0; i < count; ++i) {
      task.key_rows[static_cast<std::size_t>(at + i)] = key + i * arg.keys.row_stride_bytes;
      task.value_rows[static_cast<std::size_t>(at + i)] = value + i * arg.values.row_stride_bytes;
    }
    locate_scales(arg.keys, block, task.kv_head, row, count, task.key_scales.data() + at);
    locate_scales(arg.values, block, task.kv_head, row, count, task.value_scales.data() + at);
    at += count;
  }
}

void attend_chunk(const ChunkTask& task, ChunkScratch& scratch) noexcept {
#if OCTAVO_HAS_AVX2_TARGET
  if (simd_enabled()) {
    return attend_chunk_avx2(task, scratch);
  }
#endif
  attend_chunk_spec(task, scratch);
}

}  // namespace octavo::ref_cpu
