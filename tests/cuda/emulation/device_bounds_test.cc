// The memory of the emulated device ends for AddressSanitizer where it was asked to end, although
// the host's is given out in multiples of 64 bytes.
#include <cstdint>

#include "octavo/cuda/emulated_device.h"
#include <gtest/gtest.h>
#include <sanitizer/asan_interface.h>

namespace octavo {
namespace {

TEST(EmulatedDevice, NothingBehindItsMemoryMayBeTouched) {
  const auto device = make_emulated_device();
  // The last one is mapped, not taken from the heap.
  for (const std::int64_t size : {1, 8, 60, 64, 2392, (1 << 20) + 4}) {
    auto* const bytes = static_cast<unsigned char*>(device->allocate(size));
    EXPECT_EQ(__asan_region_is_poisoned(bytes, static_cast<std::size_t>(size)), nullptr) << size;
    for (std::int64_t behind = size; behind % 64 != 0; ++behind) {
      EXPECT_TRUE(__asan_address_is_poisoned(bytes + behind)) << size << ' ' << behind;
    }
    device->deallocate(bytes, size);
  }
  // What was mapped may be mapped again.
  const std::int64_t whole = (1 << 20) + 64;
  void* const again = device->allocate(whole);
  EXPECT_EQ(__asan_region_is_poisoned(again, static_cast<std::size_t>(whole)), nullptr);
  device->deallocate(again, whole);
}

}  // namespace
}  // namespace octavo
