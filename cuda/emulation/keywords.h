// CUDA's words that are no names: to the host compiler they say little or nothing.
//
// __shared__ is missing on purpose: shared memory must go through the macros of shared_variables.h,
// which is where it is poisoned and bounded.
#pragma once

#include "block.h"
#include "thread.h"

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __launch_bounds__(...)

#define threadIdx (::octavo::emulation::current_thread->index)
#define blockIdx (::octavo::emulation::current_thread->block->index())
#define blockDim (::octavo::emulation::current_thread->block->grid().block_size)
#define gridDim (::octavo::emulation::current_thread->block->grid().grid_size)
