// BlockTableBuffer: the device's block table, the rows of it that a step has gathered, and the
// host's memory of what both hold.
//
// A device row is as long as the plan says; behind a slot's cells it reads -1. `sync` brings one
// slot's row up to date; `gather` brings the step's table up to date, on the device, for the
// sequences whose slot or row has changed since they were gathered.
//
// Threads: one thread. Errors: what the device raises; then `forget` must be called.
#pragma once

#include <cstdint>
#include <span>

#include "base/virtual_memory.h"
#include "cache/int_buffer.h"
#include "cache/uploader.h"

namespace octavo::cache {

class BlockTableBuffer {
 public:
  BlockTableBuffer() = default;
  /// `table` and `gathered`: [max_seqs, columns] Int32. `mirrored_columns`: cells that a row of the
  /// block manager can have, at most `columns`. `releases`: a window may release leading cells.
  BlockTableBuffer(Tensor table, Tensor gathered, std::int64_t mirrored_columns, bool releases);

  /// Makes the row of `slot` read `cells`, then -1. Cells before `from`, except leading ones that a
  /// window has released since, are taken to be as they were.
  void sync(int slot, std::span<const std::int32_t> cells, std::int64_t from, Uploader& uploader);

  /// Makes row i of the step's table the row of slots[i]. `slot_ids` holds `slots` on the device.
  /// REQUIRES: the slots are in sync.
  void gather(std::span<const std::int32_t> slots, const IntBuffer& slot_ids, Uploader& uploader);

  /// Nothing is known of the device's tables any more. Every slot that has cells must be synced
  /// from 0 before a table is handed out.
  void forget() noexcept { known_ = false; }

  /// Whether the mirror of the row is exactly `cells`; for audits.
  bool holds(int slot, std::span<const std::int32_t> cells) const noexcept;
  bool known() const noexcept { return known_; }

  const Tensor& table() const noexcept { return table_; }
  Tensor gathered(std::int64_t batch) const { return gathered_.slice(0, 0, batch); }

  /// Once after construction and after `forget`: every cell of both tables reads -1.
  void ensure_known(Uploader& uploader);

 private:
  // Lengths are those of the part of a device row that may read other than -1.
  struct Row {
    std::int32_t cells;
    std::int32_t released;  ///< Leading cells that read -1.
    std::uint64_t version;  ///< Counts changes.
  };
  struct Gathered {
    std::int32_t slot_plus_1;  ///< 0: nothing.
    std::int32_t cells;
    std::uint64_t version;
  };

  std::int32_t* mirror(int slot) noexcept {
    return mirror_.data() + static_cast<std::size_t>(slot) * stride_;
  }
  const std::int32_t* mirror(int slot) const noexcept {
    return mirror_.data() + static_cast<std::size_t>(slot) * stride_;
  }
  bool is_gathered(std::size_t row, std::int32_t slot) const noexcept;

  Tensor table_;
  Tensor gathered_;
  std::int64_t max_seqs_ = 0;
  std::int64_t columns_ = 0;
  std::size_t stride_ = 0;
  bool releases_ = false;
  bool known_ = false;
  VirtualArray<std::int32_t> mirror_;  ///< [max_seqs, stride_]; the first rows_[slot].cells count.
  VirtualArray<Row> rows_;
  VirtualArray<Gathered> gathered_rows_;
};

}  // namespace octavo::cache
