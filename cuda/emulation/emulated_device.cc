#include "octavo/cuda/emulated_device.h"

#include <algorithm>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "kernel_device.h"
#include "octavo/error.h"

namespace octavo::cuda {
inline namespace emulated {
namespace {

class HostWorkspace final : public Workspace {
 public:
  void* at_least(std::int64_t size_bytes) override {
    if (size_bytes > size_bytes_) {
      memory_.reset();
      size_bytes_ = 0;
      // Of the exact size: a sanitizer then sees every access beyond what was asked for.
      memory_.reset(static_cast<unsigned char*>(::operator new (
          static_cast<std::size_t>(size_bytes), std::align_val_t{kAlignment}, std::nothrow)));
      if (memory_ == nullptr) {
        throw Error(ErrorCode::ResourceExhausted, "emulated: no memory for " +
                                                      std::to_string(size_bytes) +
                                                      " bytes of partial results of attention");
      }
      size_bytes_ = size_bytes;
    }
    return memory_.get();
  }

 private:
  unsigned* counters_at_least(std::int64_t count, bool clear) override {
    const auto size = static_cast<std::size_t>(count);
    if (clear || size > counters_.size()) {
      counters_ = std::vector<unsigned>(std::max(size, counters_.size()));  // Again of exact size.
    }
    return counters_.data();
  }

  static constexpr std::size_t kAlignment = 256;
  struct Free {
    void operator()(unsigned char* memory) const noexcept {
      ::operator delete (memory, std::align_val_t{kAlignment});
    }
  };
  std::unique_ptr<unsigned char, Free> memory_;
  std::int64_t size_bytes_ = 0;
  std::vector<unsigned> counters_;
};

emulation::CopyTime copy_time(AsyncCopies copies) {
  switch (copies) {
    case AsyncCopies::Eager:
      return emulation::CopyTime::Eager;
    case AsyncCopies::Lazy:
      return emulation::CopyTime::Lazy;
    case AsyncCopies::Random:
      return emulation::CopyTime::Random;
  }
  return emulation::CopyTime::Random;
}

AttendOptions attend_options(const EmulatedDeviceOptions& options) {
  AttendOptions made{.fast = options.fast,
                     .fast_tiles = options.fast_tiles,
                     .tuned_only = options.tuned_only,
                     .general_only = options.general_only};
  if (options.attend_workspace_bytes > 0) {
    made.workspace_bytes = options.attend_workspace_bytes;
  }
  return made;
}

class EmulatedDevice final : public KernelDevice {
 public:
  explicit EmulatedDevice(const EmulatedDeviceOptions& options)
      : KernelDevice(attend_options(options)),
        launches_{.options = {.seed = options.seed,
                              .workers = options.workers,
                              .copy_time = copy_time(options.copies)}} {}

  DeviceKind kind() const noexcept override { return DeviceKind::Host; }
  std::string_view name() const noexcept override { return "emulated"; }
  bool host_accessible() const noexcept override { return true; }

  void* allocate(std::int64_t size_bytes) override { return memory_.allocate(size_bytes); }
  void deallocate(void* data, std::int64_t size_bytes) noexcept override {
    memory_.deallocate(data, size_bytes);
  }
  void copy_from_host(void* dst, const void* src, std::int64_t size_bytes) override {
    memory_.copy_from_host(dst, src, size_bytes);
  }
  void copy_to_host(void* dst, const void* src, std::int64_t size_bytes) const override {
    memory_.copy_to_host(dst, src, size_bytes);
  }
  void copy(void* dst, const void* src, std::int64_t size_bytes) override {
    memory_.copy(dst, src, size_bytes);
  }
  void fill(void* dst, std::uint8_t value, std::int64_t size_bytes) override {
    memory_.fill(dst, value, size_bytes);
  }

 protected:
  int ordinal() const noexcept override { return 0; }
  Stream stream() const noexcept override { return {&launches_}; }
  Workspace& workspace() noexcept override { return workspace_; }

 private:
  mutable emulation::LaunchSequence launches_;  // Counted by whoever holds the operations' lock.
  HostDevice memory_;
  HostWorkspace workspace_;
};

}  // namespace
}  // namespace emulated
}  // namespace octavo::cuda

namespace octavo {

std::shared_ptr<Device> make_emulated_device(const EmulatedDeviceOptions& options) {
  return std::make_shared<cuda::EmulatedDevice>(options);
}

}  // namespace octavo
