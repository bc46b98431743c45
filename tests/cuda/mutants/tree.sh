# The sources that are compiled, and what is done to every copy of the kernels. Sourced, never run.
# shellcheck shell=bash disable=SC2034,SC2154

kKernels=(append.cu attend.cu attend_fast.cu attend_fast_wide.cu attend_float.cu
  attend_float_bf16.cu attend_float_e4m3.cu attend_general.cu attend_int.cu conv.cu copies.cu
  kernel_device.cu recurrent.cu)
kEmulation=(async_copy.cc async_copy_queue.cc barrier.cc block.cc context.cc emulated_device.cc
  fiber.cc launch.cc matrix_load.cc matrix_product.cc messages.cc shared_memory.cc
  shared_variables.cc tensor_core.cc warp.cc)
kTests=(tests/ref_cpu/ops/attend_world.cc
  tests/cuda/{append_case,append_test,attend_case,attend_fast_test,attend_fast_wide_test}.cc
  tests/cuda/attend_finish_test.cc
  tests/cuda/{attend_float_test,attend_general_test,attend_int_test,attend_test}.cc
  tests/cuda/{conv_test,copies_test}.cc
  tests/cuda/{device_under_test_emulated,gated_delta_test,selective_state_test,turns}.cc)

# prepare_tree TREE: what is done to every copy of the kernels.
prepare_tree() {
  # The order of threads comes from outside: 0 for every launch, or others for all of them.
  replace "$1/cuda/emulation/emulated_device.cc" <<'EDIT'
class EmulatedDevice final
====
std::uint64_t seed_of_run(std::uint64_t seed) {
  const std::uint64_t order = std::strtoull(std::getenv("MUTANTS_ORDER"), nullptr, 10);
  return order == 0 ? 0 : 100 * order + seed;
}

class EmulatedDevice final
EDIT
  replace "$1/cuda/emulation/emulated_device.cc" <<'EDIT'
.seed = options.seed
====
.seed = seed_of_run(options.seed)
EDIT
  replace "$1/cuda/emulation/emulated_device.cc" <<'EDIT'
#include <memory>
====
#include <cstdlib>
#include <memory>
EDIT
  trim_tables "$1/cuda/src"
  local file
  for file in emulation/emulated_device.cc src/attend_{fast,float,int}.cu src/attend_float_kernels.h
  do
    touch -r "$root/cuda/$file" -- "$1/cuda/$file"
  done
}

# trim_tables FOLDER: kernels that no test here asks for only take time.
trim_tables() {
  sed -E -i 's/float_kernels_(f32|f16|e5m2),? ?//g' "$1/attend_float.cu"
  sed -E -i '/kFormat, (80|96|128|192|256)>\(dtype, to\);/d; /kHeadDim, [14], launch/d' \
    "$1/attend_float_kernels.h"
  sed -E -i '/^    case (80|96|192|256):/,+1d' "$1"/attend_{int,fast}.cu
}
