#include "tests/cuda/compiled/slots.h"

#include <utility>

#include <gtest/gtest.h>

#include "tests/cuda/compiled/cubin_builder.h"

namespace octavo::compiled {
namespace {

constexpr unsigned kIntegerProduct = 0x237;
constexpr unsigned kSpecialFunction = 0x308;
constexpr unsigned kBarrier = 0xB1D;
constexpr unsigned kShuffle = 0xF89;
constexpr unsigned kCopyGroup = 0x9AF;
constexpr unsigned kOther = 0x210;

struct Part {
  unsigned operation = 0;
  int count = 0;
};

// Adds a loop of `size` instructions that holds `parts`.
void add_loop(SassWriter& code, std::int64_t size, const std::vector<Part>& parts) {
  std::int64_t left = size - 1;
  for (const Part& part : parts) {
    for (int i = 0; i < part.count; ++i, --left) {
      code.add(part.operation);
    }
  }
  for (; left > 0; --left) {
    code.add(kOther);
  }
  code.branch(-size, SassWriter::kIf);
}

SlotCount count(const std::string& name, SassWriter code) {
  code.add(0x94D);
  CubinBuilder cubin;
  cubin.code = code.words;
  std::vector<CompiledKernel> kernels = read_cubin(cubin.build());
  kernels.at(0).name = name;
  const std::vector<SlotCount> counts = count_slots(kernels);
  return counts.empty() ? SlotCount{} : counts[0];
}

double keys_of(const SlotCount& counted) {
  return counted.keys ? counted.keys->count : -1;
}
double values_of(const SlotCount& counted) {
  return counted.values ? counted.values->count : -1;
}
double softmax_of(const SlotCount& counted) {
  return counted.softmax_of_row ? counted.softmax_of_row->count : -1;
}
double rest_of(const SlotCount& counted) {
  return counted.rest ? counted.rest->count : -1;
}

TEST(Slots, OfFloatKernelsAreThoseOfTheShorterLoops) {
  SassWriter code;
  add_loop(code, 200, {{kCopyGroup, 8}, {kShuffle, 4}});
  add_loop(code, 300, {{kSpecialFunction, 8}, {kShuffle, 10}});
  add_loop(code, 160, {{kCopyGroup, 8}});
  add_loop(code, 180, {{kCopyGroup, 8}, {kShuffle, 4}});  // Of whole chunks.
  add_loop(code, 256, {{kSpecialFunction, 8}, {kShuffle, 10}});
  add_loop(code, 128, {{kCopyGroup, 8}});
  add_loop(code, 10, {});
  const SlotCount counted = count("attend_float<FloatShape<(RowFormat)2, 128, 4> >", code);
  EXPECT_EQ(counted.kernel, "attend_float");
  EXPECT_EQ(counted.format, "BF16");
  EXPECT_EQ(counted.head_dim, 128);
  EXPECT_EQ(counted.rows, 4);
  EXPECT_EQ(keys_of(counted), 180 * 4 / (8 * 8.0));  // Eight streams, eight copies of each.
  EXPECT_EQ(values_of(counted), 128 * 4 / (8 * 8.0));
  EXPECT_EQ(softmax_of(counted), 1.0);
  // Straight through: the other loops of keys and values and the last loop once, and the end.
  EXPECT_EQ(rest_of(counted), (200 + 160 + 10 + 1) * 4 / 256.0);
  EXPECT_EQ(counted.keys->clocks[Pipe::Issue], keys_of(counted) / 4);
  EXPECT_EQ(counted.keys->clocks[Pipe::Memory], 4 * 4 / (8 * 8.0));
  EXPECT_EQ(counted.plain_softmax_of_row->count, 1.0);
}

TEST(Slots, OfTheLastBlockAreTheWayOnFromItsCount) {
  constexpr unsigned kMultiplyAdd = 0x223;
  constexpr unsigned kGlobalLoad = 0x981;
  SassWriter code;
  add_loop(code, 100, {{kCopyGroup, 8}, {kShuffle, 4}});
  add_loop(code, 256, {{kSpecialFunction, 8}, {kShuffle, 10}});
  add_loop(code, 100, {{kCopyGroup, 8}});
  for (int i = 0; i < 20; ++i) {
    code.add(kOther);
  }
  code.branch(1 + 5 + 60 + 12, SassWriter::kIf);  // To the end, past the combination.
  for (int i = 0; i < 5; ++i) {
    code.add(kOther);
  }
  constexpr std::uint64_t kQuad = std::uint64_t{6} << 9;
  code.add(kGlobalLoad, SassWriter::kAlways, kQuad);
  for (int i = 0; i < 8; ++i) {
    code.add(kGlobalLoad, SassWriter::kAlways, kQuad);
    code.add(kShuffle);
    code.add(kMultiplyAdd);
  }
  for (int i = 0; i < 35; ++i) {
    code.add(kOther);
  }
  code.branch(-60, SassWriter::kIf);
  for (int i = 0; i < 12; ++i) {
    code.add(kSpecialFunction);
  }
  const SlotCount counted = count("attend_float<FloatShape<(RowFormat)2, 128, 4> >", code);
  ASSERT_TRUE(counted.combined_row && counted.combined_chunks);
  EXPECT_EQ(counted.combined_chunks->count, 60);
  EXPECT_EQ(counted.combined_row->count, 5 + 1 + 12);
  EXPECT_EQ(counted.combined_row->clocks[Pipe::Issue], (5 + 1 + 12) / 4.0);
  EXPECT_EQ(counted.chunks_at_once, 8);
  EXPECT_EQ(rest_of(counted), (20 + 1 + 1) * 4 / 256.0);
  EXPECT_EQ(softmax_of(counted), 1.0);
}

TEST(Slots, OfASoftmaxLeaveOutTheCapOnceMoreWithoutIt) {
  constexpr unsigned kDivisionCheck = 0x302;
  SassWriter code;
  code.add(kShuffle);
  code.branch(10, SassWriter::kIf);
  add_loop(code, 10, {{kSpecialFunction, 1}, {kDivisionCheck, 1}});  // The tanh of each score.
  for (int i = 0; i < 51; ++i) {
    code.add(kOther);
  }
  code.branch(-64, SassWriter::kIf);
  const SlotCount counted = count("attend_float<FloatShape<(RowFormat)2, 128, 4> >", code);
  EXPECT_EQ(softmax_of(counted), 64 / 256.0);
  EXPECT_EQ(counted.plain_softmax_of_row->count, (64 - 10) / 256.0);
}

TEST(Slots, OfIntegerKernelsGoByTheProductsOfAStep) {
  SassWriter code;
  add_loop(code, 160, {{kIntegerProduct, 16}});
  add_loop(code, 512, {{kSpecialFunction, 8}, {kShuffle, 10}});
  add_loop(code, 320, {{kIntegerProduct, 16}});
  const SlotCount counted = count("attend_int_kernel<false, true, 128>", code);
  EXPECT_EQ(counted.format, "Int8/Int4");
  EXPECT_EQ(keys_of(counted), 160 * 4 / (4 * 8 * 4.0));  // Four steps of eight keys, four warps.
  EXPECT_EQ(values_of(counted), 320 * 4 * 2 / 256.0);    // Two slices.
  EXPECT_EQ(softmax_of(counted), 2.0);
}

TEST(Slots, OfInt4KeysGoByWholeLoadsOfALane) {
  SassWriter code;
  add_loop(code, 160, {{kIntegerProduct, 16}});
  add_loop(code, 320, {{kIntegerProduct, 16}});
  for (const auto& [name, steps] : {std::pair("attend_int_kernel<true, true, 80>", 4.0),
                                    {"attend_int_kernel<true, false, 96>", 4.0},
                                    {"attend_int_kernel<true, true, 192>", 2.0},
                                    {"attend_int_kernel<false, false, 192>", 16 / 6.0}}) {
    EXPECT_EQ(keys_of(count(name, code)), 160 * 4 / (steps * 8 * 4)) << name;
  }
}

TEST(Slots, AreThoseBetweenBarriersWhereNoLoopIsLeft) {
  SassWriter code;
  const auto add_phase = [&code](int others, int products) {
    for (int i = 0; i < others + products; ++i) {
      code.add(i < others ? kOther : kIntegerProduct);
    }
    code.add(kBarrier);
  };
  add_phase(1000, 0);
  add_phase(184, 7);
  add_phase(500, 0);
  add_phase(440, 7);
  add_phase(100, 0);
  const SlotCount counted = count("attend_int_kernel<true, false, 64>", code);
  EXPECT_EQ(counted.format, "Int4/Int8");
  EXPECT_EQ(keys_of(counted), 192 * 4 / 256.0);
  EXPECT_FALSE(counted.keys->is_loop);
  EXPECT_EQ(values_of(counted), 448 * 4 / 256.0);
  EXPECT_FALSE(counted.values->is_loop);
  EXPECT_EQ(softmax_of(counted), -1);
}

TEST(Slots, OfAHeadOfOneSliceHaveALoopOfKeysAtMost) {
  SassWriter code;
  add_loop(code, 160, {{kIntegerProduct, 16}});
  code.add(kBarrier);
  for (int i = 0; i < 127; ++i) {
    code.add(kIntegerProduct);
  }
  code.add(kBarrier);
  const SlotCount counted = count("attend_int_kernel<false, false, 64>", code);
  EXPECT_EQ(keys_of(counted), 160 * 4 / (8 * 8 * 4.0));
  EXPECT_TRUE(counted.keys->is_loop);
  EXPECT_EQ(values_of(counted), 2.0);
  EXPECT_FALSE(counted.values->is_loop);
}

TEST(Slots, OfKeysWithoutALoopBeforeALoopOfValues) {
  SassWriter code;
  code.add(kBarrier);
  for (int i = 0; i < 63; ++i) {
    code.add(kIntegerProduct);
  }
  code.add(kBarrier);
  add_loop(code, 320, {{kIntegerProduct, 16}});
  code.add(kBarrier);
  const SlotCount counted = count("attend_int_kernel<true, true, 128>", code);
  EXPECT_EQ(keys_of(counted), 1.0);
  EXPECT_FALSE(counted.keys->is_loop);
  EXPECT_EQ(values_of(counted), 320 * 4 * 2 / 256.0);
  EXPECT_TRUE(counted.values->is_loop);
}

TEST(Slots, AreMissingWhereTheCodeIsNotAsItIsKnown) {
  SassWriter code;
  add_loop(code, 160, {{kIntegerProduct, 12}});
  add_loop(code, 160, {{kIntegerProduct, 12}});
  const SlotCount counted = count("attend_int_kernel<false, false, 128>", code);
  EXPECT_EQ(keys_of(counted), -1);
  EXPECT_EQ(values_of(counted), -1);
}

TEST(Slots, AreOfNoOtherKernels) {
  EXPECT_EQ(count("append_rows<128>", {}).kernel, "");
  EXPECT_EQ(count("attend_general<true, false>", {}).kernel, "");
}

}  // namespace
}  // namespace octavo::compiled
