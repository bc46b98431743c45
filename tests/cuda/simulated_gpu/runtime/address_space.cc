#include "tests/cuda/simulated_gpu/runtime/address_space.h"

#include <cerrno>
#include <cstring>
#include <system_error>

#include <sys/mman.h>
#include <unistd.h>

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

std::uint64_t map(int protection, int flags, int file) {
  void* const space = mmap(nullptr, kSpaceBytes, protection, flags | MAP_NORESERVE, file, 0);
  if (space == MAP_FAILED) {
    fail("mmap of the simulated GPUs' memory");
  }
  return reinterpret_cast<std::uint64_t>(space);
}

}  // namespace

AddressSpace::AddressSpace() {
  // A file in memory, since of one its pages can be given up from within a mapping.
  const int file = memfd_create("simulated GPUs", MFD_CLOEXEC);
  if (file < 0 || ftruncate(file, static_cast<off_t>(kSpaceBytes)) != 0) {
    fail("memfd_create of the simulated GPUs' memory");
  }
  begin_ = map(PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
  host_begin_ = map(PROT_READ | PROT_WRITE, MAP_SHARED, file);
  close(file);  // The mapping keeps it.
  next_ = begin_;
}

AddressSpace::~AddressSpace() {
  munmap(pointer(begin_), kSpaceBytes);
  munmap(pointer(host_begin_), kSpaceBytes);
}

std::uint64_t AddressSpace::take(std::uint64_t size_bytes) {
  // Something lies between two allocations, and no address is aligned by chance.
  const std::uint64_t address = up(next_ + 1, 2 * kAlignment) + kAlignment;
  if (size_bytes > kSpaceBytes || address + size_bytes > begin_ + kSpaceBytes) {
    return 0;
  }
  next_ = address + size_bytes;
  return address;
}

bool AddressSpace::holds(std::uint64_t address) const {
  return begin_ <= address && address < begin_ + kSpaceBytes;
}

void AddressSpace::drop(std::uint64_t begin, std::uint64_t size_bytes) {
  const std::uint64_t from = up(begin, kPageBytes);
  const std::uint64_t end = (begin + size_bytes) / kPageBytes * kPageBytes;
  if (from < end) {
    madvise(pointer(from + host_offset()), end - from, MADV_REMOVE);
  }
}

void AddressSpace::zero(std::uint64_t begin, std::uint64_t size_bytes) {
  constexpr std::uint64_t kMany = 256 * kPageBytes;
  const std::uint64_t from = up(begin, kPageBytes);
  const std::uint64_t end = (begin + size_bytes) / kPageBytes * kPageBytes;
  const auto clear = [this](std::uint64_t first, std::uint64_t last) {
    std::memset(pointer(first + host_offset()), 0, last - first);
  };
  // Pages that are given up read as zero when they are next touched.
  if (size_bytes < kMany || madvise(pointer(from + host_offset()), end - from, MADV_REMOVE) != 0) {
    clear(begin, begin + size_bytes);
    return;
  }
  clear(begin, from);
  clear(end, begin + size_bytes);
}

}  // namespace octavo::simulated_gpu
