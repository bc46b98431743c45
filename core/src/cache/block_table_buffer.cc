#include "cache/block_table_buffer.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "cache/errors.h"
#include "cache/storage_ops.h"

namespace octavo::cache {

BlockTableBuffer::BlockTableBuffer(Tensor table,
                                   Tensor gathered,
                                   std::int64_t mirrored_columns,
                                   bool releases)
    : table_(std::move(table)), gathered_(std::move(gathered)), releases_(releases) {
  max_seqs_ = table_.size(0);
  columns_ = table_.size(1);
  stride_ = at(mirrored_columns);
  constexpr std::size_t kMax = std::numeric_limits<std::size_t>::max();
  if (stride_ > kMax / at(max_seqs_)) {
    throw_address_space("the mirror of the block table");
  }
  mirror_ = VirtualArray<std::int32_t>(at(max_seqs_) * stride_, VirtualMemory::Pages::Small,
                                       "the mirror of the block table");
  rows_ = VirtualArray<Row>(at(max_seqs_), VirtualMemory::Pages::Small, "the block table's rows");
  gathered_rows_ = VirtualArray<Gathered>(at(max_seqs_), VirtualMemory::Pages::Small,
                                          "the gathered block table's rows");
}

void BlockTableBuffer::ensure_known(Uploader& uploader) {
  if (known_) {
    return;
  }
  uploader.clear(table_, 0, max_seqs_ * columns_);
  uploader.clear(gathered_, 0, max_seqs_ * columns_);
  for (std::int64_t i = 0; i < max_seqs_; ++i) {
    if (rows_[at(i)].version != 0) {  // Reading leaves the memory of slots never used untouched.
      rows_[at(i)] = {.cells = 0, .released = 0, .version = rows_[at(i)].version + 1};
    }
    if (gathered_rows_[at(i)].slot_plus_1 != 0) {
      gathered_rows_[at(i)] = {};
    }
  }
  known_ = true;
}

void BlockTableBuffer::sync(int slot,
                            std::span<const std::int32_t> cells,
                            std::int64_t from,
                            Uploader& uploader) {
  Row& row = rows_[at(slot)];
  std::int32_t* held = mirror(slot);
  const std::int64_t row_begin = std::int64_t{slot} * columns_;
  const auto count = static_cast<std::int64_t>(cells.size());
  if (releases_) {
    from = std::min<std::int64_t>(from, row.released);
  }
  std::int64_t i = std::min({from, std::int64_t{row.cells}, count});
  row.released = std::min(row.released, static_cast<std::int32_t>(i));
  bool changed = false;
  while (i < count) {
    if (i < row.cells && held[i] == cells[at(i)]) {
      ++i;
      continue;
    }
    const std::int64_t begin = i;
    while (i < count && (i >= row.cells || held[i] != cells[at(i)])) {
      ++i;
    }
    uploader.upload(table_, row_begin + begin, cells.data() + begin, i - begin);
    std::copy(cells.begin() + begin, cells.begin() + i, held + begin);
    changed = true;
  }
  if (count < row.cells) {
    uploader.clear(table_, row_begin + count, row.cells - count);
    changed = true;
  }
  if (changed) {
    row.cells = static_cast<std::int32_t>(count);
    ++row.version;
  }
  while (row.released < row.cells && held[row.released] == -1) {
    ++row.released;
  }
}

bool BlockTableBuffer::is_gathered(std::size_t row, std::int32_t slot) const noexcept {
  const Gathered& gathered = gathered_rows_[row];
  return gathered.slot_plus_1 == slot + 1 && gathered.version == rows_[at(slot)].version;
}

void BlockTableBuffer::gather(std::span<const std::int32_t> slots,
                              const IntBuffer& slot_ids,
                              Uploader& uploader) {
  std::size_t begin = 0;
  std::size_t end = slots.size();
  while (begin < end && is_gathered(begin, slots[begin])) {
    ++begin;
  }
  while (end > begin && is_gathered(end - 1, slots[end - 1])) {
    --end;
  }
  if (begin == end) {
    return;
  }
  std::int32_t columns = 0;
  for (std::size_t i = begin; i < end; ++i) {
    columns = std::max({columns, rows_[at(slots[i])].cells, gathered_rows_[i].cells});
  }
  if (columns > 0) {
    gather_rows(table_, slot_ids.tensor(), gathered_,
                {.first = static_cast<std::int64_t>(begin),
                 .count = static_cast<std::int64_t>(end - begin),
                 .columns = columns},
                uploader);
  }
  for (std::size_t i = begin; i < end; ++i) {
    const Row& row = rows_[at(slots[i])];
    gathered_rows_[i] = {.slot_plus_1 = slots[i] + 1, .cells = row.cells, .version = row.version};
  }
}

bool BlockTableBuffer::holds(int slot, std::span<const std::int32_t> cells) const noexcept {
  const Row& row = rows_[at(slot)];
  return at(row.cells) == cells.size() && std::equal(cells.begin(), cells.end(), mirror(slot));
}

}  // namespace octavo::cache
