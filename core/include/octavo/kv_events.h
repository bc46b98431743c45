// What a block manager tells the outside about its prefix cache, with the names the field uses
// (BlockStored, BlockRemoved, AllBlocksCleared).
//
// Only full blocks appear. A block is stored when it is sealed (its tokens are written and it can
// be served) and removed when it is evicted or when everything is cleared; the order of removals is
// the order of evictions. A block's hash is the chained hash of its tokens and everything before
// them, seeded by the namespace, so that two servers report the same hash for the same prefix.
// Blocks of an invalidated namespace are reported as removed only when they are evicted; while any
// are left, the namespace's next generation is seeded differently, so that no hash means two
// blocks.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace octavo {

/// Consecutive blocks of one prefix became servable.
struct BlockStored {
  std::span<const std::uint64_t> block_hashes;
  std::optional<std::uint64_t>
      parent_block_hash;                    ///< Of the block before the first; none at the root.
  std::span<const std::int32_t> token_ids;  ///< block_hashes.size() * block_size ids.
  int block_size = 0;
  std::uint64_t namespace_id = 0;
};

/// Blocks left the cache.
struct BlockRemoved {
  std::span<const std::uint64_t> block_hashes;
};

/// Receives events inside the call that causes them, on the manager's thread. The spans are valid
/// during the call only. A sink must not call back into the manager and must not throw: the
/// manager's state is already changed when it is told.
class KVEventSink {
 public:
  virtual ~KVEventSink() = default;
  virtual void on_block_stored(const BlockStored& event) noexcept = 0;
  virtual void on_block_removed(const BlockRemoved& event) noexcept = 0;
  virtual void on_all_blocks_cleared() noexcept = 0;
};

}  // namespace octavo
