# The combination of chunks, behind attention over float rows.
# shellcheck shell=bash
bug 10 'multiplies by the reciprocal, does not divide'
edit kernels/attend_combine.cuh <<'EDIT'
one_nan(__fdiv_rn(sums[e], l))
====
one_nan(__fmul_rn(sums[e], __fdiv_rn(1.0f, l)))
EDIT
bug 2 'no barrier of the warp between weights and sums'
edit kernels/attend_combine.cuh <<'EDIT'
    __syncwarp();
    add_chunks<kQuads>(
====
    add_chunks<kQuads>(
EDIT
bug 3 'no barrier of the warp before the next weights are written'
edit kernels/attend_combine.cuh <<'EDIT'
    __syncwarp();  // The batch before is done with.
====
EDIT
bug 16 'a few threads return early'
edit kernels/attend_combine.cuh <<'EDIT'
  const float m = max_of_chunks(plan, row);
====
  if (lane >= 16 && 4 * lane >= v_head_dim) {
    return;
  }
  const float m = max_of_chunks(plan, row);
EDIT
bug 17 'multiply and add for fma over the chunks' values
edit kernels/attend_combine.cuh <<'EDIT'
__fmaf_rn(part[i][q].x, weight.x, o[q].x)
====
__fadd_rn(__fmul_rn(part[i][q].x, weight.x), o[q].x)
EDIT
bug 18 'the sink is no part of the sum' values
edit kernels/attend_combine.cuh <<'EDIT'
  float l = arg.sinks == nullptr ? 0.0f : exp2_spec(__fsub_rn(row.sink, m));
====
  float l = 0.0f;
EDIT
bug 19 'the sink is no part of the maximum' values
edit kernels/attend_combine.cuh <<'EDIT'
  float m = row.sink > minus_infinity() ? row.sink : minus_infinity();
====
  float m = minus_infinity();
EDIT
bug 20 'the sink of another head' values
edit kernels/attend_combine.cuh <<'EDIT'
__fmul_rn(arg.sinks[head], kLog2E)
====
__fmul_rn(arg.sinks[item.kv_head], kLog2E)
EDIT
bug 21 'the maximum of the first 32 chunks' values
edit kernels/attend_combine.cuh <<'EDIT'
  for (std::int32_t c = lane; c < row.chunks; c += 32) {
====
  for (std::int32_t c = lane; c < row.chunks && c == lane; ++c) {
EDIT
bug 22 'one partial result too many is read'
edit kernels/attend_combine.cuh <<'EDIT'
        if (c0 + i < chunks && q < count) {
====
        if (c0 + i <= chunks && q < count) {
EDIT
bug 23 'reads elements beyond the row'
edit kernels/attend_combine.cuh <<'EDIT'
        if (c0 + i < chunks && q < count) {
====
        if (c0 + i < chunks) {
EDIT
