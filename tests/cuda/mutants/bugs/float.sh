# Attention over float rows.
# shellcheck shell=bash
bug 1 'no barrier between scores and softmax'
edit kernels/attend_float.cuh <<'EDIT'
    mark_seen(shared);
  }
  __syncthreads();
====
    mark_seen(shared);
  }
EDIT
bug 2 'no barrier between softmax and weighted sum'
edit kernels/attend_float.cuh <<'EDIT'
  __syncthreads();
  float o[Shape::kRows * 8];
====
  float o[Shape::kRows * 8];
EDIT
bug 3 'no barrier before slots become streams'
edit kernels/attend_float_sums.cuh <<'EDIT'
    __syncthreads();  // Slots and the batch before are done with.
====
EDIT
bug 4 'no barrier after the addresses of rows'
edit kernels/attend_float.cuh <<'EDIT'
  const FloatThread at = float_thread<Shape>(hull);
  __syncthreads();
====
  const FloatThread at = float_thread<Shape>(hull);
EDIT
bug 5 'waits for one copy too few'
edit kernels/attend_float_shape.cuh <<'EDIT'
  async_copy_wait<kAhead>();
====
  async_copy_wait<kAhead + 1>();
EDIT
bug 6 'copies into a slot that is still read'
edit kernels/attend_float_shape.cuh <<'EDIT'
step + stage + kAhead, (stage + kAhead) % Shape::kStages, shared);
====
step + stage + kAhead, stage, shared);
EDIT
bug 7 'the tree of l from its far end'
edit kernels/attend_scores.cuh <<'EDIT'
  for (int offset = 1; offset < 32; offset *= 2) {
====
  for (int offset = 16; offset > 0; offset /= 2) {
EDIT
bug 9 'multiply and add for fma in the weighted sum'
edit kernels/attend_float_sums.cuh <<'EDIT'
__fmaf_rn(w, value[e], o[8 * row + e])
====
__fadd_rn(__fmul_rn(w, value[e]), o[8 * row + e])
EDIT
bug 11 'positions that a row does not see are not masked'
edit kernels/attend_float.cuh <<'EDIT'
    p.x[i] = minus_infinity();
    if (t >= begin && t < end) {
====
    {
EDIT
edit kernels/attend_float.cuh <<'EDIT'
    p.x[i] = t >= begin && t < end ? exp2_spec(__fsub_rn(p.x[i], m)) : 0.0f;
====
    p.x[i] = exp2_spec(__fsub_rn(p.x[i], m));
EDIT
bug 12 'block table read one position too far'
edit kernels/attend_float.cuh <<'EDIT'
    if (t >= hull.begin && t < hull.end) {
====
    if (t >= hull.begin && t <= hull.end) {
EDIT
bug 13 'addresses written beyond their array'
edit kernels/attend_float.cuh <<'EDIT'
      shared.key_rows[t] = row_data(
====
      shared.key_rows[t + 33] = row_data(
EDIT
bug 14 'shuffle in a branch that a part of a warp takes'
edit kernels/attend_float_sums.cuh <<'EDIT'
      if (i % kTokens == kTokens - 1) {
====
      if (i % kTokens == kTokens - 1 && at.stream + Shape::kStreams * (step + i) < at.hull.end) {
EDIT
bug 15 'row address without the KV head'
edit kernels/attend_float.cuh <<'EDIT'
      shared.key_rows[t] = row_data(arg.keys, item.kv_head, place);
====
      shared.key_rows[t] = row_data(arg.keys, 0, place);
EDIT
bug 16 'a few threads return early'
edit kernels/attend_float.cuh <<'EDIT'
  float_setup(plan, item, hull, shared);
====
  if (threadIdx.x >= 120 && hull.end < 20) {
    return;
  }
  float_setup(plan, item, hull, shared);
EDIT
bug 17 'values of positions that another row sees' values
edit kernels/attend_float_sums.cuh <<'EDIT'
    if (kFull || (seen >> row & 1u) != 0) {
====
    if (kFull || seen != 0) {
EDIT
bug 18 'window one position too long' values
edit kernels/attend_tile.cuh <<'EDIT'
max(0, end - plan.window)
====
max(0, end - plan.window - 1)
EDIT
bug 19 'a token sees the next one' values
edit kernels/attend_tile.cuh <<'EDIT'
  const std::int32_t end = arg.causal ? own : tile.kv_len;
====
  const std::int32_t end = arg.causal && own < tile.kv_len ? own + 1 : tile.kv_len;
EDIT
bug 20 'offsets of blocks in 32 bits' values
edit kernels/rows.cuh <<'EDIT'
         std::int64_t{place.block} * rows.block_stride_bytes +
====
         static_cast<std::uint32_t>(place.block * rows.block_stride_bytes) +
EDIT
bug 21 'a zero keeps its sign in a maximum' values
edit kernels/attend_scores.cuh <<'EDIT'
  return __fadd_rn(m, 0.0f);  // No -0.
====
  return m;
EDIT
bug 22 'the tree over warps as a chain' values
edit kernels/attend_float_sums.cuh <<'EDIT'
    OCTAVO_UNROLL
    for (int half = 1; half < kFloatWarps; half *= 2) {
      OCTAVO_UNROLL
      for (int warp = 0; warp < kFloatWarps; warp += 2 * half) {
        float4& a = sums[warp];
        const float4& b = sums[warp + half];
====
    {
      for (int warp = 1; warp < kFloatWarps; ++warp) {
        float4& a = sums[0];
        const float4& b = sums[warp];
EDIT
bug 23 'no barrier between queries and the dots in their place'
edit kernels/attend_float.cuh <<'EDIT'
  __syncthreads();  // Dots go where the queries are.
====
EDIT
