// The row writer against the reference: every format into every other, every kind of place, every
// alignment. All bytes of the rows' memory are compared, gaps and other rows included.
#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>

#include "append_case.h"
#include "device_under_test.h"
#include "octavo/ref_cpu/cpu_device.h"
#include <gtest/gtest.h>

namespace octavo::cuda_test {
namespace {

constexpr std::array kFrom{DType::F32, DType::F16, DType::BF16};
constexpr std::array kTo{DType::F32,  DType::F16,  DType::BF16, DType::E4M3,
                         DType::E5M2, DType::Int8, DType::Int4};
constexpr std::array<std::int64_t, 11> kHeadDims{8, 64, 80, 96, 128, 192, 256, 264, 512, 576, 1024};

template <typename Array>
auto any_of(Random& random, const Array& values) {
  return values[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(values.size())))];
}

RowKind random_kind(Random& random) {
  return {any_of(random, kFrom), any_of(random, kTo),
          random.below(3) == 0 ? KVScale::Static : KVScale::PerTokenHead,
          any_of(random, kHeadDims)};
}

StepShape random_shape(Random& random) {
  return any_of(random, std::array{StepShape::Decode, StepShape::Mixed, StepShape::Prefill});
}

Written appended(const AppendCase& test, const std::shared_ptr<Device>& device) {
  const LoadedCase loaded(test, device);
  device->append(loaded.arg());
  return loaded.read();
}

TEST(CudaAppend, EveryFormatAndScaleAndHeadDimGivesTheReferencesBytes) {
  const auto reference = make_cpu_device(1);
  const std::array devices{device_under_test(), device_under_test(7)};
  Random random(1);
  for (const std::int64_t head_dim : kHeadDims) {
    for (const DType from : kFrom) {
      for (const DType to : kTo) {
        for (const KVScale scale : {KVScale::PerTokenHead, KVScale::Static}) {
          const RowKind keys{from, to, scale, head_dim};
          const AppendCase test =
              random_case(random, keys, random_kind(random),
                          head_dim < 512 ? StepShape::Mixed : StepShape::Decode);
          EXPECT_TRUE(appended(test, any_of(random, devices)) == appended(test, reference))
              << to_string(from) << " to " << to_string(to) << ", " << head_dim;
        }
      }
    }
  }
}

TEST(CudaAppend, ManyRowsAreWrittenByFewerLanesEach) {
  const auto device = device_under_test();
  const auto reference = make_cpu_device(1);
  Random random(6);
  for (const std::int64_t head_dim : kHeadDims) {
    for (const DType from : kFrom) {
      for (const DType to : kTo) {
        const RowKind keys{from, to, KVScale::PerTokenHead, head_dim};
        const AppendCase test = random_case(random, keys, random_kind(random), StepShape::Decode);
        const LoadedCase loaded(test, device);
        append_in_turns(loaded.arg(), 1000, 0);
        EXPECT_TRUE(loaded.read() == appended(test, reference))
            << to_string(from) << " to " << to_string(to) << ", " << head_dim;
      }
    }
  }
}

TEST(CudaAppend, EveryStepGivesTheReferencesBytesInAnyOrderOfThreads) {
  const auto reference = make_cpu_device(1);
  Random random(2);
  for (std::uint64_t i = 0; i < 250; ++i) {
    const AppendCase test =
        random_case(random, random_kind(random), random_kind(random), random_shape(random));
    EXPECT_TRUE(appended(test, device_under_test(i % 5)) == appended(test, reference)) << i;
  }
}

TEST(CudaAppend, PositionsUpToTheLargestLengthWrapInARing) {
  const auto reference = make_cpu_device(1);
  const auto device = device_under_test(3);
  Random random(3);
  for (int i = 0; i < 20; ++i) {
    AppendCase test =
        random_case(random, random_kind(random), random_kind(random), StepShape::Prefill);
    if (test.step.table_columns != 1) {
      continue;
    }
    test.step.cumulative_k = false;
    for (std::size_t byte = 0; byte + 4 <= test.cu_seqlens_k.size(); byte += 4) {
      test.cu_seqlens_k[byte] = 0xF0;
      test.cu_seqlens_k[byte + 1] = test.cu_seqlens_k[byte + 2] = 0xFF;
      test.cu_seqlens_k[byte + 3] = 0x7F;
    }
    EXPECT_TRUE(appended(test, device) == appended(test, reference));
  }
}

