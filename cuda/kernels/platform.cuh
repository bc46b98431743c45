// What a kernel is written in: CUDA where nvcc compiles it, the emulation of it where the host
// compiler does. Kernels include this first and say nothing that one of the two cannot read.
//
// Plain CUDA, the same under both:
//
//     __global__, __device__, __forceinline__, __launch_bounds__, __align__
//     threadIdx, blockIdx, blockDim, gridDim
//     __syncthreads, __syncthreads_count, __syncthreads_and, __syncthreads_or
//     __syncwarp, __shfl_sync, __shfl_up_sync, __shfl_down_sync, __shfl_xor_sync (numbers of 4 and
//     8 bytes), __ballot_sync, __any_sync, __all_sync
//     atomicAdd (int, unsigned, unsigned long long), atomicMax (int, unsigned), atomicCAS and
//     atomicInc (unsigned), __threadfence: atomics order nothing without it, on the side that reads
//     no more than on the side that writes
//     dim3, int2, int4, uint2, uint4, float2, float4 and their make_*
//     __ldg, __byte_perm, __dp4a, __popc, __clz, __ffs, min and max of two integers of one type,
//     fmaxf (the other one of a NaN),
//     __float_as_uint, __uint_as_float, __float_as_int, __int_as_float
//     __fadd_rn, __fsub_rn, __fmul_rn, __fmaf_rn, __fdiv_rn, __fsqrt_rn, __float2int_rn,
//     __int2float_rn, __uint2float_rn: rounded where they are written. Not the operators + - * / on
//     floats: a compiler may contract those.
//
// Every thread of a block passes the same barriers, and none ends before a barrier that others
// wait at; every lane of a mask comes to a collective at one place of the source. CUDA forgives
// some of that, the emulation nothing. No thread may spin on what another has yet to do.
//
// Written our way, because CUDA's way cannot be emulated or has no name:
//
//     OCTAVO_SHARED(Scratch, scratch);       static shared memory: a Scratch, without constructor
//     OCTAVO_SHARED_ARRAY(float, table, 32); the same for an array: float table[32]
//                                            (both aligned as the type is and no better)
//     OCTAVO_DYNAMIC_SHARED(bytes);          unsigned char* of the launch's size, aligned to 128
//     async_copy<16>(to, from, on)           cp.async; zeros when `on` is false
//     async_copy_commit(), async_copy_wait<N>()
//     store_global(to, x)                    a uint2 or uint4 to global memory in one access; an
//                                            assignment may be split where many stand together
//     and_xor(x, mask, flip)                 (x & mask) ^ flip in one instruction
//     load_current(from, on, to)             a float2 or float4 of global memory that other blocks
//                                            of the launch have written; nothing when `on` is false
//     mma_s8_s8(c, a, b0, b1), mma_u8_s8     m16n8k32, int32 accumulators: exact
//     mma_bf16(c, a, b0, b1), mma_f16        m16n8k16, float accumulators: not reproducible
//     load_transposed(row, x)                ldmatrix.trans, of 2 or 4 matrices of 8 x 8 halves in
//                                            shared memory: lane 8i + r names row r of matrix i;
//                                            lane 4g + t gets of it column g, rows 2t and 2t + 1
//     launch(kernel, {grid, block, shared_bytes}, stream, arguments...)
//     hopper_shared_bytes()                  host: shared memory that a block can have where the
//                                            compute capability is 9.0 or above; 0 elsewhere
//     OCTAVO_UNROLL, OCTAVO_NO_UNROLL        in front of a loop: a loop whose index selects a
//                                            register must disappear (nothing to the host compiler)
//
// Everything a kernel file defines lies in the namespace OCTAVO_CUDA_TARGET, which is `gpu` or
// `emulated`: a program may link both.
#pragma once

#include <cstdint>

#if defined(__CUDACC__)
#define OCTAVO_CUDA_TARGET gpu
#define OCTAVO_UNROLL _Pragma("unroll")
#define OCTAVO_NO_UNROLL _Pragma("unroll 1")
#include "cuda_platform.cuh"
#else
#define OCTAVO_CUDA_TARGET emulated
#define OCTAVO_UNROLL
#define OCTAVO_NO_UNROLL
#include "emulation/emulation.h"
#endif
