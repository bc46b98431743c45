#include "replayed_pool.h"

namespace octavo::sim {
namespace {

BlockManagerConfig config_of(const OracleOptions& options,
                             std::int64_t block_size,
                             KVEventSink* events) {
  BlockManagerConfig config;
  config.num_blocks = options.blocks;
  config.block_size = static_cast<int>(block_size);
  config.max_seqs = 1;
  config.partial_keys = false;
  config.policy = options.policy;
  config.events = events;
  return config;
}

}  // namespace

ReplayedPool::ReplayedPool(const OracleOptions& options, std::int64_t block_size)
    : manager_(config_of(options, block_size, this)) {}

std::int64_t ReplayedPool::serve(std::span<const std::int32_t> prompt,
                                 std::int64_t addressable_len) {
  const int slot = 0;
  const auto past = static_cast<std::int32_t>(manager_.admit(slot, prompt, addressable_len));
  const std::int32_t cu_seqlens_q[] = {0, static_cast<std::int32_t>(prompt.size()) - past};
  manager_.prepare_step(cu_seqlens_q, {&past, 1}, {&slot, 1});
  manager_.update_position(slot, static_cast<std::int64_t>(prompt.size()));
  manager_.retire(slot, prompt, addressable_len);
  return past;
}

void ReplayedPool::on_block_stored(const BlockStored& event) noexcept {
  std::optional<std::uint64_t> parent = event.parent_block_hash;
  std::int64_t position = -1;
  if (parent) {
    const auto found = positions_.find(*parent);
    position = found != positions_.end() ? found->second : -1;
  }
  const auto size = static_cast<std::size_t>(event.block_size);
  for (std::size_t i = 0; i < event.block_hashes.size(); ++i) {
    const auto tokens = event.token_ids.subspan(i * size, size);
    const std::uint64_t hash = event.block_hashes[i];
    ops_.push_back({.kind = KvEventKind::BlockStored,
                    .hash = hash,
                    .parent = parent,
                    .position = ++position,
                    .tokens = {tokens.begin(), tokens.end()}});
    positions_[hash] = position;
    parent = hash;
  }
}

void ReplayedPool::on_block_removed(const BlockRemoved& event) noexcept {
  for (const std::uint64_t hash : event.block_hashes) {
    OurOp op{.kind = KvEventKind::BlockRemoved, .hash = hash, .parent = {}, .tokens = {}};
    if (const auto found = positions_.find(hash); found != positions_.end()) {
      op.position = found->second;
      positions_.erase(found);
    }
    ops_.push_back(std::move(op));
  }
}

void ReplayedPool::on_all_blocks_cleared() noexcept {
  positions_.clear();
  ops_.push_back({.kind = KvEventKind::AllBlocksCleared, .parent = {}, .tokens = {}});
}

}  // namespace octavo::sim
