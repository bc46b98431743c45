# The arithmetic: conversions, quantizers, elementary functions, convolution and recurrence.
#
# The loops vectorise only at -O3 and when the compiler may compute both sides of a select. Neither
# changes a bit: every operation is written out, and contraction is off for the whole project.
target_sources(octavo_ref_cpu PRIVATE
  src/conv_update.cc
  src/gated_delta.cc
  src/quantize.cc
  src/rows.cc
  src/selective_state.cc
  src/simd.cc)
target_compile_options(octavo_ref_cpu PRIVATE
  -fno-trapping-math -fno-math-errno $<$<NOT:$<CONFIG:Debug>>:-O3>)
