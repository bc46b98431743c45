// Kernels with and without races, for a build with ThreadSanitizer: `races_main <kernel> <workers>`
// launches one of them, with and without a seed. CMakeLists.txt says of which it expects a report.
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "cuda/kernels/platform.cuh"

namespace octavo::cuda {
inline namespace emulated {
namespace {

constexpr unsigned kThreads = 64;
constexpr unsigned kBlocks = 4;

// Neighbours exchange values through shared memory, twice.
template <bool kFirst, bool kSecond>
__global__ void exchange(int* out) {
  OCTAVO_SHARED_ARRAY(int, values, kThreads);
  int value = static_cast<int>(threadIdx.x);
  for (int round = 0; round < 2; ++round) {
    values[threadIdx.x] = value;
    if (kFirst) {
      __syncthreads();
    }
    value = values[(threadIdx.x + 32) % kThreads];
    if (kSecond) {
      __syncthreads();
    }
  }
  out[blockIdx.x * kThreads + threadIdx.x] = value;
}

// The same within a warp. A vote or a shuffle is no order of memory.
template <bool kFirst, bool kSecond>
__global__ void exchange_in_warp(int* out) {
  OCTAVO_SHARED_ARRAY(int, values, kThreads);
  int value = static_cast<int>(threadIdx.x);
  for (int round = 0; round < 2; ++round) {
    values[threadIdx.x] = value;
    if (kFirst) {
      __syncwarp();
    } else {
      __all_sync(0xFFFFFFFFu, 1);
    }
    value = values[threadIdx.x ^ 1u];
    if (kSecond) {
      __syncwarp();
    }
  }
  out[blockIdx.x * kThreads + threadIdx.x] = value;
}

// The neighbour reads what cp.async brought.
template <bool kBarrier>
__global__ void exchange_copies(int* out, const int* in) {
  OCTAVO_SHARED_ARRAY(int, values, kThreads);
  async_copy<4>(&values[threadIdx.x], &in[threadIdx.x], true);
  async_copy_commit();
  async_copy_wait<0>();
  if (kBarrier) {
    __syncthreads();
  }
  out[blockIdx.x * kThreads + threadIdx.x] = values[(threadIdx.x + 1) % kThreads];
}

// The last block to come adds up what all have left in global memory.
template <bool kFence, bool kReaderFence, bool kLateWrite>
__global__ void add_up(int* out, int* parts, unsigned* arrived) {
  OCTAVO_SHARED(bool, is_last);
  if (threadIdx.x == 1) {
    parts[blockIdx.x] = static_cast<int>(blockIdx.x);
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    if (kFence) {
      __threadfence();
    }
    if (kLateWrite) {
      parts[blockIdx.x] = 1;
    }
    is_last = atomicAdd(arrived, 1u) == gridDim.x - 1;
    if (kReaderFence) {
      __threadfence();
    }
  }
  __syncthreads();
  if (is_last && threadIdx.x < gridDim.x) {
    out[threadIdx.x] = parts[threadIdx.x];
  }
}

template <unsigned kStep>
__global__ void write_rows(int* out) {
  out[blockIdx.x * kStep + threadIdx.x] = 1;
}

int run(std::string_view name, Stream stream) {
  std::vector<int> out(kBlocks * kThreads);
  std::vector<int> in(kThreads, 1);
  std::vector<int> parts(kBlocks);
  unsigned arrived = 0;
  const LaunchShape shape{kBlocks, kThreads};
  const auto add = [&](auto* kernel) {
    launch(kernel, shape, stream, out.data(), parts.data(), &arrived);
  };
  if (name == "barriers") {
    launch(exchange<true, true>, shape, stream, out.data());
  } else if (name == "no_first_barrier") {
    launch(exchange<false, true>, shape, stream, out.data());
  } else if (name == "no_second_barrier") {
    launch(exchange<true, false>, shape, stream, out.data());
  } else if (name == "syncwarps") {
    launch(exchange_in_warp<true, true>, shape, stream, out.data());
  } else if (name == "no_first_syncwarp") {
    launch(exchange_in_warp<false, true>, shape, stream, out.data());
  } else if (name == "no_second_syncwarp") {
    launch(exchange_in_warp<true, false>, shape, stream, out.data());
  } else if (name == "copies") {
    launch(exchange_copies<true>, shape, stream, out.data(), in.data());
  } else if (name == "copies_without_barrier") {
    launch(exchange_copies<false>, shape, stream, out.data(), in.data());
  } else if (name == "fences") {
    add(&add_up<true, true, false>);
  } else if (name == "no_fence") {
    add(&add_up<false, true, false>);
  } else if (name == "no_reader_fence") {
    add(&add_up<true, false, false>);
  } else if (name == "write_behind_fence") {
    add(&add_up<true, true, true>);
  } else if (name == "own_rows") {
    launch(write_rows<kThreads>, shape, stream, out.data());
  } else if (name == "overlapping_rows") {
    launch(write_rows<kThreads - 1>, shape, stream, out.data());
  } else if (name == "same_row") {
    launch(write_rows<0>, shape, stream, out.data());
  } else {
    return 2;
  }
  // What a launch wrote can be read after it, and written by the next.
  launch(write_rows<kThreads>, shape, stream, out.data());
  return out[0] == 1 ? 0 : 3;
}

}  // namespace
}  // namespace emulated
}  // namespace octavo::cuda

int main(int argc, char** argv) {
  int status = 2;
  for (const std::uint64_t seed : {0u, 1u}) {
    if (argc == 3) {
      octavo::emulation::LaunchSequence launches{
          .options = {.seed = seed, .workers = std::atoi(argv[2])}};
      status = octavo::cuda::run(argv[1], {&launches});
    }
  }
  std::puts(status == 0 ? "ran" : "failed");
  return status;
}
