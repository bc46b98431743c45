#include "tests/cuda/simulated_gpu/address_space.h"

#include <cerrno>
#include <cstring>
#include <system_error>

#include <sys/mman.h>

namespace octavo::simulated_gpu {
namespace {

constexpr std::uint64_t kSpaceBytes = std::uint64_t{1} << 38;
constexpr std::uint64_t kPageBytes = 4096;
constexpr std::uint64_t kAlignment = 256;

std::uint64_t up(std::uint64_t value, std::uint64_t to) {
  return (value + to - 1) / to * to;
}

void* pointer(std::uint64_t address) {
  return reinterpret_cast<void*>(address);
}

[[noreturn]] void fail(const char* call) {
  throw std::system_error(errno, std::generic_category(), call);
}

}  // namespace

AddressSpace::AddressSpace() {
  void* const space =
      mmap(nullptr, kSpaceBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (space == MAP_FAILED) {
    fail("mmap of the simulated GPUs' addresses");
  }
  begin_ = reinterpret_cast<std::uint64_t>(space);
  next_ = begin_;
}

AddressSpace::~AddressSpace() {
  munmap(pointer(begin_), kSpaceBytes);
}

std::uint64_t AddressSpace::take(std::uint64_t size_bytes) {
  // Something lies between two allocations, and no address is aligned by chance.
  const std::uint64_t address = up(next_ + 1, 2 * kAlignment) + kAlignment;
  if (size_bytes > kSpaceBytes || address + size_bytes > begin_ + kSpaceBytes) {
    return 0;
  }
  next_ = address + size_bytes;
  if (opened_ > 0) {
    protect(PROT_READ | PROT_WRITE);
  }
  return address;
}

bool AddressSpace::holds(std::uint64_t address) const {
  return begin_ <= address && address < begin_ + kSpaceBytes;
}

void AddressSpace::drop(std::uint64_t begin, std::uint64_t size_bytes) {
  const std::uint64_t from = up(begin, kPageBytes);
  const std::uint64_t end = (begin + size_bytes) / kPageBytes * kPageBytes;
  if (from < end) {
    madvise(pointer(from), end - from, MADV_DONTNEED);
  }
}

void AddressSpace::zero(std::uint64_t begin, std::uint64_t size_bytes) {
  const std::uint64_t from = up(begin, kPageBytes);
  const std::uint64_t end = (begin + size_bytes) / kPageBytes * kPageBytes;
  // Pages that are given up read as zero when they are next touched.
  if (from >= end || madvise(pointer(from), end - from, MADV_DONTNEED) != 0) {
    std::memset(pointer(begin), 0, size_bytes);
    return;
  }
  std::memset(pointer(begin), 0, from - begin);
  std::memset(pointer(end), 0, begin + size_bytes - end);
}

void AddressSpace::open() {
  if (opened_++ == 0) {
    protect(PROT_READ | PROT_WRITE);
  }
}

void AddressSpace::close() {
  if (--opened_ == 0) {
    protect(PROT_NONE);
  }
}

void AddressSpace::protect(int how) {
  if (mprotect(pointer(begin_), up(next_ - begin_ + 1, kPageBytes), how) != 0) {
    fail("mprotect of the simulated GPUs' memory");
  }
}

}  // namespace octavo::simulated_gpu
