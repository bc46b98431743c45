#include "tests/cuda/compiled/roofline.h"

#include <stdexcept>
#include <utility>

#include <gtest/gtest.h>

#include "tests/cuda/compiled/expectations.h"

namespace octavo::compiled {
namespace {

// Two multiprocessors of one clock a nanosecond, 1 byte a nanosecond of memory, 2 of cache.
constexpr GpuFigures kSmall = {.name = "small",
                               .multiprocessors = 2,
                               .clock_ghz = 1.0,
                               .memory_gb_per_s = 1.0,
                               .cache_gb_per_s = 2.0,
                               .launch_us = 10.0,
                               .latency_us = 0.5,
                               .cache_latency_us = 0.25,
                               .registers = 65536,
                               .shared_bytes = 65536,
                               .reserved_bytes = 1024,
                               .threads = 2048,
                               .blocks = 32,
                               .cache_bytes_per_clock = 16.0};

LaunchWork work() {
  LaunchWork launch;
  launch.needs = {.threads = 128, .registers = 64, .shared_bytes = 0};
  launch.blocks = 4;
  return launch;
}

TEST(Roofline, AMultiprocessorHoldsWhatTheScarcestThingAllows) {
  EXPECT_EQ(resident_blocks(kSmall, {.threads = 128, .registers = 32, .shared_bytes = 0}), 16u);
  EXPECT_EQ(resident_blocks(kSmall, {.threads = 32, .registers = 32, .shared_bytes = 0}), 32u);
  EXPECT_EQ(resident_blocks(kSmall, {.threads = 128, .registers = 80, .shared_bytes = 0}), 6u);
  EXPECT_EQ(resident_blocks(kSmall, {.threads = 128, .registers = 73, .shared_bytes = 0}), 6u);
  EXPECT_EQ(resident_blocks(kSmall, {.threads = 128, .registers = 72, .shared_bytes = 0}), 7u);
  EXPECT_EQ(resident_blocks(kSmall, {.threads = 128, .registers = 32, .shared_bytes = 15360}), 4u);
  EXPECT_EQ(resident_blocks(kSmall, {.threads = 128, .registers = 32, .shared_bytes = 15361}), 3u);
}

TEST(Roofline, NamesTheLongestOfItsLimits) {
  LaunchWork launch = work();
  launch.memory_bytes = 1000;  // 4 us of 4 blocks.
  launch.cache_bytes = 1000;
  EXPECT_EQ(time_of(kSmall, launch).us, 14.0);
  EXPECT_EQ(time_of(kSmall, launch).limit, "memory");
  launch.cache_bytes = 3000;
  EXPECT_EQ(time_of(kSmall, launch).us, 16.0);
  EXPECT_EQ(time_of(kSmall, launch).limit, "second-level cache");
  launch.clocks[Pipe::Issue] = 1000;
  launch.clocks[Pipe::Special] = 4000;  // 8 us of 2 blocks.
  EXPECT_EQ(time_of(kSmall, launch).us, 18.0);
  EXPECT_EQ(time_of(kSmall, launch).limit, "special functions");
  EXPECT_EQ(time_of(kSmall, launch).issue_share, 0.25);
  launch.read_bytes = 1000;
  launch.flight_bytes = 50;  // Of two blocks: 20 times 0.5 us.
  EXPECT_EQ(time_of(kSmall, launch).us, 20.0);
  EXPECT_EQ(time_of(kSmall, launch).limit, "reads in flight");
}

TEST(Roofline, TheFullestMultiprocessorDecides) {
  LaunchWork launch = work();
  launch.clocks[Pipe::Issue] = 1000;
  for (const auto& [blocks, us] : {std::pair(1.0, 1.0), {2.0, 1.0}, {3.0, 2.0}, {5.0, 3.0}}) {
    launch.blocks = blocks;
    EXPECT_EQ(time_of(kSmall, launch).us, 10.0 + us) << blocks;
  }
}

TEST(Roofline, ReadsOfResidentBlocksAloneAreInFlight) {
  LaunchWork launch = work();
  launch.blocks = 32;
  launch.read_bytes = 1000;
  launch.flight_bytes = 500;
  launch.needs.registers = 128;  // Four blocks of sixteen at a time.
  EXPECT_EQ(time_of(kSmall, launch).us, 10.0 + 16 * 1000 / (4 * 500.0) * 0.5);
}

TEST(Roofline, TheTailOverlapsWithNothing) {
  LaunchWork launch = work();
  const double us = time_of(kSmall, launch).us;
  launch.tail_trips = 3;
  launch.tail_bytes = 100;
  EXPECT_EQ(time_of(kSmall, launch).us, us + 3 * 0.25);
  launch.tail_bytes = 32000;
  EXPECT_EQ(time_of(kSmall, launch).us, us + 32000 / (16 * 1e3));
}

TEST(Roofline, RefusesABlockThatFitsNowhere) {
  LaunchWork launch = work();
  launch.needs.shared_bytes = 65536;
  EXPECT_THROW(time_of(kSmall, launch), std::invalid_argument);
}

TEST(Expectations, AreOfWhatThereIs) {
  EXPECT_TRUE(expectations(kH200, {}).empty());
  CompiledKernel kernel;
  kernel.name = "copy_blocks_kernel<2048u>";
  kernel.architecture = 90;
  kernel.registers = 80;
  for (const unsigned operation : {0x981u, 0x986u, 0x94Du}) {  // LDG, STG, EXIT.
    kernel.code.push_back({operation, std::uint64_t{6} << 9, SassFlow::Next, {}});
  }
  kernel.code.back().flow = SassFlow::Exit;
  const std::vector<Expectation> found = expectations(kH200, {&kernel, 1});
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].main.resident, 6u);
  // 2048 copies of 32 KiB a launch, or all of them in one.
  for (const auto& [item, launches] : {std::pair(found[0], 4), {found[1], 1}}) {
    const double us = item.bytes / 4.3e6;
    EXPECT_EQ(item.main.limit, "memory");
    EXPECT_NEAR(item.value, us / (us + 3.0 * launches), 1e-9);
    EXPECT_TRUE(item.meets_goal());
  }
  kernel.architecture = 80;
  EXPECT_TRUE(expectations(kH200, {&kernel, 1}).empty());
}

TEST(Expectations, MeetGoalsThatTheyReach) {
  Expectation item;
  item.value = 0.8;
  EXPECT_TRUE(item.meets_goal());
  item.goal = 0.85;
  EXPECT_FALSE(item.meets_goal());
  item.unit = ExpectedUnit::Microseconds;
  EXPECT_TRUE(item.meets_goal());
  item.value = 0.9;
  EXPECT_FALSE(item.meets_goal());
}

}  // namespace
}  // namespace octavo::compiled
