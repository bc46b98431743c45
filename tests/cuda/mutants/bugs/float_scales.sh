# Attention over float rows that have scales.
# shellcheck shell=bash
bug 15 'scale address without the KV head' values
edit kernels/attend_float.cuh <<'EDIT'
*row_scale(arg.keys, item.kv_head, place);
====
*row_scale(arg.keys, 0, place);
EDIT
bug 17 'the scale of the value in l' values
edit kernels/attend_float.cuh <<'EDIT'
  const float l = sum_of_row(p);
====
  for (int i = 0; i < kPositionsPerLane; ++i) {
    const int t = lane + 32 * i;
    p.x[i] = t >= begin && t < end ? __fmul_rn(p.x[i], shared.value_scales[t]) : 0.0f;
  }
  const float l = sum_of_row(p);
EDIT
bug 24 'a capped score is capped again' values
edit kernels/attend_float.cuh <<'EDIT'
      p.x[i] = capped ? s : finish_score(s, plan.arg.score_factor, 0.0f);
====
      p.x[i] = finish_score(s, plan.arg.score_factor, plan.arg.cap_factor);
EDIT
