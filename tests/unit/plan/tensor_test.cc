#include "octavo/tensor.h"

#include <cstdint>
#include <memory>
#include <numeric>
#include <vector>

#include "octavo/kv_row_info.h"
#include "plan_testing.h"
#include <gtest/gtest.h>

namespace octavo {
namespace {

using testing::raised;

Tensor iota(const Dims& shape) {
  Tensor tensor = Tensor::zeros(DType::Int32, shape);
  std::iota(tensor.data<std::int32_t>(), tensor.data<std::int32_t>() + tensor.num_elements(), 0);
  return tensor;
}

TEST(Tensor, AnUndefinedOneAnswersOnlyThatItIsUndefined) {
  const Tensor tensor;
  EXPECT_FALSE(tensor.defined());
  EXPECT_EQ(tensor.num_elements(), 0);
  EXPECT_EQ(raised(ErrorCode::InvalidArgument, [&] { tensor.data<std::uint8_t>(); }),
            "Tensor::data: the tensor is undefined");
  raised(ErrorCode::InvalidArgument, [&] { tensor.select(0, 0); });
  raised(ErrorCode::InvalidArgument, [&] { tensor.slice(0, 0, 0); });
  raised(ErrorCode::InvalidArgument, [&] { tensor.reshape({0}); });
  raised(ErrorCode::InvalidArgument, [&] { tensor.size(0); });
  raised(ErrorCode::InvalidArgument, [&] { tensor.device(); });
  raised(ErrorCode::InvalidArgument, [&] { tensor.address(); });
  raised(ErrorCode::InvalidArgument, [&] { tensor.to_vector<std::uint8_t>(); });
  EXPECT_FALSE(tensor.shares_storage_with(tensor));
}

TEST(Tensor, IsContiguousZeroedAndRowMajor) {
  const Tensor tensor = Tensor::zeros(DType::F32, {2, 3, 4});
  EXPECT_EQ(tensor.strides(), (Dims{12, 4, 1}));
  EXPECT_TRUE(tensor.is_contiguous());
  EXPECT_EQ(tensor.size_bytes(), 96);
  EXPECT_EQ(tensor.size(2), 4);
  EXPECT_EQ(tensor.to_vector<float>(), std::vector<float>(24, 0.0F));
  EXPECT_EQ(tensor.device(), host_device());
  raised(ErrorCode::InvalidArgument, [&] { tensor.size(3); });
  raised(ErrorCode::InvalidArgument, [&] { tensor.size(-1); });
}

TEST(Tensor, TypedAccessChecksTheDtype) {
  const Tensor f32 = Tensor::zeros(DType::F32, {1});
  EXPECT_NE(f32.data<float>(), nullptr);
  EXPECT_EQ(raised(ErrorCode::InvalidArgument, [&] { f32.data<std::int32_t>(); }),
            "Tensor::data: the requested type is no element of dtype f32");
  EXPECT_NE(Tensor::zeros(DType::BF16, {1}).data<std::uint16_t>(), nullptr);
  EXPECT_NE(Tensor::zeros(DType::E4M3, {1}).data<std::uint8_t>(), nullptr);
  raised(ErrorCode::InvalidArgument, [] { Tensor::zeros(DType::Int8, {1}).data<std::uint8_t>(); });
}

TEST(Tensor, CopiesOfAHandleShareTheStorageUntilTheLastGoes) {
  auto device = std::make_shared<NullDevice>();
  {
    Tensor kept;
    {
      const Tensor first = Tensor::zeros(DType::BF16, {4, 8}, device);
      kept = first.select(0, 3);
      EXPECT_TRUE(kept.shares_storage_with(first));
    }
    EXPECT_EQ(device->counters().live_bytes, 64);
  }
  EXPECT_EQ(device->counters().live_bytes, 0);
  EXPECT_EQ(device->counters().deallocations, 1);
}

TEST(Tensor, SelectAndSliceAreViewsAtTheRightElements) {
  const Tensor tensor = iota({2, 3, 4});
  const Tensor row = tensor.select(0, 1).select(0, 2);
  EXPECT_EQ(row.to_vector<std::int32_t>(), (std::vector<std::int32_t>{20, 21, 22, 23}));
  EXPECT_EQ(row.byte_offset(), 80);
  const Tensor column = tensor.select(2, 3);
  EXPECT_EQ(column.shape(), (Dims{2, 3}));
  EXPECT_EQ(column.strides(), (Dims{12, 4}));
  EXPECT_FALSE(column.is_contiguous());
  const Tensor middle = tensor.slice(1, 1, 3);
  EXPECT_EQ(middle.shape(), (Dims{2, 2, 4}));
  EXPECT_EQ(middle.data<std::int32_t>()[0], 4);
  row.data<std::int32_t>()[0] = -7;
  EXPECT_EQ(tensor.data<std::int32_t>()[20], -7) << "a write through a view shows";
  EXPECT_EQ(tensor.slice(0, 2, 2).num_elements(), 0);
}

TEST(Tensor, ViewsRefuseWhatIsOutside) {
  const Tensor tensor = iota({2, 3});
  EXPECT_EQ(raised(ErrorCode::InvalidArgument, [&] { tensor.select(1, 3); }),
            "Tensor::select: index 3 is outside [0, 3)");
  EXPECT_EQ(raised(ErrorCode::InvalidArgument, [&] { tensor.slice(0, 1, 3); }),
            "Tensor::slice: [1, 3) is outside [0, 2)");
  raised(ErrorCode::InvalidArgument, [&] { tensor.select(0, -1); });
  raised(ErrorCode::InvalidArgument, [&] { tensor.select(2, 0); });
  raised(ErrorCode::InvalidArgument, [&] { tensor.slice(0, 2, 1); });
  raised(ErrorCode::InvalidArgument, [&] { tensor.slice(0, -1, 1); });
}

TEST(Tensor, ReshapeKeepsTheElementsOfAContiguousTensorOnly) {
  const Tensor tensor = iota({2, 6});
  EXPECT_EQ(tensor.reshape({3, 4}).select(0, 2).to_vector<std::int32_t>(),
            (std::vector<std::int32_t>{8, 9, 10, 11}));
  raised(ErrorCode::InvalidArgument, [&] { tensor.reshape({5}); });
  raised(ErrorCode::FailedPrecondition, [&] { tensor.slice(1, 0, 3).reshape({6}); });
  raised(ErrorCode::FailedPrecondition, [&] { tensor.slice(1, 0, 3).to_vector<std::int32_t>(); });
  EXPECT_TRUE(tensor.slice(0, 1, 2).is_contiguous());
}

TEST(Tensor, ValuesMakeARoundTrip) {
  const std::vector<std::int32_t> ids = {5, 6, 7};
  const Tensor tensor = Tensor::from_values<std::int32_t>(DType::Int32, {3}, ids);
  EXPECT_EQ(tensor.to_vector<std::int32_t>(), ids);
  raised(ErrorCode::InvalidArgument,
         [&] { Tensor::from_values<std::int32_t>(DType::Int32, {4}, ids); });
  raised(ErrorCode::InvalidArgument,
         [&] { Tensor::from_values<std::int32_t>(DType::F32, {3}, ids); });
  EXPECT_EQ(Tensor::from_values<std::int32_t>(DType::Int32, {0}, {}).num_elements(), 0);
}

TEST(Tensor, Int4IsRefusedSinceItIsStoredAsBytes) {
  EXPECT_EQ(raised(ErrorCode::InvalidArgument,
                   [] {
                     Tensor::zeros(DType::Int4, {2, 8});
                   }),
            "Tensor::zeros: shape [2, 8] of int4 is stored as uint8 with the last dimension "
            "halved");
}

TEST(Tensor, ShapesThatCannotBeAreRefusedBeforeAnyAllocation) {
  auto device = std::make_shared<NullDevice>();
  const std::int64_t big = std::int64_t{1} << 32;
  raised(ErrorCode::InvalidArgument, [&] { Tensor::zeros(DType::F32, {-1}, device); });
  EXPECT_EQ(raised(ErrorCode::InvalidArgument,
                   [&] {
                     Tensor::zeros(DType::UInt8, {big, big}, device);
                   }),
            "Tensor::zeros: shape [4294967296, 4294967296] of uint8 does not fit into 64 bits; "
            "the largest is 9223372036854775807");
  raised(ErrorCode::InvalidArgument, [&] { Tensor::zeros(DType::UInt8, {0, big, big}, device); });
  EXPECT_EQ(device->counters().allocations, 0);
}

TEST(Tensor, OffsetsBeyondFourGibibytesAreExact) {
  auto device = std::make_shared<NullDevice>();
  const Tensor tensor = Tensor::zeros(DType::BF16, {70000, 8, 64, 128}, device);
  const Tensor last = tensor.select(0, 69999).select(0, 7).select(0, 63);
  EXPECT_EQ(last.byte_offset(), 70000LL * 8 * 64 * 128 * 2 - 256);
}

TEST(Tensor, MemoryTheHostCannotReadIsRefusedButCanBeDownloaded) {
  const Tensor tensor = Tensor::zeros(DType::Int32, {3}, std::make_shared<NullDevice>());
  EXPECT_EQ(raised(ErrorCode::FailedPrecondition, [&] { tensor.data<std::int32_t>(); }),
            "Tensor::data: the host cannot read memory of device 'null'");
  EXPECT_EQ(tensor.select(0, 2).address(), nullptr);
  EXPECT_EQ(tensor.to_vector<std::int32_t>(), (std::vector<std::int32_t>{0, 0, 0}));
}

TEST(Tensor, RowInformationBelongsToTheRowAndNotToItsViews) {
  auto info = std::make_shared<KVRowInfo>();
  info->window = 128;
  const Tensor plain = iota({2, 3});
  const Tensor row = plain.with_row_info(info);
  EXPECT_EQ(plain.row_info(), nullptr);
  EXPECT_EQ(row.row_info()->window, 128);
  EXPECT_EQ(Tensor(row).row_info(), row.row_info());
  EXPECT_EQ(row.select(0, 0).row_info(), nullptr);
  EXPECT_EQ(row.slice(0, 0, 1).row_info(), nullptr);
  EXPECT_EQ(row.reshape({6}).row_info(), nullptr);
}

}  // namespace
}  // namespace octavo
