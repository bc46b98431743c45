// The byte movers against the reference: all bytes of the arrays' memory, gaps included.
#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "device_bytes.h"
#include "device_under_test.h"
#include "octavo/block_manager.h"
#include "octavo/device_ops.h"
#include "octavo/ref_cpu/cpu_device.h"
#include <gtest/gtest.h>

#include "tests/ref_cpu/numerics/samples.h"

namespace octavo::cuda_test {
namespace {

using numerics_test::Random;

Bytes random_bytes(Random& random, std::int64_t size_bytes) {
  Bytes bytes(static_cast<std::size_t>(size_bytes));
  std::generate(bytes.begin(), bytes.end(),
                [&] { return static_cast<std::uint8_t>(random.next()); });
  return bytes;
}

/// Arrays without their addresses, and the memory in which each begins `offset` bytes on.
template <typename Array>
struct ArrayImage {
  Array array = {};
  Bytes bytes;
  std::int64_t offset = 0;
};

/// Has `call(device, arrays)` work on arrays on a device; their bytes afterwards.
template <typename Array, typename Call>
std::vector<Bytes> after(const std::shared_ptr<Device>& device,
                         const std::vector<ArrayImage<Array>>& images,
                         Call call) {
  std::deque<DeviceBytes> memory;
  std::vector<Array> arrays;
  for (const ArrayImage<Array>& image : images) {
    memory.emplace_back(device, image.bytes);
    arrays.push_back(image.array);
    arrays.back().data = memory.back().at(image.offset);
  }
  call(device, std::span<const Array>(arrays));
  std::vector<Bytes> bytes;
  for (const DeviceBytes& one : memory) {
    bytes.push_back(one.read());
  }
  return bytes;
}

struct Copies {
  std::vector<ArrayImage<BlockArrayArg>> images;
  std::vector<BlockCopy> copies;
};

ArrayImage<BlockArrayArg> random_blocks(Random& random, std::int64_t blocks, std::int64_t rows) {
  ArrayImage<BlockArrayArg> image;
  BlockArrayArg& array = image.array;
  const std::int64_t unit = random.below(3) == 0 ? 1 : random.below(2) == 0 ? 4 : 16;
  const std::int64_t gap = random.below(2) * unit;
  array.members = random.below(4);
  array.heads = random.below(4);
  array.row_bytes = unit * random.below(5);
  array.head_stride_bytes = rows * array.row_bytes + gap;
  array.block_stride_bytes = array.heads * array.head_stride_bytes + gap;
  array.member_stride_bytes = blocks * array.block_stride_bytes + gap;
  image.offset = random.below(2) * random.below(16);
  image.bytes = random_bytes(random, image.offset + array.members * array.member_stride_bytes + 1);
  return image;
}

Copies random_copies(Random& random, std::int64_t blocks, std::int64_t copies) {
  const std::int64_t rows = 1 + random.below(6);
  Copies result;
  for (std::int64_t a = random.below(12); a > 0; --a) {
    result.images.push_back(random_blocks(random, blocks, rows));
  }
  for (std::int64_t c = 0; c < copies; ++c) {
    result.copies.push_back({static_cast<std::int32_t>(random.below(blocks)),
                             static_cast<std::int32_t>(random.below(blocks)),
                             static_cast<std::int32_t>(random.below(rows + 1))});
  }
  return result;
}

CopyBlocksArg copy_arg(std::span<const BlockArrayArg> arrays,
                       const std::vector<BlockCopy>& copies) {
  return {arrays.data(), static_cast<std::int64_t>(arrays.size()), copies.data(),
          static_cast<std::int64_t>(copies.size())};
}

std::vector<Bytes> copied(const Copies& test, const std::shared_ptr<Device>& device) {
  return after(device, test.images, [&](const auto& on, std::span<const BlockArrayArg> arrays) {
    on->copy_blocks(copy_arg(arrays, test.copies));
  });
}

TEST(CudaCopyBlocks, TakeEffectOneAfterAnother) {
  const auto reference = make_cpu_device(1);
  Random random(1);
  for (std::uint64_t i = 0; i < 80; ++i) {
    const Copies test = random_copies(random, 2 + random.below(6), random.below(12));
    EXPECT_TRUE(copied(test, device_under_test(i)) == copied(test, reference)) << i;
  }
}

// Several orders of threads: without the cut, some of them read what another copy has written.
TEST(CudaCopyBlocks, ChainsAndSwapsAndDoubleWritesAreCut) {
  const auto reference = make_cpu_device(1);
  Random random(2);
  const std::vector<std::vector<BlockCopy>> lists{
      {{0, 1, 3}, {1, 2, 3}},             // Reads what was written.
      {{0, 1, 3}, {2, 0, 3}},             // Writes what was read.
      {{0, 1, 3}, {2, 1, 2}},             // Writes what was written.
      {{0, 3, 3}, {1, 0, 3}, {3, 1, 3}},  // A swap.
      {{0, 0, 3}, {0, 1, 3}, {0, 2, 1}}};
  for (const std::vector<BlockCopy>& list : lists) {
    Copies test;
    test.copies = list;
    for (int a = 0; a < 3; ++a) {
      test.images.push_back({{.members = 2,
                              .heads = 2,
                              .row_bytes = 40,
                              .member_stride_bytes = 1000,
                              .block_stride_bytes = 250,
                              .head_stride_bytes = 120},
                             random_bytes(random, 2000),
                             0});
    }
    for (std::uint64_t seed = 0; seed < 12; ++seed) {
      EXPECT_TRUE(copied(test, device_under_test(seed)) == copied(test, reference));
    }
  }
}

TEST(CudaCopyBlocks, ManyCopiesAndManyArraysTakeSeveralLaunches) {
  const auto reference = make_cpu_device(1);
  Random random(3);
  for (const std::int32_t copies : {64, 65, 150}) {
    Copies test = random_copies(random, 300, 0);
    for (std::int64_t a = 0; a < 19; ++a) {
      test.images.push_back(random_blocks(random, 300, 3));
    }
    for (std::int32_t c = 0; c < copies; ++c) {
      test.copies.push_back({c, 150 + c, 1});
    }
    EXPECT_TRUE(copied(test, device_under_test(5)) == copied(test, reference)) << copies;
  }
}

// More copies than a launch holds, most of them independent and here and there one that is not.
TEST(CudaCopyBlocks, ALongListIsCutWhereItMustBe) {
  const auto reference = make_cpu_device(1);
  constexpr std::int32_t kBlocks = 5000;
  Random random(6);
  Copies test;
  test.images.push_back({{.members = 1,
                          .heads = 1,
                          .row_bytes = 4,
                          .member_stride_bytes = 8 * kBlocks,
                          .block_stride_bytes = 8,
                          .head_stride_bytes = 8},
                         random_bytes(random, 8 * kBlocks),
                         0});
  for (std::int32_t c = 0; c < 2400; ++c) {
    test.copies.push_back({c, 2500 + c, 2});
    if (c % 611 == 610) {
      test.copies.push_back({2500 + c - 3, c - 1, 1});  // Reads what was written.
    }
  }
  EXPECT_TRUE(copied(test, device_under_test(6)) == copied(test, reference));
}

TEST(CudaCopyBlocks, LongRunsAreCopiedInSlicesAndInTurns) {
  const auto reference = make_cpu_device(1);
  Random random(4);
  for (const std::int64_t offset : {0, 4, 1}) {
    Copies test;
    test.copies = {{0, 1, 7}, {2, 3, 2}};
    test.images.push_back({{.members = 2,
                            .heads = 3,
                            .row_bytes = 3000,
                            .member_stride_bytes = 4 * 63216,
                            .block_stride_bytes = 63216,
                            .head_stride_bytes = 21008},
                           random_bytes(random, 8 * 63216 + 16),
                           offset});
    const std::vector<Bytes> expected = copied(test, reference);
    EXPECT_TRUE(copied(test, device_under_test(1)) == expected);
    EXPECT_TRUE(after(device_under_test(), test.images, [&](const auto&, auto arrays) {
                  copy_blocks_in_turns(copy_arg(arrays, test.copies), 2);
                }) == expected);
  }
}

// Lanes take elements of 16, 4 or 1 bytes, as the ends allow, 32 at a time and four times in a row:
// runs that end just there, just before and just behind, and neighbours that must stay.
struct RunOfElements {
  std::int64_t element_bytes;
  std::int64_t count;
};

std::vector<RunOfElements> runs_around_lanes() {
  std::vector<RunOfElements> runs;
  for (const std::int64_t element_bytes : {16, 4, 1}) {
    for (std::int64_t lanes = 32; lanes <= 416; lanes += 32) {
      for (const std::int64_t count : {lanes - 1, lanes, lanes + 1}) {
        runs.push_back({element_bytes, count});
      }
    }
  }
  return runs;
}

TEST(CudaCopyBlocks, RunsEndWhereLanesDo) {
  const auto reference = make_cpu_device(1);
  Random random(7);
  for (const RunOfElements& run : runs_around_lanes()) {
    for (const std::int32_t copies : {1, 65}) {  // Few of a launch, and many.
      Copies test;
      const std::int64_t size_bytes = run.element_bytes * run.count;
      const std::int64_t stride_bytes = size_bytes + run.element_bytes;
      test.images.push_back({{.members = 1,
                              .heads = 1,
                              .row_bytes = size_bytes,
                              .member_stride_bytes = 2 * copies * stride_bytes,
                              .block_stride_bytes = stride_bytes,
                              .head_stride_bytes = stride_bytes},
                             // The last run ends where the memory does.
                             random_bytes(random, run.element_bytes % 16 +
                                                      (2 * copies - 1) * stride_bytes + size_bytes),
                             run.element_bytes % 16});
      for (std::int32_t c = 0; c < copies; ++c) {
        test.copies.push_back({copies + c, c, 1});
      }
      const std::vector<Bytes> expected = copied(test, reference);
      EXPECT_TRUE(copied(test, device_under_test(1)) == expected)
          << copies << " copies of " << run.count << " elements of " << run.element_bytes;
      EXPECT_TRUE(after(device_under_test(), test.images, [&](const auto&, auto arrays) {
                    copy_blocks_in_turns(copy_arg(arrays, test.copies), 2);
                  }) == expected)
          << copies << " in turns";
    }
  }
}

TEST(CudaGatherBlockTable, TakesTheSlotsRows) {
  const auto reference = make_cpu_device(1);
  Random random(5);
  for (std::uint64_t i = 0; i < 60; ++i) {
    const std::int64_t columns = i % 10 == 0 ? 5000 : random.below(300);
    const std::int64_t gap = random.below(4);
    const std::int64_t batch = random.below(7);
    const Bytes table = random_bytes(random, 9 * 4 * (columns + gap) + 16);
    Bytes slots(64);
    for (std::size_t s = 0; s < 16; ++s) {
      slots[4 * s] = static_cast<std::uint8_t>(random.below(9));
    }
    const std::int64_t offset = 4 * random.below(4);
    const auto gathered = [&](const std::shared_ptr<Device>& device, std::int64_t most_blocks) {
      const DeviceBytes from(device, table);
      const DeviceBytes ids(device, slots);
      const DeviceBytes to(device, Bytes(static_cast<std::size_t>(4 * 6 * (columns + 2) + 32), 9));
      const GatherBlockTableArg arg{from.at<std::int32_t>(offset),
                                    ids.at<std::int32_t>(),
                                    to.at<std::int32_t>(16 - offset),
                                    columns + gap,
                                    columns + 1,
                                    columns,
                                    batch};
      if (most_blocks > 0) {
        gather_block_table_in_turns(arg, most_blocks);
      } else {
        device->gather_block_table(arg);
      }
      return to.read();
    };
    const Bytes expected = gathered(reference, 0);
    EXPECT_TRUE(gathered(device_under_test(i), 0) == expected) << i;
    EXPECT_TRUE(gathered(device_under_test(), 1) == expected) << i;
  }
}

TEST(CudaGatherBlockTable, RowsEndWhereLanesDo) {
  const auto reference = make_cpu_device(1);
  Random random(8);
  for (const RunOfElements& run : runs_around_lanes()) {
    const std::int64_t columns = run.element_bytes * run.count / 4;
    const std::int64_t stride = (run.element_bytes * (run.count + 1) + 3) / 4;
    const Bytes table = random_bytes(random, run.element_bytes % 16 + 4 * (2 * stride + columns));
    const auto gathered = [&](const std::shared_ptr<Device>& device) {
      const DeviceBytes from(device, table);
      const DeviceBytes ids(device, {2, 0, 0, 0, 1, 0, 0, 0});
      const DeviceBytes to(device, Bytes(static_cast<std::size_t>(4 * 2 * stride + 32), 9));
      const std::int64_t offset = run.element_bytes % 16;
      device->gather_block_table({from.at<std::int32_t>(offset), ids.at<std::int32_t>(),
                                  to.at<std::int32_t>(offset), stride, stride, columns, 2});
      return to.read();
    };
    if (run.element_bytes >= 4) {
      EXPECT_TRUE(gathered(device_under_test(1)) == gathered(reference)) << columns << " columns";
    }
  }
}

TEST(CudaZeroSlots, SlotsEndWhereLanesDo) {
  const auto reference = make_cpu_device(1);
  Random random(9);
  for (const RunOfElements& run : runs_around_lanes()) {
    ArrayImage<SlotArrayArg> image;
    image.array.slot_bytes = run.element_bytes * run.count;
    image.array.slot_stride_bytes = image.array.slot_bytes + run.element_bytes;
    image.offset = run.element_bytes % 16;
    image.bytes = random_bytes(random, image.offset + 5 * image.array.slot_stride_bytes);
    const std::vector<std::int32_t> slots = {3, 1};
    const auto zeroed = [&](const std::shared_ptr<Device>& device) {
      return after(device, std::vector{image},
                   [&](const auto& on, std::span<const SlotArrayArg> arrays) {
                     on->zero_slots({arrays.data(), 1, slots.data(), 2});
                   });
    };
    EXPECT_TRUE(zeroed(device_under_test(1)) == zeroed(reference))
        << run.count << " elements of " << run.element_bytes;
  }
}

TEST(CudaZeroSlots, ClearsTheNamedSlotsAndNoOther) {
  const auto reference = make_cpu_device(1);
  Random random(6);
  for (std::uint64_t i = 0; i < 60; ++i) {
    std::vector<ArrayImage<SlotArrayArg>> images;
    for (std::int64_t a = random.below(20); a > 0; --a) {
      ArrayImage<SlotArrayArg> image;
      image.array.slot_bytes = random.below(12) == 0 ? 20000 : random.below(300);
      image.array.slot_stride_bytes = image.array.slot_bytes + random.below(3) * 8;
      image.offset = random.below(2) * random.below(16);
      image.bytes = random_bytes(random, image.offset + 90 * image.array.slot_stride_bytes + 1);
      images.push_back(image);
    }
    std::vector<std::int32_t> slots;
    for (std::int32_t slot = 0; slot < 90; ++slot) {
      if (random.below(i % 6 == 0 ? 1 : 20) == 0) {
        slots.push_back(slot);
      }
    }
    std::reverse(slots.begin(), slots.end());
    const auto zeroed = [&](const std::shared_ptr<Device>& device, std::int64_t most_blocks) {
      return after(device, images, [&](const auto& on, std::span<const SlotArrayArg> arrays) {
        const ZeroSlotsArg arg{arrays.data(), static_cast<std::int64_t>(arrays.size()),
                               slots.data(), static_cast<std::int64_t>(slots.size())};
        if (most_blocks > 0) {
          zero_slots_in_turns(arg, most_blocks);
        } else {
          on->zero_slots(arg);
        }
      });
    };
    const std::vector<Bytes> expected = zeroed(reference, 0);
    EXPECT_TRUE(zeroed(device_under_test(i), 0) == expected) << i;
    if (i < 10) {
      EXPECT_TRUE(zeroed(device_under_test(), 1) == expected) << i;
    }
  }
}

}  // namespace
}  // namespace octavo::cuda_test
