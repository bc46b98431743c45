# The combination of chunks at the end of attention, behind float rows.
# shellcheck shell=bash
bug 10 'multiplies by the reciprocal, does not divide'
edit kernels/attend_combine.cuh <<'EDIT'
one_nan(__fdiv_rn(o.x, l))
====
one_nan(__fmul_rn(o.x, __fdiv_rn(1.0f, l)))
EDIT
bug 2 'no barrier between rows that are found and rows that are read'
edit kernels/attend_combine.cuh <<'EDIT'
    shared.rows[thread] = find_combine_row(plan, item, thread);
  }
  __syncthreads();
====
    shared.rows[thread] = find_combine_row(plan, item, thread);
  }
EDIT
bug 3 'no barrier before the block is counted'
edit kernels/attend_combine.cuh <<'EDIT'
  __syncthreads();
  const AttendItem& item = shared.item;
====
  const AttendItem& item = shared.item;
EDIT
bug 16 'a few threads return early'
edit kernels/attend_combine.cuh <<'EDIT'
  const int chunks = row.chunks;
====
  const int chunks = row.chunks;
  if (lane >= 16 && d >= v_head_dim) {
    return;
  }
EDIT
bug 17 'multiply and add for fma over the chunks' values
edit kernels/attend_combine.cuh <<'EDIT'
__fmaf_rn(part.x, x, o.x)
====
__fadd_rn(__fmul_rn(part.x, x), o.x)
EDIT
bug 18 'the sink is no part of the sum' values
edit kernels/attend_combine.cuh <<'EDIT'
  return row.has_sink ? exp2_spec(__fsub_rn(row.sink, m)) : 0.0f;
====
  return 0.0f;
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
  for (std::int32_t c = static_cast<int>(threadIdx.x) % 32 + 32; c < row.chunks; c += 32) {
====
  for (std::int32_t c = static_cast<int>(threadIdx.x) % 32 + 32; c < 0; c += 32) {
EDIT
bug 22 'one partial result too many is read'
edit kernels/attend_combine.cuh <<'EDIT'
v_head_dim), i < chunks,
====
v_head_dim), i <= chunks,
EDIT
bug 23 'reads elements beyond the row'
edit kernels/attend_combine.cuh <<'EDIT'
  const int loads = d < v_head_dim ? chunks : 0;
====
  const int loads = chunks;
EDIT
bug 24 'no fence before the block is counted'
edit kernels/attend_combine.cuh <<'EDIT'
      __threadfence();
      is_last
====
      is_last
EDIT
bug 25 'no fence behind the count'
edit kernels/attend_combine.cuh <<'EDIT'
== most ? 1 : 0;
      __threadfence();
====
== most ? 1 : 0;
EDIT
bug 26 'the counter stays where it is'
edit kernels/attend_combine.cuh <<'EDIT'
atomicInc(counter_of(plan, item), most)
====
atomicAdd(counter_of(plan, item), 1u)
EDIT
bug 27 'the last but one combines'
edit kernels/attend_combine.cuh <<'EDIT'
== most ? 1 : 0;
====
== most - 1 ? 1 : 0;
EDIT
bug 28 'the first block combines'
edit kernels/attend_combine.cuh <<'EDIT'
== most ? 1 : 0;
====
== 0 ? 1 : 0;
EDIT
bug 29 'one counter for all KV heads'
edit kernels/attend_tile.cuh <<'EDIT'
  return plan.counters + item.tile.number * plan.arg.kv_heads + item.kv_head;
====
  return plan.counters + item.tile.number;
EDIT
bug 30 'counted as if the tile saw one chunk more'
edit kernels/attend_combine.cuh <<'EDIT'
static_cast<unsigned>(item.chunks) - 1;
====
static_cast<unsigned>(item.chunks);
EDIT
bug 31 'the weights of the first 32 chunks are those of all' values
edit kernels/attend_combine.cuh <<'EDIT'
      sums.weigh(max_sum.x);
====
      if (c == 0) {
        sums.weigh(max_sum.x);
      }
EDIT
bug 32 'a tile that sees nothing has no results' values
edit kernels/attend_tile.cuh <<'EDIT'
    if (index > 0 && index >= item.chunks) {
====
    if (index >= item.chunks) {
EDIT
bug 33 'what a launch that failed has counted stays' values
edit src/operations.h <<'EDIT'
    are_lent_ = true;
====
EDIT
