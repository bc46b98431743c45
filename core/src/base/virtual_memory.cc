#include "base/virtual_memory.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include "octavo/error.h"
#include <sys/mman.h>

namespace octavo {
namespace {

constexpr std::size_t kCacheLineBytes = 64;
constexpr std::size_t kHugePageBytes = std::size_t{2} << 20;
// Below this a mapping of its own costs more than it saves.
constexpr std::size_t kMapFromBytes = std::size_t{256} << 10;

std::size_t round_up(std::size_t value, std::size_t unit) {
  return (value + unit - 1) / unit * unit;
}

}  // namespace

void throw_address_space(const char* what) {
  throw Error(ErrorCode::ResourceExhausted, std::string("no address space for ") + what);
}

VirtualMemory::VirtualMemory(std::size_t size_bytes, Pages pages, const char* what)
    : size_bytes_(round_up(size_bytes > 0 ? size_bytes : 1, kCacheLineBytes)) {
  if (size_bytes_ < kMapFromBytes) {
    data_ = std::aligned_alloc(kCacheLineBytes, size_bytes_);
    if (data_ == nullptr) {
      throw std::bad_alloc();
    }
    std::memset(data_, 0, size_bytes_);
    return;
  }
  // Room to start on a huge page's edge.
  mapping_bytes_ = round_up(size_bytes_, kHugePageBytes) + kHugePageBytes;
  mapping_ = mmap(nullptr, mapping_bytes_, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping_ == MAP_FAILED) {
    mapping_ = nullptr;
    throw_address_space(what);
  }
  data_ =
      reinterpret_cast<void*>(round_up(reinterpret_cast<std::uintptr_t>(mapping_), kHugePageBytes));
  // Advice only: without huge pages everything still works, a few per cent slower.
  (void)madvise(data_, round_up(size_bytes_, kHugePageBytes),
                pages == Pages::Huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
}

VirtualMemory::~VirtualMemory() {
  if (mapping_ != nullptr) {
    munmap(mapping_, mapping_bytes_);
  } else {
    std::free(data_);
  }
}

void VirtualMemory::clear(std::size_t used_bytes) noexcept {
  if (used_bytes == 0) {
    return;
  }
  if (mapping_ != nullptr && madvise(data_, used_bytes, MADV_DONTNEED) == 0) {
    return;
  }
  std::memset(data_, 0, used_bytes);
}

}  // namespace octavo
