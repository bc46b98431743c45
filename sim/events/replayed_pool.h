// A block manager that serves one request at a time and remembers what it said about its blocks.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "octavo/block_manager.h"
#include "octavo/sim/kv_event_oracle.h"

namespace octavo::sim {

/// One block stored or removed by the manager, or everything cleared.
struct OurOp {
  KvEventKind kind = KvEventKind::BlockStored;
  std::uint64_t hash = 0;
  std::optional<std::uint64_t> parent;
  std::int64_t position = -1;  ///< Of a stored or removed block in its prefix, from 0.
  std::vector<std::int32_t> tokens;
};

class ReplayedPool final : private KVEventSink {
 public:
  ReplayedPool(const OracleOptions& options, std::int64_t block_size);
  ReplayedPool(const ReplayedPool&) = delete;
  ReplayedPool& operator=(const ReplayedPool&) = delete;

  /// Serves a prompt and retires it; returns the tokens that were cached. Whole blocks of the first
  /// `addressable_len` tokens are shared.
  std::int64_t serve(std::span<const std::int32_t> prompt, std::int64_t addressable_len);
  void clear() { manager_.reset(); }

  /// What the manager has said since `forget`.
  const std::vector<OurOp>& ops() const noexcept { return ops_; }
  void forget() { ops_.clear(); }

 private:
  void on_block_stored(const BlockStored& event) noexcept override;
  void on_block_removed(const BlockRemoved& event) noexcept override;
  void on_all_blocks_cleared() noexcept override;

  std::vector<OurOp> ops_;
  // Position of every cached block. Looked up by hash only, never iterated.
  std::unordered_map<std::uint64_t, std::int64_t> positions_;
  BlockManager manager_;
};

}  // namespace octavo::sim
