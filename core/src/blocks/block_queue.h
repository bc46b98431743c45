// Queues of blocks, linked through one record a block.
//
// Records are indexed by block id; in one array of them a block is in at most one queue. A rank is
// all zero while its block is unknown to the eviction order.
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

/// Works on any array of records with neighbours `older` and `newer`. All bits zero is an empty
/// queue.
class BlockQueue {
 public:
  BlockId oldest() const noexcept { return used_ ? oldest_ : kNoBlock; }
  BlockId newest() const noexcept { return used_ ? newest_ : kNoBlock; }
  bool empty() const noexcept { return !used_; }

  template <class Records>
  void push_newest(Records& records, BlockId block) noexcept {
    insert(records, newest(), block, kNoBlock);
  }
  template <class Records>
  void push_oldest(Records& records, BlockId block) noexcept {
    insert(records, kNoBlock, block, oldest());
  }
  /// Queues `block` as the older neighbour of `newer`; kNoBlock: as the newest of all.
  template <class Records>
  void push_before(Records& records, BlockId newer, BlockId block) noexcept {
    insert(records, newer == kNoBlock ? newest() : records[at(newer)].older, block, newer);
  }

  template <class Records>
  void remove(Records& records, BlockId block) noexcept {
    const auto& record = records[at(block)];
    (record.older != kNoBlock ? records[at(record.older)].newer : oldest_) = record.newer;
    (record.newer != kNoBlock ? records[at(record.newer)].older : newest_) = record.older;
    used_ = oldest_ != kNoBlock;
  }

 private:
  template <class Records>
  void insert(Records& records, BlockId older, BlockId block, BlockId newer) noexcept {
    auto& record = records[at(block)];
    record.older = older;
    record.newer = newer;
    (older != kNoBlock ? records[at(older)].newer : oldest_) = block;
    (newer != kNoBlock ? records[at(newer)].older : newest_) = block;
    used_ = true;
  }

  BlockId oldest_ = 0;
  BlockId newest_ = 0;
  bool used_ = false;
};

}  // namespace octavo::blocks
