// AttendEngine: attention over the rows of a cache, on all workers of a pool.
//
// A call is cut into groups (up to kTileRows query rows of one sequence and KV head), a group into
// the chunks that its rows see. All chunks of as many groups as the workspace holds are done in
// any order (attend_chunk), then each row's chunks are combined in chunk order. What a row computes
// depends on its own sequence alone, so how a call is cut changes no bit.
//
// Memory for partial results is address space that costs what is touched of it; it is taken once
// and grows only for a group that alone needs more. So a decode step allocates nothing.
//
// Threads: one call at a time.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "attend_chunk.h"
#include "octavo/device_ops.h"
#include "parallel.h"

namespace octavo::ref_cpu {

class AttendEngine {
 public:
  /// `pool` must outlive the engine.
  explicit AttendEngine(ThreadPool& pool);

  void attend(const AttendArg& arg);

 private:
  static constexpr std::int64_t kWorkspaceFloats = std::int64_t{1} << 22;  // 16 MiB.

  // Rows first_row .. + num_rows - 1 of a (sequence, KV head), row x being query token x / group
  // and query head x % group of those that share the KV head.
  struct Group {
    std::int64_t sequence = 0;
    std::int64_t kv_head = 0;
    std::int64_t first_row = 0;
    int num_rows = 0;
    std::int64_t first_token = 0;     // Of the sequence, in the step.
    std::int64_t first_position = 0;  // Of the sequence's first query.
    std::int64_t kv_len = 0;
    std::int64_t first_chunk = 0;
    std::int64_t num_chunks = 0;  // 0: nothing is seen.
    std::int64_t max_sums = 0;    // Offset into max_sums_: [num_chunks, num_rows, 2].
    std::int64_t outs = 0;        // Offset into outs_: [num_chunks, num_rows, v_head_dim].
  };
  struct Item {
    std::int64_t group = 0;
    std::int64_t chunk = 0;  // Of the group, from 0.
  };
  // Positions [begin, end) that a row sees.
  struct Seen {
    std::int64_t begin = 0;
    std::int64_t end = 0;
  };

  // Floats, the first `used` of them taken.
  struct Workspace {
    std::unique_ptr<float[]> floats;
    std::int64_t size = 0;
    std::int64_t used = 0;
    void make_room();
  };

  Group make_group(const AttendArg& arg, Group group) const;
  static Seen seen(const AttendArg& arg, const Group& group, int row);
  void add(const AttendArg& arg, Group group);
  void run(const AttendArg& arg);
  void clear();
  void run_item(const AttendArg& arg, const Item& item, int worker);
  void combine(const AttendArg& arg, const Group& group, int row) const;

  ThreadPool& pool_;
  std::vector<ChunkScratch> scratch_;  // One a worker.
  std::vector<ChunkTask> tasks_;       // One a worker.
  // The groups in work.
  std::vector<Group> groups_;
  std::vector<Item> items_;
  std::vector<Item> rows_;  // What is combined: a group and a row of it.
  Workspace max_sums_;
  Workspace outs_;
};

/// What combine_row reads and writes of one query row; see NUMERICS.md.
struct CombineRow {
  const float* max_sums = nullptr;  ///< m and l of chunk c at [c * max_sum_stride].
  std::int64_t max_sum_stride = 0;
  const float* outs = nullptr;  ///< o of chunk c at [c * out_stride], v_head_dim elements.
  std::int64_t out_stride = 0;
  std::int64_t num_chunks = 0;  ///< 0: nothing is seen.
  std::int64_t v_head_dim = 0;
  const float* sink = nullptr;  ///< The head's sink, or null.
};

/// Writes the row's output, v_head_dim elements, and its (M, L).
void combine_row(const CombineRow& row, float* out, std::array<float, 2>& max_sum) noexcept;

/// ln(sum of exp) of (M, L); -inf where nothing was summed.
float log_sum_exp(const std::array<float, 2>& max_sum) noexcept;

}  // namespace octavo::ref_cpu