TEST(CudaAppend, RowsLieFarBeyondFourGibibytes) {
  constexpr std::int64_t kStride = std::int64_t{3} << 30;
  const auto device = device_under_test();
  const DeviceBytes tables(device, {0, 0, 0, 0, 1, 0, 0, 0, 6, 0, 0, 0, 2, 0, 0, 0});
  const DeviceBytes input(device, Bytes(128, 0x3C));
  const std::int64_t size_bytes = 3 * kStride;
  void* const pool = device->allocate(size_bytes);
  AppendArg arg;
  arg.step = {.cu_seqlens_q = tables.at<std::int32_t>(),
              .cu_seqlens_k = tables.at<std::int32_t>(8),
              .block_table = tables.at<std::int32_t>(12),
              .table_stride = 1,
              .table_columns = 1,
              .block_size = 8,
              .batch = 1,
              .tokens = 1,
              .max_query_len = 1,
              .max_kv_len = 6};
  arg.keys = {.data = pool,
              .dtype = DType::F16,
              .head_dim = 64,
              .block_stride_bytes = kStride,
              .head_stride_bytes = 1024,
              .row_stride_bytes = 128};
  arg.values = arg.keys;
  arg.values.data = static_cast<std::uint8_t*>(pool) + 4096;
  arg.key = arg.value = {input.at(), DType::F16, 64, 64};
  arg.kv_heads = 1;
  device->append(arg);
  for (const std::int64_t part : {0, 4096}) {
    Bytes row(130);
    device->copy_to_host(row.data(),
                         static_cast<std::uint8_t*>(pool) + 2 * kStride + part + 5 * 128 - 1, 130);
    EXPECT_EQ(row.front() + row.back(), 0);
    EXPECT_EQ(std::count(row.begin(), row.end(), 0x3C), 128);
  }
  device->deallocate(pool, size_bytes);
}

TEST(CudaAppend, MoreRowsThanAGridHoldsAreWrittenInTurns) {
  const auto device = device_under_test();
  const auto reference = make_cpu_device(1);
  Random random(4);
  for (int i = 0; i < 20; ++i) {
    const AppendCase test =
        random_case(random, random_kind(random), random_kind(random), StepShape::Prefill);
    const LoadedCase loaded(test, device);
    append_in_turns(loaded.arg(), 1 + i % 2, i % 4 < 2 ? 0 : 1'000'000);
    EXPECT_TRUE(loaded.read() == appended(test, reference));
  }
}

TEST(CudaAppend, AStepWithoutTokensTouchesNothing) {
  const auto device = device_under_test();
  Random random(5);
  AppendCase test = random_case(random, random_kind(random), random_kind(random), StepShape::Mixed);
  test.step.batch = test.step.tokens = test.step.max_query_len = 0;
  const Written written = appended(test, device);
  EXPECT_TRUE(written.key_data == test.keys.data && written.key_scales == test.keys.scales);
  EXPECT_TRUE(written.value_data == test.values.data && written.value_scales == test.values.scales);
}

TEST(CudaStoreCross, GivesTheReferencesBytes) {
  const auto reference = make_cpu_device(1);
  Random random(6);
  for (std::uint64_t i = 0; i < 120; ++i) {
    const AppendCase test =
        random_case(random, random_kind(random), random_kind(random), StepShape::Prefill);
    const std::int64_t slot = random.below(test.blocks);
    const auto stored = [&](const std::shared_ptr<Device>& device) {
      const LoadedCase loaded(test, device);
      device->store_cross(loaded.cross(slot));
      return loaded.read();
    };
    EXPECT_TRUE(stored(device_under_test(i % 3)) == stored(reference)) << i;
  }
}

}  // namespace
}  // namespace octavo::cuda_test
