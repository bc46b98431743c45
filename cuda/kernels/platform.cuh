// What a kernel is written in: CUDA where nvcc compiles it, the emulation of it where the host
// compiler does. Kernels include this first and say nothing that one of the two cannot read.
//
// Plain CUDA, the same under both: __global__, __device__, __forceinline__, __launch_bounds__,
// threadIdx, blockIdx, blockDim, gridDim, __syncthreads, __syncwarp, __shfl_*_sync, __ballot_sync,
// __any_sync, __all_sync, atomicAdd and atomicMax of integers, __threadfence, __ldg, __byte_perm,
// dim3, float2, float4, uint2, uint4, int2, int4 and their make_*, and the arithmetic that is
// rounded where it is written: __fadd_rn, __fsub_rn, __fmul_rn, __fmaf_rn, __fdiv_rn, __fsqrt_rn,
// __float2int_rn, __float_as_uint, __uint_as_float. Not the operators + - * / on floats: a compiler
// may contract those.
//
// Written our way, because CUDA's way cannot be emulated or has no name:
//
//     OCTAVO_SHARED(Scratch, scratch);       static shared memory: a Scratch, without constructor
//     OCTAVO_SHARED_ARRAY(float, table, 32); the same for an array: float table[32]
//     OCTAVO_DYNAMIC_SHARED(bytes);          unsigned char* of the launch's size, aligned to 128
//     async_copy<16>(to, from, on)           cp.async; zeros when `on` is false
//     async_copy_commit(), async_copy_wait<N>()
//     mma_s8_s8(c, a, b0, b1), mma_u8_s8     m16n8k32, int32 accumulators: exact
//     mma_bf16(c, a, b0, b1), mma_f16        m16n8k16, float accumulators: not reproducible
//     launch(kernel, {grid, block, shared_bytes}, stream, arguments...)
//
// Everything a kernel file defines lies in the namespace OCTAVO_CUDA_TARGET, which is `gpu` or
// `emulated`: a program may link both.
#pragma once

#include <cstdint>

#if defined(__CUDACC__)
#define OCTAVO_CUDA_TARGET gpu
#include "cuda_platform.cuh"
#else
#define OCTAVO_CUDA_TARGET emulated
#include "../emulation/emulation.h"
#endif
