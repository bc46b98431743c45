// platform.cuh for nvcc: names over CUDA itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <cuda_runtime.h>

#define OCTAVO_SHARED(Type, name) __shared__ Type name
#define OCTAVO_SHARED_ARRAY(Type, name, size) __shared__ Type name[size]
#define OCTAVO_DYNAMIC_SHARED(name) extern __shared__ __align__(128) unsigned char name[]

namespace octavo::cuda {
inline namespace gpu {

struct Stream {
  cudaStream_t handle = nullptr;
};

struct LaunchShape {
  dim3 grid;
  dim3 block;
  std::size_t shared_bytes = 0;
};

/// Raises DeviceError naming `call` unless `status` is success.
void check(cudaError_t status, const char* call);

/// Copies kBytes (4, 8 or 16, both ends aligned to it) to shared memory behind the thread's back;
/// zeros when `on` is false.
template <int kBytes>
__device__ __forceinline__ void async_copy(void* to, const void* from, bool on) {
  const auto shared = static_cast<std::uint32_t>(__cvta_generic_to_shared(to));
  const int read_bytes = on ? kBytes : 0;
  if constexpr (kBytes == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared), "l"(from),
                 "r"(read_bytes)
                 : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(shared), "l"(from),
                 "n"(kBytes), "r"(read_bytes)
                 : "memory");
  }
}

__device__ __forceinline__ void async_copy_commit() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}

template <int kGroupsLeft>
__device__ __forceinline__ void async_copy_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kGroupsLeft) : "memory");
}

/// (x & mask) ^ flip. nvcc makes two instructions of it where both are constants.
__device__ __forceinline__ std::uint32_t and_xor(std::uint32_t x,
                                                 std::uint32_t mask,
                                                 std::uint32_t flip) {
  std::uint32_t y;
  asm("lop3.b32 %0, %1, %2, %3, 0x6A;" : "=r"(y) : "r"(x), "r"(mask), "r"(flip));
  return y;
}

/// Aligned to the vector's size.
__device__ __forceinline__ void store_global(void* to, uint2 x) {
  asm volatile("st.global.v2.u32 [%0], {%1, %2};" ::"l"(__cvta_generic_to_global(to)), "r"(x.x),
               "r"(x.y)
               : "memory");
}

__device__ __forceinline__ void store_global(void* to, uint4 x) {
  asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(__cvta_generic_to_global(to)),
               "r"(x.x), "r"(x.y), "r"(x.z), "r"(x.w)
               : "memory");
}

/// Not from the first-level cache: it may hold the line as it was when an earlier block of the
/// multiprocessor read its neighbours, and nothing brings it up to date. `to` stays as it is when
/// `on` is false.
__device__ __forceinline__ void load_current(const float2* from, bool on, float2& to) {
  asm volatile(
      "{ .reg .pred %%on; setp.ne.s32 %%on, %3, 0; @%%on ld.global.cg.v2.f32 {%0, %1}, [%2]; }"
      : "+f"(to.x), "+f"(to.y)
      : "l"(__cvta_generic_to_global(from)), "r"(on ? 1 : 0)
      : "memory");
}

__device__ __forceinline__ void load_current(const float4* from, bool on, float4& to) {
  asm volatile(
      "{ .reg .pred %%on; setp.ne.s32 %%on, %5, 0; "
      "@%%on ld.global.cg.v4.f32 {%0, %1, %2, %3}, [%4]; }"
      : "+f"(to.x), "+f"(to.y), "+f"(to.z), "+f"(to.w)
      : "l"(__cvta_generic_to_global(from)), "r"(on ? 1 : 0)
      : "memory");
}

__device__ __forceinline__ void mma_s8_s8(int (&c)[4],
                                          const std::uint32_t (&a)[4],
                                          std::uint32_t b0,
                                          std::uint32_t b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

__device__ __forceinline__ void mma_u8_s8(int (&c)[4],
                                          const std::uint32_t (&a)[4],
                                          std::uint32_t b0,
                                          std::uint32_t b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

__device__ __forceinline__ void mma_bf16(float (&c)[4],
                                         const std::uint32_t (&a)[4],
                                         std::uint32_t b0,
                                         std::uint32_t b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

__device__ __forceinline__ void mma_f16(float (&c)[4],
                                        const std::uint32_t (&a)[4],
                                        std::uint32_t b0,
                                        std::uint32_t b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

/// `row`: 16 bytes of shared memory, aligned to them.
__device__ __forceinline__ void load_transposed(const void* row, std::uint32_t (&x)[2]) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
               : "=r"(x[0]), "=r"(x[1])
               : "r"(static_cast<std::uint32_t>(__cvta_generic_to_shared(row)))
               : "memory");
}

__device__ __forceinline__ void load_transposed(const void* row, std::uint32_t (&x)[4]) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
               : "r"(static_cast<std::uint32_t>(__cvta_generic_to_shared(row)))
               : "memory");
}

/// Of the current device. Raises DeviceError.
std::size_t hopper_shared_bytes();

/// What a kernel gets without asking.
constexpr std::size_t kUnaskedSharedBytes = 48 * 1024;

/// Raises DeviceError when the launch is refused. A kernel that wants more than 48 KiB of dynamic
/// shared memory asks for it at every launch: the stream sees nothing of that, captured or not.
template <typename... Parameters, typename... Arguments>
void launch(void (*kernel)(Parameters...),
            const LaunchShape& shape,
            Stream stream,
            Arguments&&... arguments) {
  if (shape.shared_bytes > kUnaskedSharedBytes) {
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               static_cast<int>(shape.shared_bytes)),
          "cudaFuncSetAttribute");
  }
  kernel<<<shape.grid, shape.block, shape.shared_bytes, stream.handle>>>(
      static_cast<Parameters>(std::forward<Arguments>(arguments))...);
  check(cudaGetLastError(), "kernel launch");
}

}  // namespace gpu
}  // namespace octavo::cuda
