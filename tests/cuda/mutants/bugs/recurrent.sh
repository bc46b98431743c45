# The two recurrences.
# shellcheck shell=bash
bug 1 'no barrier after the operands of tokens'
edit kernels/gated_delta.cuh <<'EDIT'
    prepare_tokens(arg, shape, place, token, count, columns, shared);
    __syncthreads();
====
    prepare_tokens(arg, shape, place, token, count, columns, shared);
EDIT
bug 2 'no barrier before what the state holds is summed'
edit kernels/gated_delta.cuh <<'EDIT'
    store_pack<kPack>(DType::F32, shared.held, part * columns + column, sums);
  }
  __syncthreads();
====
    store_pack<kPack>(DType::F32, shared.held, part * columns + column, sums);
  }
EDIT
bug 3 'no barrier before the next token'
edit kernels/gated_delta.cuh <<'EDIT'
  tile.round();
  __syncthreads();
====
  tile.round();
EDIT
bug 4 'no barrier of the warp before a row is scaled'
edit kernels/gated_delta.cuh <<'EDIT'
    __syncwarp();  // All of the row is read.
====
EDIT
bug 23 'no barrier of the warp before the squares of a row are summed'
edit kernels/gated_delta.cuh <<'EDIT'
    __syncwarp();
    const float squares
====
    const float squares
EDIT
bug 12 'columns read beyond the values'
edit kernels/recurrent.cuh <<'EDIT'
    shared[at] = column < v_dim ? load_element(operand.dtype, operand.data, element) : 0.0f;
====
    shared[at] = load_element(operand.dtype, operand.data, element);
EDIT
bug 10 'multiplies by the reciprocal of the norm' values
edit kernels/gated_delta.cuh <<'EDIT'
    factor = __fdiv_rn(factor, __fsqrt_rn(__fadd_rn(squares, arg.l2_eps)));
====
    factor = __fmul_rn(factor, __fdiv_rn(1.0f, __fsqrt_rn(__fadd_rn(squares, arg.l2_eps))));
EDIT
bug 17 'the query reads what was rounded' values
edit kernels/gated_delta.cuh <<'EDIT'
  read_rows(shared.q + row, rows);
  tile.dot(rows, sums);
====
  tile.round();
  read_rows(shared.q + row, rows);
  tile.dot(rows, sums);
EDIT
bug 18 'the state is rounded at the end of a prompt alone' values
edit kernels/gated_delta.cuh <<'EDIT'
  tile.round();
  __syncthreads();
====
  __syncthreads();
EDIT
bug 19 'all tokens with the gates of the first' values
edit kernels/gated_delta.cuh <<'EDIT'
      tile.s[i][c] = __fmul_rn(tile.s[i][c], shared.decay[t]);
====
      tile.s[i][c] = __fmul_rn(tile.s[i][c], shared.decay[0]);
EDIT
bug 20 'the correction before the decay' values
edit kernels/gated_delta.cuh <<'EDIT'
    delta[c] = __fmul_rn(__fsub_rn(delta[c], sums[c]), shared.beta[t]);
====
    delta[c] = __fsub_rn(__fmul_rn(delta[c], shared.beta[t]), __fmul_rn(sums[c], shared.beta[t]));
EDIT
bug 21 'the sums of two tokens in one place'
edit kernels/selective_state.cuh <<'EDIT'
  float* const parts = shared.sums + (token & 1) * shape.parts * columns;
====
  float* const parts = shared.sums;
EDIT
bug 22 'the direct term without the head' values
edit kernels/selective_state.cuh <<'EDIT'
    y = __fmaf_rn(weight_scalar(arg.d, place.head), x, y);
====
    y = __fmaf_rn(weight_scalar(arg.d, 0), x, y);
EDIT
