# The combination of chunks, behind attention over float rows.
# shellcheck shell=bash
bug 10 'multiplies by the reciprocal, does not divide'
edit kernels/attend_combine.cuh <<'EDIT'
__fdiv_rn(o[e], l)
====
__fmul_rn(o[e], __fdiv_rn(1.0f, l))
EDIT
bug 1 'no barrier before the maxima of the warps are read'
edit kernels/attend_combine.cuh <<'EDIT'
    shared.warp_max[thread / 32] = m;
  }
  __syncthreads();
====
    shared.warp_max[thread / 32] = m;
  }
EDIT
bug 2 'no barrier between shares and sums'
edit kernels/attend_combine.cuh <<'EDIT'
      shared.l[thread] = max_sum.y;
    }
    __syncthreads();
====
      shared.l[thread] = max_sum.y;
    }
EDIT
bug 3 'no barrier before the next shares are written'
edit kernels/attend_combine.cuh <<'EDIT'
kCombineThreads;
    __syncthreads();
    if (thread < chunks) {
====
kCombineThreads;
    if (thread < chunks) {
EDIT
bug 16 'a few threads return early'
edit kernels/attend_combine.cuh <<'EDIT'
  const float m = max_of_chunks(plan, row, shared);
====
  if (thread >= 64 + v_head_dim) {
    return;
  }
  const float m = max_of_chunks(plan, row, shared);
EDIT
bug 17 'multiply and add for fma over the chunks' values
edit kernels/attend_combine.cuh <<'EDIT'
__fmaf_rn(part[i][e], x, o[e])
====
__fadd_rn(__fmul_rn(part[i][e], x), o[e])
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
bug 21 'the maximum of the first 128 chunks' values
edit kernels/attend_combine.cuh <<'EDIT'
  for (std::int32_t c = thread; c < row.chunks; c += kCombineThreads) {
====
  for (std::int32_t c = thread; c < row.chunks && c == thread; ++c) {
EDIT
bug 22 'one partial result too many is read'
edit kernels/attend_combine.cuh <<'EDIT'
        if (c0 + i < chunks && e < count) {
====
        if (c0 + i <= chunks && e < count) {
EDIT
bug 23 'reads elements beyond the row'
edit kernels/attend_combine.cuh <<'EDIT'
        if (c0 + i < chunks && e < count) {
====
        if (c0 + i < chunks) {
EDIT
