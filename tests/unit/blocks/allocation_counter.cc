#include "tests/unit/blocks/allocation_counter.h"

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <limits>
#include <new>

#include <malloc.h>

namespace octavo::testing {
namespace {

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

std::atomic<std::int64_t> allocations{0};
std::atomic<std::int64_t> live_bytes{0};
std::atomic<std::int64_t> successes_left{kNever};

void* allocate(std::size_t size, std::size_t alignment) {
  if (successes_left.load() != kNever && successes_left.fetch_sub(1) <= 0) {
    throw std::bad_alloc();
  }
  const std::size_t wanted = size == 0 ? 1 : size;
  // aligned_alloc wants a multiple of the alignment.
  void* memory =
      alignment <= alignof(std::max_align_t)
          ? std::malloc(wanted)
          : std::aligned_alloc(alignment, (wanted + alignment - 1) / alignment * alignment);
  if (memory == nullptr) {
    throw std::bad_alloc();
  }
  allocations.fetch_add(1);
  live_bytes.fetch_add(static_cast<std::int64_t>(malloc_usable_size(memory)));
  return memory;
}

void release(void* memory) noexcept {
  if (memory != nullptr) {
    live_bytes.fetch_sub(static_cast<std::int64_t>(malloc_usable_size(memory)));
    std::free(memory);
  }
}

}  // namespace

std::int64_t heap_allocations() {
  return allocations.load();
}
std::int64_t live_heap_bytes() {
  return live_bytes.load();
}
void fail_allocations_after(std::int64_t successes) {
  successes_left.store(successes);
}
void allow_allocations() {
  successes_left.store(kNever);
}

}  // namespace octavo::testing

void* operator new(std::size_t size) {
  return octavo::testing::allocate(size, 0);
}
void* operator new[](std::size_t size) {
  return octavo::testing::allocate(size, 0);
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  return octavo::testing::allocate(size, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t size, std::align_val_t alignment) {
  return octavo::testing::allocate(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept {
  octavo::testing::release(memory);
}
void operator delete[](void* memory) noexcept {
  octavo::testing::release(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  octavo::testing::release(memory);
}
void operator delete[](void* memory, std::size_t) noexcept {
  octavo::testing::release(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  octavo::testing::release(memory);
}
void operator delete[](void* memory, std::align_val_t) noexcept {
  octavo::testing::release(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  octavo::testing::release(memory);
}
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept {
  octavo::testing::release(memory);
}
