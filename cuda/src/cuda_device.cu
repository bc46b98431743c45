#include "octavo/cuda/cuda_device.h"

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "current_device.h"
#include "ignored_status.h"
#include "kernel_device.h"
#include "make_cuda_device.h"
#include "octavo/error.h"
#include "staging_ring.h"

namespace octavo::cuda {
inline namespace gpu {
namespace {

thread_local void* current_stream = nullptr;

/// Whether the stream is being captured, or is the default stream and waits for one that is: work
/// that it is given then spoils that capture.
bool is_capturing(Stream stream) {
  cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
  const cudaError_t status = cudaStreamIsCapturing(stream.handle, &capture);
  if (status == cudaErrorStreamCaptureImplicit) {
    ignore(status);
    return true;
  }
  check(status, "cudaStreamIsCapturing");
  return capture != cudaStreamCaptureStatusNone;
}

/// What a replay would repeat with other contents, or not at all, must not be captured.
void refuse_capture(Stream stream, const char* call) {
  if (is_capturing(stream)) {
    throw Error(ErrorCode::FailedPrecondition,
                std::string(call) +
                    ": the stream, or one that the default stream waits for, is "
                    "being captured in a graph; only a step's operations may be, "
                    "with the workspace already large enough");
  }
}

class GpuWorkspace final : public Workspace {
 public:
  ~GpuWorkspace() override {
    ignore(cudaFree(memory_));
    ignore(cudaFree(counters_));
    for (void* const memory : outgrown_) {
      ignore(cudaFree(memory));
    }
  }

  /// All counters there ever are, so that no capture finds too few. Waits for their zeros.
  void make_counters() {
    check(cudaMalloc(&counters_, kCounterBytes), "cudaMalloc of the attention counters");
    check(cudaMemset(counters_, 0, kCounterBytes), "cudaMemset");
  }

  void* at_least(std::int64_t size_bytes) override {
    if (size_bytes > size_bytes_) {
      refuse_capture(stream_, "attend: growing the workspace");
      give_up_memory();
      check(cudaMallocAsync(&memory_, static_cast<std::size_t>(size_bytes), stream_.handle),
            "cudaMallocAsync of the attention workspace");
      size_bytes_ = size_bytes;
    } else if (!is_in_graph_) {
      is_in_graph_ = is_capturing(stream_);
    }
    return memory_;
  }

  /// Where the next growth happens.
  void on(Stream stream) noexcept { stream_ = stream; }

 private:
  static constexpr std::size_t kCounterBytes = kAttendCounters * sizeof(unsigned);

  /// Replays of a graph go on using what it was captured with.
  void give_up_memory() {
    if (is_in_graph_) {
      outgrown_.push_back(memory_);
    } else if (memory_ != nullptr) {
      // In order of the stream that used it last, which is the caller's.
      check(cudaFreeAsync(memory_, stream_.handle), "cudaFreeAsync");
    }
    memory_ = nullptr;
    size_bytes_ = 0;
    is_in_graph_ = false;
  }

  unsigned* counters_at_least(std::int64_t /*count*/, bool clear) override {
    if (clear) {
      check(cudaMemsetAsync(counters_, 0, kCounterBytes, stream_.handle), "cudaMemsetAsync");
    }
    return static_cast<unsigned*>(counters_);
  }

  void* memory_ = nullptr;
  std::int64_t size_bytes_ = 0;
  bool is_in_graph_ = false;  // Some capture has seen memory_.
  std::vector<void*> outgrown_;
  void* counters_ = nullptr;
  Stream stream_;
};

class CudaDevice final : public KernelDevice {
 public:
  CudaDevice(const CudaDeviceOptions& options, const AttendOptions& attend)
      : KernelDevice(attend),
        ordinal_(options.ordinal),
        name_("cuda:" + std::to_string(options.ordinal)) {
    const CurrentDevice gpu(ordinal_);
    staging_.emplace(options.staging_bytes);
    workspace_.make_counters();
    if (options.workspace_bytes > 0) {
      workspace_.at_least(options.workspace_bytes);
    }
    // Whichever stream uses them first, also one that the default stream is no order for.
    check(cudaStreamSynchronize(nullptr), "cudaStreamSynchronize");
    // Freed memory stays with the process: the next allocation of its size is a list operation.
    cudaMemPool_t pool = nullptr;
    check(cudaDeviceGetDefaultMemPool(&pool, ordinal_), "cudaDeviceGetDefaultMemPool");
    std::uint64_t kept_bytes = ~std::uint64_t{0};
    check(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &kept_bytes),
          "cudaMemPoolSetAttribute");
  }

  // Kernels may still use the workspace, and what cudaMallocAsync gave is freed without a wait.
  ~CudaDevice() override {
    int previous = ordinal_;
    ignore(cudaGetDevice(&previous));
    ignore(cudaSetDevice(ordinal_));
    ignore(cudaDeviceSynchronize());
    for (const Returned& returned : returned_) {
      ignore(cudaFree(returned.data));
    }
    ignore(cudaSetDevice(previous));
  }

  DeviceKind kind() const noexcept override { return DeviceKind::Cuda; }
  std::string_view name() const noexcept override { return name_; }
  bool host_accessible() const noexcept override { return false; }

  void* allocate(std::int64_t size_bytes) override {
    if (size_bytes < 0) {
      throw Error(ErrorCode::InvalidArgument,
                  "allocate: size_bytes " + std::to_string(size_bytes) + " is negative");
    }
    if (size_bytes == 0) {
      return nullptr;
    }
    const CurrentDevice gpu(ordinal_);
    refuse_capture(stream(), "allocate");
    free_returned();
    void* data = nullptr;
    check(cudaMallocAsync(&data, static_cast<std::size_t>(size_bytes), stream().handle),
          "cudaMallocAsync");
    const cudaError_t cleared =
        cudaMemsetAsync(data, 0, static_cast<std::size_t>(size_bytes), stream().handle);
    if (cleared != cudaSuccess) {
      ignore(cudaFreeAsync(data, stream().handle));
      check(cleared, "cudaMemsetAsync");
    }
    return data;
  }

  void deallocate(void* data, std::int64_t /*size_bytes*/) noexcept override {
    if (data == nullptr) {
      return;
    }
    try {
      {
        const std::lock_guard lock(returned_mutex_);
        returned_.push_back({data, stream().handle});
      }
      // The default stream is the current GPU's.
      const CurrentDevice gpu(ordinal_);
      if (!is_capturing(stream())) {
        free_returned();
      }
    } catch (...) {
      // Nobody could do anything about it: the GPU is gone, and its memory with it.
    }
  }

  void copy_from_host(void* dst, const void* src, std::int64_t size_bytes) override {
    const CurrentDevice gpu(ordinal_);
    refuse_capture(stream(), "copy_from_host");
    const std::lock_guard lock(staging_mutex_);
    staging_->upload(dst, src, size_bytes, stream());
  }

  void copy_to_host(void* dst, const void* src, std::int64_t size_bytes) const override {
    const CurrentDevice gpu(ordinal_);
    refuse_capture(stream(), "copy_to_host");
    if (size_bytes == 0) {
      return;
    }
    check(cudaMemcpyAsync(dst, src, static_cast<std::size_t>(size_bytes), cudaMemcpyDeviceToHost,
                          stream().handle),
          "cudaMemcpyAsync to the host");
    check(cudaStreamSynchronize(stream().handle), "cudaStreamSynchronize");
  }

  void copy(void* dst, const void* src, std::int64_t size_bytes) override {
    if (size_bytes == 0) {
      return;
    }
    const CurrentDevice gpu(ordinal_);
    check(cudaMemcpyAsync(dst, src, static_cast<std::size_t>(size_bytes), cudaMemcpyDeviceToDevice,
                          stream().handle),
          "cudaMemcpyAsync within the device");
  }

  void fill(void* dst, std::uint8_t value, std::int64_t size_bytes) override {
    if (size_bytes == 0) {
      return;
    }
    const CurrentDevice gpu(ordinal_);
    check(cudaMemsetAsync(dst, value, static_cast<std::size_t>(size_bytes), stream().handle),
          "cudaMemsetAsync");
  }

 protected:
  int ordinal() const noexcept override { return ordinal_; }
  Stream stream() const noexcept override { return {static_cast<cudaStream_t>(current_stream)}; }

  Workspace& workspace() noexcept override {
    workspace_.on(stream());
    return workspace_;
  }

 private:
  struct Returned {
    void* data;
    cudaStream_t stream;
  };

  /// Frees what was returned on the caller's stream, which is not being captured: a graph could
  /// only free what it has allocated itself.
  void free_returned() {
    const std::lock_guard lock(returned_mutex_);
    std::erase_if(returned_, [on = stream().handle](const Returned& returned) {
      if (returned.stream == on) {
        ignore(cudaFreeAsync(returned.data, on));
      }
      return returned.stream == on;
    });
  }

  int ordinal_;
  std::string name_;
  std::mutex returned_mutex_;
  std::vector<Returned> returned_;  // During a capture; guarded by returned_mutex_.
  std::mutex staging_mutex_;
  std::optional<StagingRing> staging_;
  GpuWorkspace workspace_;
};

void check_options(const CudaDeviceOptions& options) {
  int count = 0;
  check(cudaGetDeviceCount(&count), "make_cuda_device: cudaGetDeviceCount");
  if (options.ordinal < 0 || options.ordinal >= count) {
    throw Error(ErrorCode::InvalidArgument, "make_cuda_device: ordinal " +
                                                std::to_string(options.ordinal) +
                                                " is outside [0, " + std::to_string(count) + ")");
  }
  constexpr std::int64_t kStagingMin = 4096;
  if (options.staging_bytes < kStagingMin || options.workspace_bytes < 0) {
    throw Error(ErrorCode::InvalidArgument,
                "make_cuda_device: staging_bytes " + std::to_string(options.staging_bytes) +
                    " and workspace_bytes " + std::to_string(options.workspace_bytes) +
                    "; expected at least 4096 and at least 0");
  }
  int major = 0;
  check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, options.ordinal),
        "cudaDeviceGetAttribute");
  constexpr int kMajorMin = 8;  // cp.async and mma.sync of the kernels.
  if (major < kMajorMin) {
    throw Error(ErrorCode::Unimplemented, "make_cuda_device: GPU " +
                                              std::to_string(options.ordinal) +
                                              " has compute capability " + std::to_string(major) +
                                              ".x; the kernels need 8.0");
  }
}

}  // namespace

std::shared_ptr<Device> make_cuda_device(const CudaDeviceOptions& options,
                                         const AttendOptions& attend) {
  check_options(options);
  return std::make_shared<CudaDevice>(options, attend);
}

}  // namespace gpu
}  // namespace octavo::cuda

namespace octavo {

int cuda_device_count() noexcept {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) {
    static_cast<void>(cudaGetLastError());
    return 0;
  }
  return count;
}

std::shared_ptr<Device> make_cuda_device(const CudaDeviceOptions& options) {
  return cuda::make_cuda_device(options, {.fast = options.fast, .tuned_only = options.tuned_only});
}

CudaStreamGuard::CudaStreamGuard(void* stream) noexcept : previous_(cuda::current_stream) {
  cuda::current_stream = stream;
}

CudaStreamGuard::~CudaStreamGuard() {
  cuda::current_stream = previous_;
}

}  // namespace octavo
