#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

#include "octavo/device.h"
#include "octavo/error.h"
#include <sys/mman.h>

namespace octavo {
namespace {

// From here on a mapping costs less than the memset that a heap allocation would need.
constexpr std::int64_t kMappedFromBytes = std::int64_t{1} << 20;
constexpr std::size_t kAlignment = 64;

void require_size(std::int64_t size_bytes) {
  if (size_bytes < 0) {
    throw Error(ErrorCode::InvalidArgument, "HostDevice::allocate: size_bytes is " +
                                                std::to_string(size_bytes) + "; it must be >= 0");
  }
}

[[noreturn]] void refuse(std::int64_t size_bytes, int error) {
  throw Error(ErrorCode::ResourceExhausted, "HostDevice::allocate: no " +
                                                std::to_string(size_bytes) +
                                                " bytes of memory: " + std::strerror(error));
}

// memcpy and memset take no null pointer, not even for nothing.
void copy_bytes(void* dst, const void* src, std::int64_t size_bytes) {
  if (size_bytes > 0) {
    std::memcpy(dst, src, static_cast<std::size_t>(size_bytes));
  }
}

}  // namespace

std::string_view to_string(DeviceKind kind) {
  switch (kind) {
    case DeviceKind::Host:
      return "host";
    case DeviceKind::Null:
      return "null";
    case DeviceKind::Cuda:
      return "cuda";
  }
  return "unknown";
}

void* HostDevice::allocate(std::int64_t size_bytes) {
  require_size(size_bytes);
  if (size_bytes == 0) {
    return nullptr;
  }
  if (size_bytes >= kMappedFromBytes) {
    // NORESERVE: whether the whole of a pool is ever touched is the traffic's business, so the
    // kernel shall not count it against the machine's memory beforehand.
    void* data = ::mmap(nullptr, static_cast<std::size_t>(size_bytes), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (data == MAP_FAILED) {
      refuse(size_bytes, errno);
    }
    return data;
  }
  // Of the exact size: a sanitizer then sees every access beyond what was asked for.
  void* data = nullptr;
  const int error = ::posix_memalign(&data, kAlignment, static_cast<std::size_t>(size_bytes));
  if (error != 0) {
    refuse(size_bytes, error);
  }
  std::memset(data, 0, static_cast<std::size_t>(size_bytes));
  return data;
}

void HostDevice::deallocate(void* data, std::int64_t size_bytes) noexcept {
  if (data == nullptr) {
    return;
  }
  if (size_bytes >= kMappedFromBytes) {
    ::munmap(data, static_cast<std::size_t>(size_bytes));
  } else {
    std::free(data);
  }
}

void HostDevice::copy_from_host(void* dst, const void* src, std::int64_t size_bytes) {
  copy_bytes(dst, src, size_bytes);
}

void HostDevice::copy_to_host(void* dst, const void* src, std::int64_t size_bytes) const {
  copy_bytes(dst, src, size_bytes);
}

void HostDevice::copy(void* dst, const void* src, std::int64_t size_bytes) {
  copy_bytes(dst, src, size_bytes);
}

void HostDevice::fill(void* dst, std::uint8_t value, std::int64_t size_bytes) {
  if (size_bytes > 0) {
    std::memset(dst, value, static_cast<std::size_t>(size_bytes));
  }
}

const std::shared_ptr<Device>& host_device() {
  static const std::shared_ptr<Device> device = std::make_shared<HostDevice>();
  return device;
}

}  // namespace octavo
