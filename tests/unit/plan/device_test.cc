#include "octavo/device.h"

#include <cstdint>
#include <fstream>
#include <limits>
#include <vector>

#include "plan_testing.h"
#include <gtest/gtest.h>

namespace octavo {
namespace {

using testing::raised;

TEST(HostDevice, SmallAndLargeAllocationsReadAsZero) {
  HostDevice device;
  for (const std::int64_t size : {1, 63, 64, 65, 4096, (1 << 20) - 1, 1 << 20, (1 << 20) + 1}) {
    auto* data = static_cast<std::uint8_t*>(device.allocate(size));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(data) % 64, 0U);
    EXPECT_EQ(data[0], 0);
    EXPECT_EQ(data[size - 1], 0);
    device.fill(data, 0xFF, size);  // What the heap hands out again must not show this.
    device.deallocate(data, size);
  }
}

TEST(HostDevice, NothingIsAllocatedForNothing) {
  HostDevice device;
  EXPECT_EQ(device.allocate(0), nullptr);
  device.deallocate(nullptr, 0);
  device.copy_from_host(nullptr, nullptr, 0);
}

TEST(HostDevice, BytesTravelInEveryDirection) {
  HostDevice device;
  auto* a = device.allocate(8);
  auto* b = device.allocate(8);
  const std::uint64_t sent = 0x0123456789abcdefULL;
  std::uint64_t received = 0;
  device.copy_from_host(a, &sent, 8);
  device.copy(b, a, 8);
  device.copy_to_host(&received, b, 8);
  EXPECT_EQ(received, sent);
  device.deallocate(a, 8);
  device.deallocate(b, 8);
}

// A pool may be laid out that is larger than the machine, unless its owner forbids that.
TEST(HostDevice, ATebibyteIsReservedAndNotCommitted) {
  std::ifstream policy("/proc/sys/vm/overcommit_memory");
  constexpr int kNeverOvercommit = 2;
  if (int mode = 0; !(policy >> mode) || mode == kNeverOvercommit) {
    GTEST_SKIP() << "this system commits what is mapped";
  }
  HostDevice device;
  constexpr std::int64_t kSize = std::int64_t{1} << 40;
  auto* data = static_cast<std::uint8_t*>(device.allocate(kSize));
  EXPECT_EQ(data[kSize - 1], 0);
  data[kSize - 1] = 7;
  EXPECT_EQ(data[kSize - 1], 7);
  device.deallocate(data, kSize);
}

TEST(HostDevice, MemoryThatIsNotToBeHadIsAnError) {
  HostDevice device;
  const std::string message = raised(ErrorCode::ResourceExhausted, [&] {
    device.allocate(std::numeric_limits<std::int64_t>::max());
  });
  EXPECT_EQ(message.find("HostDevice::allocate: no 9223372036854775807 bytes of memory"), 0U);
  raised(ErrorCode::InvalidArgument, [&] { device.allocate(-1); });
}

TEST(NullDevice, CountsCallsAndBytesAndOwnsNothing) {
  NullDevice device;
  EXPECT_EQ(device.allocate(100), nullptr);
  EXPECT_EQ(device.allocate(50), nullptr);
  device.deallocate(nullptr, 100);
  EXPECT_EQ(device.allocate(20), nullptr);
  device.copy_from_host(nullptr, nullptr, 7);
  device.copy(nullptr, nullptr, 8);
  device.fill(nullptr, 1, 9);
  const DeviceCounters counters = device.counters();
  EXPECT_EQ(counters.allocations, 3);
  EXPECT_EQ(counters.deallocations, 1);
  EXPECT_EQ(counters.allocated_bytes, 170);
  EXPECT_EQ(counters.live_bytes, 70);
  EXPECT_EQ(counters.live_bytes_max, 150);
  EXPECT_EQ(counters.uploads, 1);
  EXPECT_EQ(counters.uploaded_bytes, 7);
  EXPECT_EQ(counters.copies, 1);
  EXPECT_EQ(counters.copied_bytes, 8);
  EXPECT_EQ(counters.fills, 1);
  EXPECT_EQ(counters.filled_bytes, 9);
}

TEST(NullDevice, WhatIsReadFromItIsZero) {
  NullDevice device;
  std::uint32_t value = 0xFFFFFFFFU;
  device.copy_to_host(&value, nullptr, 4);
  EXPECT_EQ(value, 0U);
  EXPECT_EQ(device.counters().downloads, 1);
  EXPECT_EQ(device.counters().downloaded_bytes, 4);
}

TEST(NullDevice, LiveBytesBeyond64BitsAreExhaustionAndCountNothing) {
  NullDevice device;
  constexpr std::int64_t kInt64Max = std::numeric_limits<std::int64_t>::max();
  device.allocate(kInt64Max);
  raised(ErrorCode::ResourceExhausted, [&] { device.allocate(1); });
  EXPECT_EQ(device.counters().allocations, 1);
  device.deallocate(nullptr, kInt64Max);
  device.allocate(2);
  EXPECT_EQ(device.counters().allocated_bytes, kInt64Max) << "saturates";
  EXPECT_EQ(device.counters().live_bytes, 2);
  raised(ErrorCode::InvalidArgument, [&] { device.allocate(-1); });
}

TEST(Device, NamesAndKindsSayWhatTheyAre) {
  EXPECT_EQ(host_device()->kind(), DeviceKind::Host);
  EXPECT_EQ(host_device()->name(), "host");
  EXPECT_TRUE(host_device()->host_accessible());
  EXPECT_EQ(NullDevice().kind(), DeviceKind::Null);
  EXPECT_FALSE(NullDevice().host_accessible());
  EXPECT_EQ(to_string(DeviceKind::Cuda), "cuda");
}

}  // namespace
}  // namespace octavo
