// The CUDA device: a GPU's memory, and the operations as kernels on the caller's stream.
//
// *Streams.* Work goes to the stream that a CudaStreamGuard of the calling thread names, else to
// the device's default stream. The device never waits for the GPU on the path of a step: kernels
// are queued, uploads go through pinned staging memory of its own, and memory is taken and given
// back in stream order. Only `copy_to_host` waits, for what its stream was given before.
// Whoever uses memory on one stream that was last written on another orders the two itself; so too
// whoever attends on two streams of one device, whose calls share its workspace. A stream is idle
// when it is destroyed.
//
// *Graphs.* The operations of a step (not uploads, not allocation) may be captured in a CUDA graph
// once the attention workspace has grown to what they need: run the step once, or give
// `workspace_bytes`. Replays then read the contents of the step's persistent buffers. A workspace
// that was captured stays as long as the device, also when a larger one has come since; memory that
// is given back during a capture is freed by a later call or with the device.
//
// *Errors.* Every call of the runtime is checked. ResourceExhausted when memory runs out;
// DeviceError for everything else, also what an earlier kernel did, which CUDA reports late. After
// that the GPU's contents are lost: abandon the sessions.
//
// Threads: everything may be called from several threads; operations take turns.
#pragma once

#include <cstdint>
#include <memory>

#include "octavo/device.h"

namespace octavo {

struct CudaDeviceOptions {
  int ordinal = 0;                   ///< Of the GPU, as CUDA numbers them.
  std::int64_t workspace_bytes = 0;  ///< Of attention, taken at once; it grows outside captures.
  std::int64_t staging_bytes = std::int64_t{8} << 20;  ///< Pinned, for uploads; at least 4096.
  bool fast = false;        ///< Attention on float tensor cores, within a bound instead of exact.
  bool tuned_only = false;  ///< Refuse attention that only the general kernel takes.
};

/// GPUs that this process may use; 0 without a driver.
int cuda_device_count() noexcept;

/// Raises InvalidArgument for an ordinal that is none or sizes that are too small, Unimplemented
/// for a GPU below compute capability 8.0, ResourceExhausted, and DeviceError, also where there is
/// no GPU at all.
std::shared_ptr<Device> make_cuda_device(const CudaDeviceOptions& options = {});

/// Makes `stream` (a cudaStream_t) the one that this thread's operations go to, until it is gone.
class CudaStreamGuard {
 public:
  explicit CudaStreamGuard(void* stream) noexcept;
  ~CudaStreamGuard();
  CudaStreamGuard(const CudaStreamGuard&) = delete;
  CudaStreamGuard& operator=(const CudaStreamGuard&) = delete;

 private:
  void* previous_;
};

}  // namespace octavo
