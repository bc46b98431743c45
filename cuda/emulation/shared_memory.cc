#include "shared_memory.h"

#include <cstdint>
#include <cstring>
#include <new>

#include "sanitizers.h"

namespace octavo::emulation {
namespace {

constexpr int kPoison = 0xFF;
constexpr std::size_t kRedZone = 64;  // Between two arrays.
constexpr std::size_t kDynamicAlignment = 128;
constexpr std::align_val_t kAlignment{2 * kDynamicAlignment};
constexpr std::size_t kDynamicOffset = kDynamicAlignment;
constexpr std::size_t kMaxArrays = 64;
constexpr std::size_t kStaticOffset = kDynamicOffset + kSharedBytes + kRedZone;
// An array may cost its alignment twice besides itself; few have one above a red zone.
constexpr std::size_t kMemoryBytes =
    kStaticOffset + 2 * kStaticSharedBytes + kMaxArrays * 4 * kRedZone;

// The first address from `data` on that is a multiple of `alignment`, but not of twice that.
unsigned char* odd_multiple(unsigned char* data, std::size_t alignment) {
  const auto address = reinterpret_cast<std::uintptr_t>(data);
  const std::uintptr_t up = (address + alignment - 1) / alignment * alignment;
  return data + (up - address) + (up / alignment % 2 == 0 ? alignment : 0);
}

}  // namespace

void SharedMemory::Free::operator()(unsigned char* memory) const noexcept {
  ::operator delete(memory, kAlignment);
}

SharedMemory::~SharedMemory() {
  if (memory_ != nullptr) {
    permit(memory_.get(), kMemoryBytes);
  }
}

void SharedMemory::allocate() {
  memory_.reset(static_cast<unsigned char*>(::operator new(kMemoryBytes, kAlignment)));
  dynamic_ = memory_.get() + kDynamicOffset;
  next_ = memory_.get() + kStaticOffset;
  forbid(memory_.get(), kMemoryBytes);
}

void SharedMemory::reset(std::size_t dynamic_bytes) {
  // New memory makes the race detector forget the block before: nothing orders the two.
  if (kDetectsRaces) {
    memory_.reset();
  }
  if (memory_ == nullptr) {
    if (!kDetectsRaces || dynamic_bytes > 0) {
      allocate();
    }
  } else {
    forbid(memory_.get(), kMemoryBytes);
    next_ = memory_.get() + kStaticOffset;
  }
  if (dynamic_bytes > 0) {
    permit(dynamic_, dynamic_bytes);
    std::memset(dynamic_, kPoison, dynamic_bytes);
  }
  arrays_ = 0;
  static_bytes_ = 0;
  dynamic_bytes_ = dynamic_bytes;
}

void* SharedMemory::array(const SharedArray& declaration) {
  for (std::size_t i = 0; i < arrays_; ++i) {
    if (places_[i].declaration == &declaration) {
      return places_[i].data;
    }
  }
  if (memory_ == nullptr) {
    allocate();
  }
  const std::size_t size = declaration.size_bytes;
  // AddressSanitizer begins a range at a multiple of 8 only; below that, alignment is not strict.
  const std::size_t alignment =
      declaration.alignment < 8 && kRangesBeginAtEight ? 8 : declaration.alignment;
  unsigned char* data = odd_multiple(next_, alignment);
  if (arrays_ == kMaxArrays || static_bytes_ + size > kStaticSharedBytes ||
      static_bytes_ + size + dynamic_bytes_ > kSharedBytes ||
      data + size + kRedZone > memory_.get() + kMemoryBytes) {
    return nullptr;
  }
  permit(data, size);
  std::memset(data, kPoison, size);
  places_[arrays_++] = {&declaration, data};
  static_bytes_ += size;
  next_ = data + size + kRedZone;
  return data;
}

bool SharedMemory::holds(const void* data, std::size_t size) const {
  const auto address = reinterpret_cast<std::uintptr_t>(data);
  const auto begin = reinterpret_cast<std::uintptr_t>(memory_.get());
  return memory_ != nullptr && address >= begin && address + size <= begin + kMemoryBytes;
}

}  // namespace octavo::emulation
