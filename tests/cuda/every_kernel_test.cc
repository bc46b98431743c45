// A case or two of every family of kernels, against the reference and in several orders of threads,
// small enough for what takes a hundred times as long: ThreadSanitizer and AddressSanitizer over
// the emulation, compute-sanitizer over a GPU.
#include <cstdint>
#include <memory>
#include <vector>

#include "append_case.h"
#include "attend_case.h"
#include "device_bytes.h"
#include "device_under_test.h"
#include "octavo/block_manager.h"
#include "octavo/ref_cpu/cpu_device.h"
#include <gtest/gtest.h>

#include "tests/cuda/conv_case.h"
#include "tests/cuda/gated_delta_case.h"
#include "tests/cuda/selective_state_case.h"

namespace octavo::cuda_test {
namespace {

constexpr std::uint64_t kSeeds[] = {0, 1, 2};

constexpr CaseRows kInt8Rows = {DType::Int8, KVCodec::Int8, KVScale::PerTokenHead};
constexpr CaseRows kInt4Rows = {DType::UInt8, KVCodec::Int4, KVScale::PerTokenHead};
constexpr CaseRows kE4M3Rows = {DType::E4M3, KVCodec::E4M3, KVScale::PerTokenHead};
constexpr CaseRows kBF16Rows = {DType::BF16, KVCodec::None, KVScale::PerTokenHead};

// A whole chunk and a part of another, a tile that is not full, and a short sequence.
AttendCase attend_case(const CaseRows& keys, const CaseRows& values, std::int64_t head_dim) {
  AttendCase made;
  made.keys = keys;
  made.values = values;
  made.head_dim = head_dim;
  made.kv_heads = 1;
  made.group = 3;
  made.lengths = {265, 17};
  made.queries = {1, 2};
  made.sinks = true;
  made.partials = false;  // Through the workspace, to the combination.
  return made;
}

void expect_exact(const AttendCase& test, bool tuned_only) {
  const CaseData data = make_data(test);
  const CaseResult expected = run_case(test, data, *make_cpu_device(1));
  for (const std::uint64_t seed : kSeeds) {
    const auto device = device_under_test(TestedOptions{.seed = seed, .tuned_only = tuned_only});
    EXPECT_EQ(difference(run_case(test, data, *device), expected), "") << seed;
  }
}

TEST(EveryKernel, AttendFloat) {
  expect_exact(attend_case(kE4M3Rows, kE4M3Rows, 64), true);
}

TEST(EveryKernel, AttendInt8) {
  expect_exact(attend_case(kInt8Rows, kInt8Rows, 64), true);
}

TEST(EveryKernel, AttendInt4) {
  expect_exact(attend_case(kInt4Rows, kInt4Rows, 64), true);
}

TEST(EveryKernel, AttendGeneral) {
  expect_exact(attend_case(kInt8Rows, kBF16Rows, 40), false);
}

// Within which bound is attend_fast_test's to say; here, that no order of threads shows.
void expect_one_result(const AttendCase& test, FastTiles tiles) {
  const CaseData data = make_data(test);
  const auto run = [&](std::uint64_t seed) {
    return run_case(test, data,
                    *device_under_test({.seed = seed, .fast = true, .fast_tiles = tiles}));
  };
  const CaseResult first = run(kSeeds[0]);
  EXPECT_NE(difference(first, run_case(test, data, *make_cpu_device(1))), "");
  EXPECT_EQ(difference(run(kSeeds[1]), first), "");
}

// Two slices of values.
TEST(EveryKernel, AttendFast) {
  expect_one_result(attend_case(kE4M3Rows, kE4M3Rows, 80), FastTiles::Narrow);
}

// Two chunks, so that the second is copied while the first is read; warps without rows.
TEST(EveryKernel, AttendFastWide) {
  AttendCase test = attend_case(kE4M3Rows, kE4M3Rows, 64);
  test.queries = {12, 2};
  expect_one_result(test, FastTiles::Wide);
}

TEST(EveryKernel, Append) {
  Random random(1);
  for (const DType to : {DType::F16, DType::E4M3, DType::Int8, DType::Int4}) {
    const RowKind keys{DType::BF16, to, KVScale::PerTokenHead, 64};
    const RowKind values{DType::F32, to, KVScale::Static, 80};
    const AppendCase test = random_case(random, keys, values, StepShape::Prefill);
    const auto appended = [&](const std::shared_ptr<Device>& device) {
      const LoadedCase loaded(test, device);
      device->append(loaded.arg());
      return loaded.read();
    };
    const Written expected = appended(make_cpu_device(1));
    for (const std::uint64_t seed : kSeeds) {
      EXPECT_TRUE(appended(device_under_test(seed)) == expected) << to_string(to) << ' ' << seed;
    }
  }
}

Bytes numbered_bytes(std::size_t size) {
  Bytes bytes(size);
  for (std::size_t i = 0; i < size; ++i) {
    bytes[i] = static_cast<std::uint8_t>(i * 37 + i / 256);
  }
  return bytes;
}

TEST(EveryKernel, CopyBlocksAndZeroSlots) {
  const auto moved = [](const std::shared_ptr<Device>& device) {
    const DeviceBytes memory(device, numbered_bytes(4 * 200));
    const BlockArrayArg blocks{.data = memory.at(),
                               .members = 1,
                               .heads = 2,
                               .row_bytes = 20,
                               .member_stride_bytes = 800,
                               .block_stride_bytes = 200,
                               .head_stride_bytes = 100};
    const std::vector<BlockCopy> copies{{0, 1, 5}, {1, 2, 3}};
    device->copy_blocks({&blocks, 1, copies.data(), 2});
    const SlotArrayArg slots{.data = memory.at(), .slot_bytes = 90, .slot_stride_bytes = 100};
    const std::vector<std::int32_t> zeroed{7, 0, 3};
    device->zero_slots({&slots, 1, zeroed.data(), 3});
    return memory.read();
  };
  const Bytes expected = moved(make_cpu_device(1));
  for (const std::uint64_t seed : kSeeds) {
    EXPECT_EQ(moved(device_under_test(seed)), expected) << seed;
  }
}

TEST(EveryKernel, GatherBlockTable) {
  const auto gathered = [](const std::shared_ptr<Device>& device) {
    const DeviceBytes table(device, numbered_bytes(4 * 5 * 300));
    const DeviceBytes slots(device, {4, 0, 0, 0, 1, 0, 0, 0});
    const DeviceBytes to(device, Bytes(4 * 2 * 299, 9));
    device->gather_block_table({table.at<std::int32_t>(), slots.at<std::int32_t>(),
                                to.at<std::int32_t>(), 300, 299, 298, 2});
    return to.read();
  };
  const Bytes expected = gathered(make_cpu_device(1));
  for (const std::uint64_t seed : kSeeds) {
    EXPECT_EQ(gathered(device_under_test(seed)), expected) << seed;
  }
}

// Tuned widths pass windows from warp to warp, others keep a ring in shared memory.
TEST(EveryKernel, Convolution) {
  for (const std::int64_t width : {3, 5}) {
    const ConvShape shape{
        .dim = 29, .width = width, .lengths = {40, 2}, .silu = true, .bias = true};
    expect_the_references_bits(ConvCase(shape, {.state = DType::F16}, Numbers(1)), 1);
  }
}

// Tokens that are prepared at once, and as many again.
TEST(EveryKernel, GatedDelta) {
  const DeltaShape tuned{.k_dim = 64, .v_dim = 40, .group = 2, .lengths = {4, 1}};
  expect_the_references_bits(DeltaCase(tuned, {}, Numbers(2)), 2);
  const DeltaShape any{.k_dim = 33, .v_dim = 7, .lengths = {4}};
  expect_the_references_bits(DeltaCase(any, {.state = DType::BF16}, Numbers(3)), 3);
}

TEST(EveryKernel, SelectiveState) {
  const SelectiveShape tuned{.k_dim = 64, .v_dim = 40, .heads_a_group = 2, .lengths = {4, 1}};
  expect_the_references_bits(SelectiveCase(tuned, {}, Numbers(4)), 4);
  const SelectiveShape any{.k_dim = 33, .v_dim = 7, .lengths = {4}};
  expect_the_references_bits(SelectiveCase(any, {.state = DType::BF16}, Numbers(5)), 5);
}

}  // namespace
}  // namespace octavo::cuda_test
