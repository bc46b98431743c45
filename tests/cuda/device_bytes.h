// Memory of a device that holds what a test put there, freed at the end of the scope.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "octavo/device.h"

namespace octavo::cuda_test {

using Bytes = std::vector<std::uint8_t>;

class DeviceBytes {
 public:
  DeviceBytes(std::shared_ptr<Device> device, const Bytes& bytes)
      : device_(std::move(device)), size_(static_cast<std::int64_t>(bytes.size())) {
    data_ = device_->allocate(size_);
    device_->copy_from_host(data_, bytes.data(), size_);
  }
  DeviceBytes(const DeviceBytes&) = delete;
  DeviceBytes& operator=(const DeviceBytes&) = delete;
  ~DeviceBytes() { device_->deallocate(data_, size_); }

  /// The address `offset` bytes behind the beginning.
  template <typename T = std::uint8_t>
  T* at(std::int64_t offset = 0) const {
    return reinterpret_cast<T*>(static_cast<std::uint8_t*>(data_) + offset);
  }
  Bytes read() const {
    Bytes bytes(static_cast<std::size_t>(size_));
    device_->copy_to_host(bytes.data(), data_, size_);
    return bytes;
  }

 private:
  std::shared_ptr<Device> device_;
  std::int64_t size_;
  void* data_ = nullptr;
};

}  // namespace octavo::cuda_test
