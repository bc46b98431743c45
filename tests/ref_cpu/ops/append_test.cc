// What stands in the rows after appending and filling: bytes and scales, where and only where they
// belong.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <vector>

#include "attend_oracle.h"
#include "attend_world.h"
#include "float_bits.h"
#include "octavo/block_manager.h"
#include "octavo/device_ops.h"
#include "octavo/kv_row_info.h"
#include "octavo/ref_cpu/cpu_device.h"
#include "quantize.h"
#include "rows.h"
#include <gtest/gtest.h>

namespace octavo::ops_test {
namespace {

std::vector<std::uint8_t> bytes_of(const Tensor& tensor) {
  const auto* data = static_cast<const std::uint8_t*>(tensor.address());
  return {data, data + tensor.size_bytes()};
}

std::size_t count_of(const std::vector<std::uint8_t>& bytes, std::uint8_t value) {
  return static_cast<std::size_t>(std::count(bytes.begin(), bytes.end(), value));
}

// The values that a row stands for, without its scale.
std::vector<float> codes_of(const KVQuantSpec& quant, const Tensor& row, std::int64_t n) {
  std::vector<float> codes(static_cast<std::size_t>(n));
  if (quant.codec == KVCodec::None) {
    ref_cpu::decode_row(row.dtype(), row.address(), 0, n, codes.data());
  } else {
    ref_cpu::decode_codes(quant.codec, static_cast<const std::uint8_t*>(row.address()), n,
                          codes.data());
  }
  return codes;
}

TEST(Append, StoresWhatTheFormatModelSays) {
  for (const KVCodec codec :
       {KVCodec::None, KVCodec::Int8, KVCodec::Int4, KVCodec::E4M3, KVCodec::E5M2}) {
    for (const DType input : {DType::F32, DType::F16, DType::BF16}) {
      const Model model{.input_dtype = input, .kv_dtype = DType::F16, .k_quant = {.codec = codec}};
      World world(model, {.paged = false}, 1, 8);
      Results results;
      world.run({{0, 5}}, results);
      for (std::int64_t slot = 0; slot < world.keys().size(0); ++slot) {
        const auto first = bytes_of(world.keys().select(0, slot).select(0, 0).select(0, 0));
        if (count_of(first, 0x7F) == first.size()) {
          continue;  // Another slot than the sequence's.
        }
        for (std::int64_t position = 0; position < 5; ++position) {
          std::vector<float> x;
          for (std::int64_t d = 0; d < 64; ++d) {
            x.push_back(element(model, Part::Key, 0, position, 1, d));
          }
          const StoredRow expected = store_row(x, model.kv_dtype, model.k_quant, 0.0f);
          const Tensor row = world.keys().select(0, slot).select(0, 1).select(0, position);
          const std::vector<float> codes = codes_of(model.k_quant, row, 64);
          EXPECT_EQ(std::vector<double>(codes.begin(), codes.end()), expected.code);
          if (codec != KVCodec::None) {
            const Tensor& scales = world.keys().row_info()->scales;
            EXPECT_EQ(static_cast<double>(scales.data<float>()[(slot * 2 + 1) * 8 + position]),
                      expected.scale);
          }
        }
      }
    }
  }
}

TEST(Append, TouchesOnlyTheStepsRows) {
  for (const bool paged : {true, false}) {
    const Model model{.k_quant = {.codec = KVCodec::E5M2}};
    World world(model, {.paged = paged}, 2, 64);
    Results results;
    world.run({{0, 20}, {1, 3}}, results);
    auto before = bytes_of(world.values());
    world.run({{0, 1}, {1, 2}}, results);
    const auto after = bytes_of(world.values());
    std::size_t changed = 0;
    for (std::size_t i = 0; i < after.size(); i += 2) {
      changed += before[i] != after[i] || before[i + 1] != after[i + 1] ? 1u : 0u;
    }
    EXPECT_EQ(changed, 3u * 2 * 64);
    EXPECT_EQ(count_of(bytes_of(world.keys().row_info()->scales), 0x7F) % 4, 0u);
  }
}

TEST(Append, BytesDoNotDependOnHowAPromptIsCut) {
  for (const KVCodec codec : {KVCodec::None, KVCodec::Int8, KVCodec::Int4, KVCodec::E4M3}) {
    const Model model{.k_quant = {.codec = codec}, .v_quant = {.codec = codec}};
    World whole(model, {}, 1, 64);
    World pieces(model, {.threads = 2}, 1, 64);
    Results results;
    whole.run({{0, 60}}, results);
    for (const int tokens : {1, 16, 40, 3}) {
      pieces.run({{0, tokens}}, results);
    }
    EXPECT_EQ(bytes_of(whole.keys()), bytes_of(pieces.keys()));
    EXPECT_EQ(bytes_of(whole.values()), bytes_of(pieces.values()));
    if (codec != KVCodec::None) {
      EXPECT_EQ(bytes_of(whole.keys().row_info()->scales),
                bytes_of(pieces.keys().row_info()->scales));
    }
  }
}

KVRowsArg rows_arg(const Tensor& rows, const Tensor& scales) {
  return {.data = rows.address(),
          .scales = static_cast<float*>(scales.address()),
          .dtype = DType::Int8,
          .codec = KVCodec::Int8,
          .head_dim = 8,
          .block_stride_bytes = rows.strides()[0],
          .head_stride_bytes = rows.strides()[1],
          .row_stride_bytes = 8,
          .scale_block_stride = scales.strides()[0],
          .scale_head_stride = scales.strides()[1]};
}

TEST(StoreCross, QuantizesOneSlotAndNoOther) {
  const auto device = make_cpu_device(2);
  const Tensor rows = Tensor::zeros(DType::Int8, {3, 2, 5, 8}, device);
  const Tensor scales = Tensor::zeros(DType::F32, {3, 2, 5}, device);
  const Tensor x = Tensor::zeros(DType::F32, {4, 2, 8}, device);
  for (std::int64_t i = 0; i < 64; ++i) {
    x.data<float>()[i] = static_cast<float>(i + 1);
  }
  const StepOperandArg operand{x.address(), DType::F32, 16, 8};
  device->store_cross({.keys = rows_arg(rows, scales),
                       .values = rows_arg(rows, scales),
                       .key = operand,
                       .value = operand,
                       .kv_heads = 2,
                       .slot = 1,
                       .tokens = 4});
  for (std::int64_t head = 0; head < 2; ++head) {
    for (std::int64_t token = 0; token < 4; ++token) {
      const float largest = static_cast<float>(token * 16 + head * 8 + 8);
      EXPECT_EQ(scales.data<float>()[(2 + head) * 5 + token], largest / 127.0f);
      EXPECT_EQ(rows.data<std::int8_t>()[((2 + head) * 5 + token) * 8 + 7], 127);
    }
    EXPECT_EQ(scales.data<float>()[(2 + head) * 5 + 4], 0.0f);
  }
  EXPECT_EQ(count_of(bytes_of(rows.select(0, 0)), 0), 80u);
  EXPECT_EQ(count_of(bytes_of(rows.select(0, 2)), 0), 80u);
}

TEST(CopyBlocks, CopiesLeadingRowsOfEveryMemberOneAfterAnother) {
  const auto device = make_cpu_device(2);
  // [members, blocks, heads, rows, bytes]
  const Tensor pool = Tensor::zeros(DType::UInt8, {3, 4, 2, 4, 5}, device);
  const Tensor scales = Tensor::zeros(DType::F32, {2, 4, 2, 4}, device);
  for (std::int64_t i = 0; i < pool.num_elements(); ++i) {
    pool.data<std::uint8_t>()[i] = static_cast<std::uint8_t>(i / 5 + 1);
  }
  for (std::int64_t i = 0; i < scales.num_elements(); ++i) {
    scales.data<float>()[i] = static_cast<float>(i + 1);
  }
  const std::array<BlockArrayArg, 2> arrays = {{{.data = pool.address(),
                                                 .members = 3,
                                                 .heads = 2,
                                                 .row_bytes = 5,
                                                 .member_stride_bytes = 160,
                                                 .block_stride_bytes = 40,
                                                 .head_stride_bytes = 20},
                                                {.data = scales.address(),
                                                 .members = 2,
                                                 .heads = 2,
                                                 .row_bytes = 4,
                                                 .member_stride_bytes = 128,
                                                 .block_stride_bytes = 32,
                                                 .head_stride_bytes = 16}}};
  const std::array<BlockCopy, 2> copies = {{{.src = 0, .dst = 2, .rows = 3}, {2, 1, 1}}};
  device->copy_blocks({arrays.data(), 2, copies.data(), 2});
  const auto row = [&](int member, int block, int head, int r) {
    return int{pool.data<std::uint8_t>()[(((member * 4 + block) * 2 + head) * 4 + r) * 5 + 4]};
  };
  const auto before = [](int member, int block, int head, int r) {
    return ((member * 4 + block) * 2 + head) * 4 + r + 1;
  };
  for (int member = 0; member < 3; ++member) {
    for (int head = 0; head < 2; ++head) {
      for (int r = 0; r < 4; ++r) {
        EXPECT_EQ(row(member, 0, head, r), before(member, 0, head, r));
        EXPECT_EQ(row(member, 3, head, r), before(member, 3, head, r));
        EXPECT_EQ(row(member, 2, head, r), before(member, r < 3 ? 0 : 2, head, r));
        EXPECT_EQ(row(member, 1, head, r), before(member, r < 1 ? 0 : 1, head, r));
      }
    }
  }
  for (int i = 0; i < 64; ++i) {
    const int block = i / 8 % 4;
    const int r = i % 4;
    const int from = block == 2 && r < 3 ? i - 16 : block == 1 && r < 1 ? i - 8 : i;
    EXPECT_EQ(scales.data<float>()[i], static_cast<float>(from + 1)) << i;
  }
}

TEST(GatherBlockTable, TakesTheSlotsRows) {
  const auto device = make_cpu_device(1);
  const std::vector<std::int32_t> cells{1, 2, 3, 4, 5, 6, 7, 8, 9};
  const std::vector<std::int32_t> slots{2, 0};
  const Tensor table = Tensor::from_values<std::int32_t>(DType::Int32, {3, 3}, cells, device);
  const Tensor slot_ids = Tensor::from_values<std::int32_t>(DType::Int32, {2}, slots, device);
  const Tensor gathered = Tensor::zeros(DType::Int32, {2, 3}, device);
  device->gather_block_table({.table = table.data<std::int32_t>(),
                              .slot_ids = slot_ids.data<std::int32_t>(),
                              .gathered = gathered.data<std::int32_t>(),
                              .table_stride = 3,
                              .gathered_stride = 3,
                              .columns = 3,
                              .batch = 2});
  EXPECT_EQ(gathered.to_vector<std::int32_t>(), (std::vector<std::int32_t>{7, 8, 9, 1, 2, 3}));
}

TEST(ZeroSlots, ClearsTheNamedSlotsAndNoOther) {
  const auto device = make_cpu_device(2);
  const Tensor a = Tensor::zeros(DType::UInt8, {4, 6}, device);
  const Tensor b = Tensor::zeros(DType::F32, {4, 1}, device);
  device->fill(a.address(), 0xFF, 24);
  device->fill(b.address(), 0xFF, 16);
  const std::array<SlotArrayArg, 2> arrays = {{{a.address(), 6, 6}, {b.address(), 4, 4}}};
  const std::array<std::int32_t, 2> slots = {3, 1};
  device->zero_slots({arrays.data(), 2, slots.data(), 2});
  for (const Tensor& tensor : {a, b}) {
    for (std::int64_t slot = 0; slot < 4; ++slot) {
      const auto bytes = bytes_of(tensor.select(0, slot));
      EXPECT_EQ(count_of(bytes, slot % 2 == 1 ? 0 : 0xFF), bytes.size()) << slot;
    }
  }
}

}  // namespace
}  // namespace octavo::ops_test
