// What the tests of CudaDevice over the simulated runtime share.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "octavo/cuda/cuda_device.h"
#include "octavo/device.h"
#include "octavo/error.h"

#include "tests/cuda/simulated_gpu/runtime/runtime_testing.h"

namespace octavo::simulated_gpu {

/// The least that is legal: four segments of 1024 bytes.
inline constexpr std::int64_t kSmallStagingBytes = 4096;

inline std::shared_ptr<Device> make_small_device(int ordinal = 0) {
  return make_cuda_device({.ordinal = ordinal, .staging_bytes = kSmallStagingBytes});
}

inline void upload(Device& device, void* data, const Bytes& bytes) {
  device.copy_from_host(data, bytes.data(), static_cast<std::int64_t>(bytes.size()));
}

inline Bytes download(const Device& device, const void* data, std::int64_t size_bytes) {
  Bytes bytes(static_cast<std::size_t>(size_bytes));
  device.copy_to_host(bytes.data(), data, size_bytes);
  return bytes;
}

/// The code of the Error that `call` raises; fails the test where there is none.
inline ErrorCode code_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.code();
  }
  ADD_FAILURE() << "nothing was raised";
  return ErrorCode::Internal;
}

/// Memory of a device for a scope.
class ScopedBytes {
 public:
  ScopedBytes(std::shared_ptr<Device> device, std::int64_t size_bytes)
      : device_(std::move(device)),
        size_bytes_(size_bytes),
        data_(static_cast<std::uint8_t*>(device_->allocate(size_bytes))) {}
  ~ScopedBytes() { device_->deallocate(data_, size_bytes_); }
  ScopedBytes(const ScopedBytes&) = delete;
  ScopedBytes& operator=(const ScopedBytes&) = delete;

  std::uint8_t* data() const { return data_; }
  std::int64_t size_bytes() const { return size_bytes_; }

 private:
  std::shared_ptr<Device> device_;
  std::int64_t size_bytes_;
  std::uint8_t* data_;
};

}  // namespace octavo::simulated_gpu
