# The byte movers.
# shellcheck shell=bash
bug 12 'a block table is read one column too far'
edit kernels/copies.cuh <<'EDIT'
slice_bytes(gather.columns * 4, begin)
====
slice_bytes(gather.columns * 4 + 4, begin)
EDIT
bug 17 'the bytes behind the last whole access stay' values
edit kernels/copies.cuh <<'EDIT'
  copy_elements<std::uint8_t>(to + done, from + done, size_bytes - done);
====
  if (done == 0) {
    copy_elements<std::uint8_t>(to + done, from + done, size_bytes - done);
  }
EDIT
bug 18 'the last row of a copy is left out' values
edit kernels/copies.cuh <<'EDIT'
slice_bytes(copy.rows * array.row_bytes, begin);
====
slice_bytes((copy.rows - 1) * array.row_bytes, begin);
EDIT
bug 19 'copies that depend on each other go into one launch'
edit src/taken_blocks.h <<'EDIT'
    if (blocks_[to] != kNone || (blocks_[from] != kNone && is_written_[from])) {
====
    if (blocks_[to] != kNone && is_written_[to]) {
EDIT
bug 20 'slots cleared to the end of their stride' values
edit kernels/copies.cuh <<'EDIT'
slice_bytes(array.slot_bytes, begin));
====
slice_bytes(array.slot_stride_bytes, begin));
EDIT
