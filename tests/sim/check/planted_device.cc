#include "tests/sim/check/planted_device.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <vector>

#include "octavo/block_manager.h"
#include "octavo/device_ops.h"
#include "octavo/ref_cpu/cpu_device.h"

namespace octavo::sim {
namespace {

constexpr std::array<std::string_view, kPlants> kNames{"None",
                                                       "CopySkipped",
                                                       "CopyShort",
                                                       "CopyFromElsewhere",
                                                       "UploadLost",
                                                       "GatherStale",
                                                       "ClearSkipped",
                                                       "RowElsewhere",
                                                       "RowLost",
                                                       "HeadsSwapped",
                                                       "ScaleWrong",
                                                       "WindowShort",
                                                       "WindowLong",
                                                       "CausalMaskLost",
                                                       "ScoreWrong",
                                                       "StatesNotZeroed",
                                                       "StateOfOtherSlot",
                                                       "CrossShort"};

// Position `p` of sequence `i`.
struct RowPlace {
  std::int64_t block = 0;
  std::int64_t row = 0;
};

RowPlace place_of(const KVStepArg& step, std::int64_t i, std::int64_t p) {
  const std::int64_t column = p / step.block_size % step.table_columns;
  return {step.block_table[i * step.table_stride + column], p % step.block_size};
}

std::int64_t length_of(const KVStepArg& step, std::int64_t i) {
  return step.cumulative_k ? step.cu_seqlens_k[i + 1] - step.cu_seqlens_k[i] : step.cu_seqlens_k[i];
}

std::byte* row_of(const KVRowsArg& rows, const RowPlace& place, std::int64_t head) {
  return static_cast<std::byte*>(rows.data) + place.block * rows.block_stride_bytes +
         head * rows.head_stride_bytes + place.row * rows.row_stride_bytes;
}

class PlantedDevice final : public Device {
 public:
  explicit PlantedDevice(Plant plant) : plant_(plant), cpu_(make_cpu_device(1)) {}

  DeviceKind kind() const noexcept override { return cpu_->kind(); }
  std::string_view name() const noexcept override { return "planted"; }
  bool host_accessible() const noexcept override { return true; }
  void* allocate(std::int64_t size_bytes) override { return cpu_->allocate(size_bytes); }
  void deallocate(void* data, std::int64_t size_bytes) noexcept override {
    cpu_->deallocate(data, size_bytes);
  }
  void copy_from_host(void* dst, const void* src, std::int64_t size_bytes) override {
    if (plant_ == Plant::UploadLost && size_bytes <= 8 && ++calls_ % 11 == 0) {
      return;
    }
    cpu_->copy_from_host(dst, src, size_bytes);
  }
  void copy_to_host(void* dst, const void* src, std::int64_t size_bytes) const override {
    cpu_->copy_to_host(dst, src, size_bytes);
  }
  void copy(void* dst, const void* src, std::int64_t size_bytes) override {
    cpu_->copy(dst, src, size_bytes);
  }
  void fill(void* dst, std::uint8_t value, std::int64_t size_bytes) override {
    // 0xFF is how cells are cleared; the first fills of a cache clear whole tables.
    if (plant_ == Plant::ClearSkipped && value == 0xFF && ++calls_ > 2) {
      return;
    }
    cpu_->fill(dst, value, size_bytes);
  }

