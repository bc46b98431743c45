// Queues of blocks, linked through one record a block.
//
// A block is in at most one queue. Records are indexed by block id; a record is all zero while its
// block is unknown to the eviction order.
#pragma once

#include <cstdint>

#include "base/virtual_memory.h"
#include "blocks/ids.h"

namespace octavo::blocks {

enum class RankPlace : std::uint8_t {
  Unknown,
  Queued,  ///< In the queue it belongs to.
  Aside,   ///< Its turn came while it could not leave. It returns to the old end once it can.
};

struct BlockRank {
  BlockId older, newer;  ///< Neighbours while queued; kNoBlock at an end.
  NodeId node;           ///< The node it is the last block of, while bare.
  std::uint32_t uses;    ///< What the algorithm counts.
  std::uint64_t name;    ///< Chained hash, where the algorithm asks for names; 0 for a leaf.
  RankPlace place;
  bool bare;           ///< It may leave.
  std::uint8_t queue;  ///< Which of the algorithm's queues it belongs to, queued or aside.
};
static_assert(sizeof(BlockRank) == 32);

using BlockRanks = VirtualArray<BlockRank>;

/// All bits zero is an empty queue.
class BlockQueue {
 public:
  BlockId oldest() const noexcept { return used_ ? oldest_ : kNoBlock; }
  BlockId newest() const noexcept { return used_ ? newest_ : kNoBlock; }
  bool empty() const noexcept { return !used_; }

  void push_newest(BlockRanks& ranks, BlockId block) noexcept {
    insert(ranks, newest(), block, kNoBlock);
  }
  void push_oldest(BlockRanks& ranks, BlockId block) noexcept {
    insert(ranks, kNoBlock, block, oldest());
  }
  /// Queues `block` as the older neighbour of `newer`; kNoBlock: as the newest of all.
  void push_before(BlockRanks& ranks, BlockId newer, BlockId block) noexcept {
    insert(ranks, newer == kNoBlock ? newest() : ranks[at(newer)].older, block, newer);
  }

  void remove(BlockRanks& ranks, BlockId block) noexcept {
    const BlockRank& rank = ranks[at(block)];
    (rank.older != kNoBlock ? ranks[at(rank.older)].newer : oldest_) = rank.newer;
    (rank.newer != kNoBlock ? ranks[at(rank.newer)].older : newest_) = rank.older;
    used_ = oldest_ != kNoBlock;
  }

 private:
  void insert(BlockRanks& ranks, BlockId older, BlockId block, BlockId newer) noexcept {
    BlockRank& rank = ranks[at(block)];
    rank.older = older;
    rank.newer = newer;
    (older != kNoBlock ? ranks[at(older)].newer : oldest_) = block;
    (newer != kNoBlock ? ranks[at(newer)].older : newest_) = block;
    used_ = true;
  }

  BlockId oldest_ = 0;
  BlockId newest_ = 0;
  bool used_ = false;
};

}  // namespace octavo::blocks
