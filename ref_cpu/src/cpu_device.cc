#include "octavo/ref_cpu/cpu_device.h"

#include "append.h"
#include "attend.h"
#include "octavo/device_ops.h"
#include "parallel.h"

namespace octavo::ref_cpu {

CpuDevice::CpuDevice(int threads)
    : pool_(std::make_unique<ThreadPool>(threads > 0 ? threads : available_cores())),
      attention_(std::make_unique<AttendEngine>(*pool_)) {}

CpuDevice::~CpuDevice() = default;

int CpuDevice::threads() const noexcept {
  return pool_->workers();
}

void* CpuDevice::allocate(std::int64_t size_bytes) {
  return memory_.allocate(size_bytes);
}

void CpuDevice::deallocate(void* data, std::int64_t size_bytes) noexcept {
  memory_.deallocate(data, size_bytes);
}

void CpuDevice::copy_from_host(void* dst, const void* src, std::int64_t size_bytes) {
  memory_.copy_from_host(dst, src, size_bytes);
}

void CpuDevice::copy_to_host(void* dst, const void* src, std::int64_t size_bytes) const {
  memory_.copy_to_host(dst, src, size_bytes);
}

void CpuDevice::copy(void* dst, const void* src, std::int64_t size_bytes) {
  memory_.copy(dst, src, size_bytes);
}

void CpuDevice::fill(void* dst, std::uint8_t value, std::int64_t size_bytes) {
  memory_.fill(dst, value, size_bytes);
}

void CpuDevice::append(const AppendArg& arg) {
  const std::lock_guard lock(mutex_);
  append_rows(arg, *pool_);
}

void CpuDevice::attend(const AttendArg& arg) {
  const std::lock_guard lock(mutex_);
  attention_->attend(arg);
}

void CpuDevice::store_cross(const StoreCrossArg& arg) {
  const std::lock_guard lock(mutex_);
  store_cross_rows(arg, *pool_);
}

}  // namespace octavo::ref_cpu

namespace octavo {

std::shared_ptr<Device> make_cpu_device(int threads) {
  return std::make_shared<ref_cpu::CpuDevice>(threads);
}

}  // namespace octavo
