# Attention over rows of any kind.
# shellcheck shell=bash
bug 1 'no barrier between dots and softmax'
edit kernels/attend_general.cuh <<'EDIT'
  general_dots<Key>(plan, item, shared);
  __syncthreads();
====
  general_dots<Key>(plan, item, shared);
EDIT
bug 2 'no barrier between softmax and weighted sum'
edit kernels/attend_general.cuh <<'EDIT'
  general_softmax<kIntegerKeys, kIntegerValues>(plan, item, shared);
  __syncthreads();
====
  general_softmax<kIntegerKeys, kIntegerValues>(plan, item, shared);
EDIT
bug 3 'no barrier between the levels of the tree'
edit kernels/attend_general.cuh <<'EDIT'
      general_add(*left, left[half * head_dim], Number{});
    }
    __syncthreads();
====
      general_add(*left, left[half * head_dim], Number{});
    }
EDIT
bug 4 'no barrier after the places of rows'
edit kernels/attend_general.cuh <<'EDIT'
  load_query<kIntegerKeys>(plan, item, shared);
  __syncthreads();
====
  load_query<kIntegerKeys>(plan, item, shared);
EDIT
bug 20 'the cap before the tanh' values
edit kernels/attend_scores.cuh <<'EDIT'
    s = __fmul_rn(tanh_spec(s), cap);
====
    s = tanh_spec(__fmul_rn(s, cap));
EDIT
bug 8 'score factor folded into the query'
edit kernels/attend_general.cuh <<'EDIT'
    shared.numbers[row][d] = bits;
====
    const float scaled = __fmul_rn(__uint_as_float(bits), plan.arg.score_factor);
    shared.numbers[row][d] = kIntegerKeys ? bits : __float_as_uint(scaled);
EDIT
edit kernels/attend_general.cuh <<'EDIT'
  float factor = plan.arg.score_factor;
====
  float factor = kIntegerKeys ? plan.arg.score_factor : 1.0f;
EDIT
bug 12 'block table read one position too far'
edit kernels/attend_general.cuh <<'EDIT'
  if (t >= hull.begin && t < hull.end) {
    const RowPlace place
====
  if (t >= hull.begin && t <= hull.end) {
    const RowPlace place
EDIT
bug 14 'shuffle by the lanes that have a token'
edit kernels/attend_general.cuh <<'EDIT'
      for (int offset = 1; offset < lanes; offset *= 2) {
====
      for (int offset = 1; offset < (on ? lanes : 1); offset *= 2) {
EDIT
bug 17 'the tree over the units of a key from its far end' values
edit kernels/attend_general.cuh <<'EDIT'
      for (int offset = 1; offset < lanes; offset *= 2) {
====
      for (int offset = lanes / 2; offset > 0; offset /= 2) {
EDIT
bug 18 'multiply and add for fma in the weighted sum' values
edit kernels/attend_general.cuh <<'EDIT'
  return __fmaf_rn(__uint_as_float(weight), value, sum);
====
  return __fadd_rn(__fmul_rn(__uint_as_float(weight), value), sum);
EDIT
bug 19 'the fixed point of a query moves below 2^-100' values
edit kernels/attend_fixed_point.cuh <<'EDIT'
(exponent > 27 ? exponent : 27)
====
(exponent > 12 ? exponent : 12)
EDIT
