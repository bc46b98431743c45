# Attention over integer rows.
# shellcheck shell=bash
bug 1 'no barrier between dots and softmax'
edit kernels/attend_int.cuh <<'EDIT'
  async_copy_wait<0>();
  __syncthreads();
====
  async_copy_wait<0>();
EDIT
bug 2 'no barrier between softmax and weighted sum'
edit kernels/attend_int.cuh <<'EDIT'
    weigh_row(plan, row, shared);
  }
  __syncthreads();
====
    weigh_row(plan, row, shared);
  }
EDIT
bug 3 'no barrier before the sums are read'
edit kernels/attend_int.cuh <<'EDIT'
  weigh_values(seen, num_rows, ahead, shared);
  __syncthreads();
====
  weigh_values(seen, num_rows, ahead, shared);
EDIT
bug 4 'no barrier after the addresses of rows'
edit kernels/attend_int.cuh <<'EDIT'
    (&shared.sums[0][0])[i] = 0;
  }
  __syncthreads();
====
    (&shared.sums[0][0])[i] = 0;
  }
EDIT
bug 5 'does not wait for the scales'
edit kernels/attend_int.cuh <<'EDIT'
  async_copy_wait<0>();
====
  async_copy_wait<1>();
EDIT
bug 11 'positions that a row does not see are not masked' values
edit kernels/attend_item_shared.cuh <<'EDIT'
    scores.x[i] = contains(seen, t) ? s : minus_infinity();
====
    scores.x[i] = s;
EDIT
bug 13 'dots written beyond their array'
edit kernels/attend_int_keys.cuh <<'EDIT'
        *reinterpret_cast<int2*>(&shared.dots[group][t + 2 * tig]) = dots;
====
        *reinterpret_cast<int2*>(&shared.dots[group][t + 2 * tig + 2304]) = dots;
EDIT
bug 14 'products by the lanes that see their key'
edit kernels/attend_int_keys.cuh <<'EDIT'
      const int t = ((first + u) * kItemWarps + warp) * 8;
      if (t + 8 <= seen.begin || t >= seen.end) {
====
      const int t = ((first + u) * kItemWarps + warp) * 8;
      if (!contains(seen, t + group)) {
EDIT
bug 15 'row address without the KV head' values
edit kernels/attend_item_shared.cuh <<'EDIT'
    shared.value_rows[t] = row_data(arg.values, item.kv_head, place);
====
    shared.value_rows[t] = row_data(arg.values, 0, place);
EDIT
bug 17 'sums of the warps added without atomics'
edit kernels/attend_int_values.cuh <<'EDIT'
      atomicAdd(to, c[j][0] * 256 + c[j][2]);
      atomicAdd(to + 1, c[j][1] * 256 + c[j][3]);
====
      to[0] += c[j][0] * 256 + c[j][2];
      to[1] += c[j][1] * 256 + c[j][3];
EDIT
bug 18 'the low limb of a weight is signed' values
edit kernels/attend_int_values.cuh <<'EDIT'
mma_u8_s8(c[j], a, b[0][j], b[1][j]);
====
mma_s8_s8(c[j], a, b[0][j], b[1][j]);
EDIT
bug 19 'the scale of the value after the fixed point' values
edit kernels/attend_item_shared.cuh <<'EDIT'
    const std::uint32_t size = __float_as_uint(magnitude(p.x[i]));
====
    const std::uint32_t size = __float_as_uint(
        magnitude(has_scales && contains(seen, t) ? __fdiv_rn(p.x[i], scales[t]) : p.x[i]));
EDIT
bug 20 'the queries of two rows are rounded by the largest of both' values
edit kernels/attend_int_keys.cuh <<'EDIT'
fixed_point<kQueryBits>(largest_of_lanes<16>(largest));
====
fixed_point<kQueryBits>(largest_of_lanes<32>(largest));
EDIT
bug 21 'the fixed point of a weight is cut off, not rounded' values
edit kernels/attend_int_shared.cuh <<'EDIT'
  return __float_as_uint(__fmaf_rn(x, scale.to_integer, kRoundMagic));
====
  return static_cast<std::uint32_t>(static_cast<int>(__fmul_rn(x, scale.to_integer)));
EDIT
