# The causal convolution.
# shellcheck shell=bash
bug 1 'no barrier before the tails of other warps are read'
edit kernels/conv.cuh <<'EDIT'
  __syncthreads();
  OCTAVO_UNROLL
  for (unsigned i = 0; i < kWidth; ++i) {
    OCTAVO_UNROLL
    for (unsigned c = 0; c < kPack; ++c) {
      const float x = tails[
====
  OCTAVO_UNROLL
  for (unsigned i = 0; i < kWidth; ++i) {
    OCTAVO_UNROLL
    for (unsigned c = 0; c < kPack; ++c) {
      const float x = tails[
EDIT
bug 3 'no barrier before the tails of the next stretch'
edit kernels/conv.cuh <<'EDIT'
      __syncthreads();  // All of `tails` is read.
====
EDIT
bug 12 'inputs read beyond the last token'
edit kernels/conv.cuh <<'EDIT'
    if (token + i < end) {
====
    if (token + i <= end) {
EDIT
bug 17 'the window misses the last input' values
edit kernels/conv.cuh <<'EDIT'
          store_window<kWidth, kPack>(arg, part, inputs + i + 1);
====
          store_window<kWidth, kPack>(arg, part, inputs + i);
EDIT
bug 18 'every segment begins with the window' values
edit kernels/conv.cuh <<'EDIT'
    if (row == 0 && blockIdx.y == 0) {
====
    if (row == 0) {
EDIT
bug 19 'inputs are not rounded as the window holds them' values
edit kernels/conv.cuh <<'EDIT'
        inputs[i][c] = rounded_to(arg.state.dtype, inputs[i][c]);
====
        inputs[i][c] = inputs[i][c];
EDIT
bug 20 'the window of a long prompt is left alone' values
edit kernels/conv.cuh <<'EDIT'
  if (part.on && row == 0 && blockIdx.y == 0 && part.last < part.length) {
====
  if (part.on && row == 0 && blockIdx.y == 0 && part.last < 0) {
EDIT
bug 21 'the newest tap first in wide windows' values
edit kernels/conv.cuh <<'EDIT'
    for (unsigned tap = 0, at = newest; tap < taps; ++tap, at = at == width ? 0 : at + 1) {
      const float weight =
          load_element(arg.weight.dtype, arg.weight.data, part.channel * taps + tap);
====
    for (unsigned tap = 0, at = newest; tap < taps; ++tap, at = at == width ? 0 : at + 1) {
      const float weight =
          load_element(arg.weight.dtype, arg.weight.data, part.channel * taps + width - tap);
EDIT