  void append(const AppendArg& arg) override {
    cpu_->append(arg);
    const std::int64_t length = length_of(arg.step, 0);
    const RowPlace last = place_of(arg.step, 0, length - 1);
    const auto key_bytes = static_cast<std::size_t>(arg.keys.row_stride_bytes);
    const std::int32_t count = arg.step.cu_seqlens_q[1];
    if (plant_ == Plant::RowElsewhere && length > arg.step.block_size) {
      std::memcpy(row_of(arg.keys, place_of(arg.step, 0, 0), 0), row_of(arg.keys, last, 0),
                  key_bytes);
    } else if (plant_ == Plant::RowLost && count > 1) {
      std::memset(row_of(arg.keys, last, 0), 0, key_bytes);
    } else if (plant_ == Plant::HeadsSwapped && arg.kv_heads > 1) {
      std::byte* mine = row_of(arg.values, last, 0);
      std::swap_ranges(mine, mine + arg.values.row_stride_bytes, row_of(arg.values, last, 1));
    } else if (plant_ == Plant::ScaleWrong && arg.keys.scales != nullptr) {
      for (std::int64_t i = 0; i < arg.step.batch; ++i) {
        const std::int64_t end = length_of(arg.step, i);
        const std::int64_t added = arg.step.cu_seqlens_q[i + 1] - arg.step.cu_seqlens_q[i];
        for (std::int64_t p = end - added; p < end; ++p) {
          const RowPlace place = place_of(arg.step, i, p);
          arg.keys.scales[place.block * arg.keys.scale_block_stride + place.row] *= 2.0F;
        }
      }
    }
  }

  void attend(const AttendArg& given) override {
    AttendArg arg = given;
    if (plant_ == Plant::WindowShort && arg.window > 1) {
      --arg.window;
    } else if (plant_ == Plant::WindowLong && arg.window > 0) {
      ++arg.window;
    } else if (plant_ == Plant::CausalMaskLost) {
      arg.causal = false;
    } else if (plant_ == Plant::ScoreWrong) {
      arg.score_factor *= 1.5F;
    }
    cpu_->attend(arg);
  }

  void copy_blocks(const CopyBlocksArg& given) override {
    std::vector<BlockCopy> copies(given.copies, given.copies + given.num_copies);
    for (BlockCopy& copy : copies) {
      copy.rows -= plant_ == Plant::CopyShort ? 1 : 0;
      copy.src -= plant_ == Plant::CopyFromElsewhere && copy.src > 0 ? 1 : 0;
    }
    CopyBlocksArg arg = given;
    arg.copies = copies.data();
    if (plant_ != Plant::CopySkipped) {
      cpu_->copy_blocks(arg);
    }
  }

  void gather_block_table(const GatherBlockTableArg& arg) override {
    if (plant_ != Plant::GatherStale || ++calls_ % 3 != 0) {
      cpu_->gather_block_table(arg);
    }
  }

  void store_cross(const StoreCrossArg& given) override {
    StoreCrossArg arg = given;
    arg.tokens -= plant_ == Plant::CrossShort && arg.tokens > 1 ? 1 : 0;
    cpu_->store_cross(arg);
  }

  void zero_slots(const ZeroSlotsArg& arg) override {
    if (plant_ != Plant::StatesNotZeroed) {
      cpu_->zero_slots(arg);
    }
  }

  void conv_update(const ConvUpdateArg& arg) override { cpu_->conv_update(arg); }

  void gated_delta_update(const GatedDeltaUpdateArg& given) override {
    GatedDeltaUpdateArg arg = given;
    std::vector<std::int32_t> slots(given.step.slot_ids, given.step.slot_ids + given.step.batch);
    if (plant_ == Plant::StateOfOtherSlot) {
      std::reverse(slots.begin(), slots.end());
      arg.step.slot_ids = slots.data();
    }
    cpu_->gated_delta_update(arg);
  }

  void selective_state_update(const SelectiveStateUpdateArg& arg) override {
    cpu_->selective_state_update(arg);
  }

 private:
  Plant plant_;
  std::shared_ptr<Device> cpu_;
  std::int64_t calls_ = 0;
};

}  // namespace

std::string_view to_string(Plant plant) {
  return kNames[static_cast<std::size_t>(plant)];
}

std::shared_ptr<Device> make_planted_device(Plant plant) {
  return std::make_shared<PlantedDevice>(plant);
}

}  // namespace octavo::sim
