#include "octavo/block_manager.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <string>

#include "blocks/block_manager_impl.h"
#include "octavo/error.h"

namespace octavo {

using blocks::at;
using blocks::Slot;

void throw_outside(const char* call,
                   std::string_view name,
                   std::int64_t value,
                   std::int64_t low,
                   std::int64_t high) {
  throw Error(ErrorCode::InvalidArgument,
              std::string(call) + ": " + std::string(name) + " " + std::to_string(value) +
                  " is outside [" + std::to_string(low) + ", " + std::to_string(high) + "]");
}

void throw_moved_from(const char* call) {
  throw Error(ErrorCode::FailedPrecondition,
              std::string(call) + ": the block manager was moved from");
}

namespace {

constexpr const char* kMake = "BlockManager";
constexpr std::int64_t kInt32Max = std::numeric_limits<std::int32_t>::max();

void check_range(const char* name, std::int64_t value, std::int64_t low, std::int64_t high) {
  if (value < low || value > high) {
    throw_outside(kMake, name, value, low, high);
  }
}

const BlockManagerConfig& checked(const BlockManagerConfig& config) {
  check_range("num_blocks", config.num_blocks, 1, kInt32Max);
  check_range("block_size", config.block_size, 1, 65536);
  check_range("max_seqs", config.max_seqs, 1, 1 << 24);
  check_range("max_tokens_per_seq", config.max_tokens_per_seq, 0, kInt32Max);
  check_range("max_blocks_per_seq", config.max_blocks_per_seq, 0, kInt32Max);
  check_range("window", config.window, 0, kInt32Max);
  check_range("policy_block_tokens", config.policy_block_tokens, 0, kInt32Max);
  return config;
}

// Cells a row: what was asked for, else what the longest sequence needs, else the whole pool. Never
// more than positions can be numbered.
std::int64_t cells_per_row(const BlockManagerConfig& config) {
  const std::int64_t size = config.block_size;
  std::int64_t cells = config.max_blocks_per_seq;
  if (cells == 0 && config.max_tokens_per_seq > 0) {
    cells = (config.max_tokens_per_seq + size - 1) / size;
  }
  if (cells == 0) {
    cells = config.num_blocks;
  }
  return std::min(cells, (kInt32Max + size - 1) / size);
}

}  // namespace

BlockManager::Impl::Impl(const BlockManagerConfig& config)
    : config_(checked(config)),
      row_cells_(cells_per_row(config)),
      pool_(config.num_blocks),
      tree_(config, row_cells_),
      slots_(at(config.max_seqs), VirtualMemory::Pages::Small, "the slots"),
      scratch_(at(row_cells_), VirtualMemory::Pages::Small, "a row of the block table"),
      prompts_(config.max_seqs),
      cu_seqlens_k_(at(config.max_seqs) + 1, VirtualMemory::Pages::Small, "the lengths of a step") {
  const auto size = static_cast<std::uint32_t>(config.block_size);
  if (std::has_single_bit(size)) {
    block_shift_ = std::countr_zero(size);
  }
  sharing_ = config.prefix_caching && config.window == 0;
  row_tokens_ = std::min(row_cells_ * config.block_size, kInt32Max);
  if (config.max_tokens_per_seq > 0) {
    row_tokens_ = std::min(row_tokens_, config.max_tokens_per_seq);
  }
  prompt_tokens_max_ = config.window > 0
                           ? row_tokens_
                           : std::min(row_tokens_, config.num_blocks * config.block_size);
  constexpr std::size_t kCellsPerLine = 16;
  row_stride_ = ((at(row_cells_) + kCellsPerLine - 1) / kCellsPerLine | 1) * kCellsPerLine;
  if (row_stride_ > static_cast<std::size_t>(-1) / at(config.max_seqs)) {
    throw_address_space("the block table");
  }
  table_ = VirtualArray<BlockId>(at(config.max_seqs) * row_stride_, VirtualMemory::Pages::Small,
                                 "the block table");
  copies_.reserve(at(config.max_seqs));
}

void BlockManager::Impl::throw_slot(const char* call, int slot) const {
  throw Error(ErrorCode::InvalidArgument, std::string(call) + ": slot " + std::to_string(slot) +
                                              " is outside [0, " +
                                              std::to_string(config_.max_seqs) + ")");
}

std::span<const std::int32_t> BlockManager::Impl::block_table(int slot) const {
  return {row(slot), at(checked_slot("block_table", slot).cells)};
}

BlockManagerStats BlockManager::Impl::stats() const noexcept {
  BlockManagerStats stats;
  stats.admits = counters_.admits.get();
  stats.prompt_tokens = counters_.prompt_tokens.get();
  stats.hit_tokens = counters_.hit_tokens.get();
  stats.hit_blocks = counters_.hit_blocks.get();
  stats.missed_blocks = counters_.missed_blocks.get();
  stats.partial_hits = counters_.partial_hits.get();
  stats.partial_takeovers = counters_.partial_takeovers.get();
  stats.copied_blocks = counters_.copied_blocks.get();
  stats.sealed_blocks = counters_.sealed_blocks.get();
  stats.duplicate_blocks = counters_.duplicate_blocks.get();
  stats.evicted_for_step = counters_.evicted_for_step.get();
  stats.evicted_for_copy = counters_.evicted_for_copy.get();
  stats.dropped_keys = counters_.dropped_keys.get();
  stats.quarantined_blocks = counters_.quarantined_blocks.get();
  stats.bound_blocks_max = counters_.bound_blocks_max.get();
  stats.parked_blocks_max = counters_.parked_blocks_max.get();
  return stats;
}

// --- The public face ---

BlockManager::BlockManager(const BlockManagerConfig& config)
    : impl_(std::make_unique<Impl>(config)) {}
BlockManager::~BlockManager() = default;
BlockManager::BlockManager(BlockManager&&) noexcept = default;
BlockManager& BlockManager::operator=(BlockManager&&) noexcept = default;

std::span<const BlockCopy> BlockManager::copies() const noexcept {
  return impl_ == nullptr ? std::span<const BlockCopy>{} : impl_->copies();
}
std::span<const std::int32_t> BlockManager::block_table(int slot) const {
  return whole("block_table", impl_).block_table(slot);
}
std::int64_t BlockManager::reserved_len(int slot) const {
  return whole("reserved_len", impl_).checked_slot("reserved_len", slot).reserved;
}
std::int64_t BlockManager::committed_len(int slot) const {
  return whole("committed_len", impl_).checked_slot("committed_len", slot).committed;
}
bool BlockManager::is_fresh(int slot) const {
  return !whole("is_fresh", impl_).checked_slot("is_fresh", slot).active;
}
std::int64_t BlockManager::num_blocks() const noexcept {
  return impl_ == nullptr ? 0 : impl_->config().num_blocks;
}
std::int64_t BlockManager::free_blocks() const noexcept {
  return impl_ == nullptr ? 0 : impl_->free_blocks();
}
std::int64_t BlockManager::parked_blocks() const noexcept {
  return impl_ == nullptr ? 0 : impl_->parked_blocks();
}
std::int64_t BlockManager::quarantined_blocks() const noexcept {
  return impl_ == nullptr ? 0 : impl_->quarantined_blocks();
}
BlockManagerStats BlockManager::stats() const noexcept {
  return impl_ == nullptr ? BlockManagerStats{} : impl_->stats();
}
const BlockManagerConfig& BlockManager::config() const noexcept {
  static const BlockManagerConfig kMovedFrom{};
  return impl_ == nullptr ? kMovedFrom : impl_->config();
}

}  // namespace octavo
