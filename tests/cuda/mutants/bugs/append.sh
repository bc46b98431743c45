# The row writer.
# shellcheck shell=bash
bug 10 'multiplies by the reciprocal of the scale, does not divide' values
edit kernels/quantize.cuh <<'EDIT'
      y[i] = quotient_of_row(x[i], by);
====
      y[i] = __fmul_rn(x[i], by.inverse);
EDIT
bug 12 'units beyond the row are stored'
edit kernels/append.cuh <<'EDIT'
work.on ? units : 0, out);
====
work.on ? units + 1 : 0, out);
EDIT
bug 14 'shuffle by the lanes that have a row'
edit kernels/append.cuh <<'EDIT'
  for (int step = 1; step < 1 << part.lanes_log2; step *= 2) {
====
  for (int step = 1; work.on && step < 1 << part.lanes_log2; step *= 2) {
EDIT
bug 15 'row address without the KV head' values
edit kernels/append.cuh <<'EDIT'
  std::uint8_t* const to = row_data(part.rows, work.head, place);
====
  std::uint8_t* const to = row_data(part.rows, 0, place);
EDIT
bug 17 'the largest of half a row' values
edit kernels/append.cuh <<'EDIT'
  for (int step = 1; step < 1 << part.lanes_log2; step *= 2) {
====
  for (int step = 1; step < 1 << part.lanes_log2 >> 1; step *= 2) {
EDIT
bug 18 'lanes without a row write the last one'
edit kernels/append.cuh <<'EDIT'
work.on ? units : 0, out);
====
units, out);
EDIT
bug 19 'the scale of a row with an infinity is infinite' values
edit kernels/quantize.cuh <<'EDIT'
  return largest >= 0x7F800000u ? nan_spec() : scale;
====
  return scale;
EDIT
bug 20 'rows of zeros are divided' values
edit kernels/quantize.cuh <<'EDIT'
  const bool blank = !(scale > 0.0f);
====
  const bool blank = scale != scale;
EDIT
bug 21 'the largest code of int8 is 128' values
edit kernels/quantize.cuh <<'EDIT'
                       : kType == DType::Int8 ? 127.0f
====
                       : kType == DType::Int8 ? 128.0f
EDIT
bug 22 'a ring does not wrap'
edit kernels/rows.cuh <<'EDIT'
  const std::uint32_t row = static_cast<std::uint32_t>(position) - cell * size;
====
  const std::uint32_t row =
      static_cast<std::uint32_t>(position) - (step.table_columns == 1 ? 0 : cell * size);
EDIT
bug 23 'a token goes to the position before its own' values
edit kernels/rows.cuh <<'EDIT'
  const auto behind = static_cast<std::int32_t>(end - token);
====
  const auto behind = static_cast<std::int32_t>(end - token + 1);
EDIT
