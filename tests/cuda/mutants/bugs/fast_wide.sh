# Attention on float tensor cores, in wide tiles.
# shellcheck shell=bash
bug 1 'no barrier between keys that are copied and keys that are read'
edit kernels/attend_fast_wide.cuh <<'EDIT'
    __syncthreads();  // Keys and scales are there; everyone has done with the addresses.
====
EDIT
bug 2 'no barrier before values are read'
edit kernels/attend_fast_wide.cuh <<'EDIT'
    __syncthreads();  // Values are there.
====
EDIT
bug 3 'no barrier before keys are overwritten'
edit kernels/attend_fast_wide.cuh <<'EDIT'
    __syncthreads();  // Everyone has done with the keys; the next addresses are there.
====
EDIT
bug 4 'no barrier after the addresses of rows'
edit kernels/attend_fast_wide.cuh <<'EDIT'
  locate_wide_rows(plan, at, seen, shared);
  __syncthreads();
====
  locate_wide_rows(plan, at, seen, shared);
EDIT
bug 5 'waits for one copy too few'
edit kernels/attend_fast_wide.cuh <<'EDIT'
    async_copy_wait<1>();
    __syncthreads();  // Values are there.
====
    async_copy_wait<2>();
    __syncthreads();  // Values are there.
EDIT
bug 6 'no barrier before values are overwritten'
edit kernels/attend_fast_wide.cuh <<'EDIT'
    __syncthreads();  // Everyone has done with the values.
====
EDIT
bug 7 'the tree of l from its far end' values
edit kernels/attend_fast_wide_scores.cuh <<'EDIT'
    const float even = __fadd_rn(sums[2 * h][0], sums[2 * h][1]);
    const float odd = __fadd_rn(sums[2 * h + 1][0], sums[2 * h + 1][1]);
====
    const float even = __fadd_rn(sums[2 * h][0], sums[2 * h + 1][0]);
    const float odd = __fadd_rn(sums[2 * h][1], sums[2 * h + 1][1]);
EDIT
bug 9 'multiply and add for fma where a chunk is folded' values
edit kernels/attend_fast_wide_values.cuh <<'EDIT'
          o = __fmaf_rn(x, folds[r].x, __fmul_rn(o, folds[r].y));
====
          o = __fadd_rn(__fmul_rn(x, folds[r].x), __fmul_rn(o, folds[r].y));
EDIT
bug 11 'positions that a row does not see are not masked' values
edit kernels/attend_fast_wide_scores.cuh <<'EDIT'
  if (view.is_whole) {
====
  if (view.is_whole || view.all.end > 0) {
EDIT
bug 12 'block table read one position too far'
edit kernels/attend_fast_wide_shared.cuh <<'EDIT'
min(t, seen.end - 1)
====
min(t, seen.end)
EDIT
bug 13 'addresses written beyond their array'
edit kernels/attend_fast_wide_shared.cuh <<'EDIT'
  shared.value_rows[t] = row_data(arg.values, item.kv_head, place);
====
  shared.value_rows[t + 1] = row_data(arg.values, item.kv_head, place);
EDIT
bug 14 'shuffle by the lanes that see something'
edit kernels/attend_fast_wide.cuh <<'EDIT'
    weigh_wide_rows(shared, chunk, scores, weights);
====
    if (!view.rows[0].empty()) {
      weigh_wide_rows(shared, chunk, scores, weights);
    }
EDIT
bug 15 'row address without the KV head' values
edit kernels/attend_fast_wide_shared.cuh <<'EDIT'
row_data(arg.keys, item.kv_head, place)
====
row_data(arg.keys, 0, place)
EDIT
bug 16 'a few threads return early'
edit kernels/attend_fast_wide.cuh <<'EDIT'
  load_wide_rows(plan, item, shared);
====
  if (static_cast<int>(threadIdx.x) / 32 * kWarpRows >= item.tile.num_rows) {
    return;
  }
  load_wide_rows(plan, item, shared);
EDIT
bug 17 'scales of keys are always those of the even chunk' values
edit kernels/attend_fast_wide_scores.cuh <<'EDIT'
shared.key_scales[chunk % 2]
====
shared.key_scales[0]
EDIT
bug 18 'a chunk that a row does not see is folded' values
edit kernels/attend_fast_wide_values.cuh <<'EDIT'
      if (view.rows[r].empty()) {
        continue;
      }
====
EDIT
bug 19 'the products of a part in the order of positions' values
edit kernels/attend_fast_wide_values.cuh <<'EDIT'
    const int at = step * kWideParts + part;
====
    const int at = part * kFastValueSteps + step;
EDIT
bug 20 'the largest score of all chunks stays that of the first' values
edit kernels/attend_fast_wide_rows.cuh <<'EDIT'
    m[r] = largest;
====
    m[r] = m[r] == minus_infinity() ? largest : m[r];
EDIT
bug 21 'the halves of a product change places' values
edit kernels/attend_fast_wide_shared.cuh <<'EDIT'
within % 4 / 2 * 8
====
(1 - within % 4 / 2) * 8
EDIT
bug 22 'the elements of a pair of bytes change places' values
edit kernels/attend_fast_wide_values.cuh <<'EDIT'
0x3120
====
0x2031
EDIT
bug 23 'rows beyond the tile are stored'
edit kernels/attend_fast_wide.cuh <<'EDIT'
  for (int i = 0; i < kWarpRows && first + i < item.tile.num_rows; ++i) {
====
  for (int i = 0; i < kWarpRows && first + i <= item.tile.num_rows; ++i) {
EDIT
bug 24 'a warp reads results before all of its lanes have left them'
edit kernels/attend_fast_wide.cuh <<'EDIT'
  __syncwarp();  // A warp stores its own rows.
====
EDIT
