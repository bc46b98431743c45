// The emulated device as a Device: memory, and what its options come to.
#include <cstdint>
#include <vector>

#include "octavo/cuda/emulated_device.h"
#include "octavo/device_ops.h"
#include "octavo/error.h"
#include <gtest/gtest.h>

namespace octavo {
namespace {

TEST(EmulatedDevice, IsHostMemoryByAnotherName) {
  const auto device = make_emulated_device({.seed = 3, .workers = 2, .copies = AsyncCopies::Lazy});
  EXPECT_EQ(device->name(), "emulated");
  EXPECT_EQ(device->kind(), DeviceKind::Host);
  EXPECT_TRUE(device->host_accessible());
  void* data = device->allocate(100);
  device->fill(data, 7, 100);
  std::vector<std::uint8_t> bytes(100);
  device->copy_to_host(bytes.data(), data, 100);
  EXPECT_EQ(bytes, std::vector<std::uint8_t>(100, 7));
  device->deallocate(data, 100);
}

}  // namespace
}  // namespace octavo
