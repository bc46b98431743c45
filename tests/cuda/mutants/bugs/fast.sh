# Attention on float tensor cores.
# shellcheck shell=bash
bug 1 'no barrier between scores and softmax'
edit kernels/attend_fast.cuh <<'EDIT'
  async_copy_wait<0>();
  __syncthreads();
====
  async_copy_wait<0>();
EDIT
bug 2 'no barrier between softmax and weighted sum'
edit kernels/attend_fast.cuh <<'EDIT'
    weigh_row_fast<FastFormat<kDType>::kHalf>(plan, row, shared);
  }
  __syncthreads();
====
    weigh_row_fast<FastFormat<kDType>::kHalf>(plan, row, shared);
  }
EDIT
bug 3 'no barrier before the sums of the next slice'
edit kernels/attend_fast_values.cuh <<'EDIT'
    store_slice<kHeadDim>(plan, num_rows, slice, shared);
    __syncthreads();
====
    store_slice<kHeadDim>(plan, num_rows, slice, shared);
EDIT
bug 5 'does not wait for the scales'
edit kernels/attend_fast.cuh <<'EDIT'
  async_copy_wait<0>();
====
  async_copy_wait<1>();
EDIT
bug 11 'scores of positions that a row does not see count for its maximum' values
edit kernels/attend_item_shared.cuh <<'EDIT'
    scores.x[i] = contains(seen, t) ? s : minus_infinity();
====
    scores.x[i] = s;
EDIT
bug 17 'weights of F16 products are not scaled up' values
edit kernels/attend_fast.cuh <<'EDIT'
    scale = fixed_point<kHalfBits>(largest_of_lanes<32>(largest));
====
    scale = {1.0f, 1.0f};
EDIT
bug 18 'the last product of a key is left out' values
edit kernels/attend_fast_keys.cuh <<'EDIT'
      for (int j = 0; j < Shape::kProducts; ++j) {
        multiply_add<
====
      for (int j = 0; j < Shape::kProducts - (p + 1 == Shape::kPieces ? 1 : 0); ++j) {
        multiply_add<
EDIT
bug 19 'what there is so far is not weighed anew' values
edit kernels/attend_combine.cuh <<'EDIT'
    o = add_weighted(part, x, times(o, y));
====
    o = add_weighted(part, x, o);
EDIT
bug 20 'the largest score before a chunk is that before all of them' values
edit kernels/attend_combine.cuh <<'EDIT'
__fsub_rn(lane == 0 ? m : others, largest)
====
__fsub_rn(m, largest)
EDIT
bug 21 'the scores of the first 32 chunks are forgotten' values
edit kernels/attend_combine.cuh <<'EDIT'
    m = __shfl_sync(kWholeWarp, largest, 31);
====
EDIT
