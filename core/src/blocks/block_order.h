// An eviction order that ranks blocks, by an algorithm over queues of them.
//
// The classic policies are defined on single blocks; so are these, whatever runs the tree keeps. A
// block is in one of the algorithm's queues from when it is sealed until it leaves, held or not.
// When its turn comes while it may not leave (somebody holds it, or something continues it), it is
// set aside: it still belongs to its queue and counts there, and returns to the queue's old end
// the moment it may leave. So a turn costs O(1) and is paid by the insertion, the touch or the
// return that queued the block; nothing is ever scanned, and no parked block is stranded, since
// every bare one is queued.
//
// An algorithm inherits from BlockAlgorithm, or from QueueAlgorithm (queue_algorithm.h) when a few
// queues are all it needs, and adds
//   insert(block)      a new block: queue it
//   turn()             whose turn it is; taken off its queue. REQUIRES: one is queued
//   recall(block)      a block set aside may leave: to the old end of its queue
//   remove(block)      takes it off its queue
//   clear()            as if nothing had ever happened
//   visit_queues(visit)  visit(index, queue, size) for each that is not empty or has a size; the
//                      size counts those set aside, or is -1 where the algorithm keeps none
#pragma once

#include <cstdint>
#include <vector>

#include "blocks/block_algorithm.h"
#include "blocks/chain_hash.h"
#include "blocks/eviction_order.h"
#include "blocks/order_error.h"

namespace octavo::blocks {

template <class Algorithm>
class BlockOrder final : public EvictionOrder {
 public:
  BlockOrder(const BlockManagerConfig& config, const RunStore& store)
      : store_(store),
        num_blocks_(config.num_blocks),
        block_size_(at(config.block_size)),
        ranks_(at(config.num_blocks), VirtualMemory::Pages::Huge, "the blocks' ranks"),
        algorithm_(config, ranks_) {}

  void admitted(const PromptAdmitted& prompt) noexcept override {
    for (std::size_t i = prompt.served.size(); i-- > 0;) {
      algorithm_.served(prompt.served[i]);
    }
  }
  void acting(int slot) noexcept override { algorithm_.acting(slot); }
  void ended(int slot) noexcept override { algorithm_.ended(slot); }

  void sealed(const BlocksSealed& sealed) noexcept override {
    if (ranks_[at(sealed.blocks[0])].place != RankPlace::Unknown) {
      let_go(sealed.blocks[0], false);  // A leaf becomes a block of the path.
    }
    if constexpr (Algorithm::kNeedsNames) {
      name(sealed);
    }
    for (std::size_t i = sealed.blocks.size(); i-- > 0;) {
      if (Algorithm::kNeedsNames && i >= kNamesAhead) {
        algorithm_.expect(ranks_[at(sealed.blocks[i - kNamesAhead])].name, /*sooner=*/true);
      }
      insert(sealed.blocks[i]);
    }
  }
  void served_leaf(NodeId leaf) noexcept override { algorithm_.served(store_.node(leaf).head); }

  void parked(NodeId id) noexcept override {
    const Node& node = store_.node(id);
    if (node.kind == NodeKind::Leaf && ranks_[at(node.head)].place == RankPlace::Unknown) {
      insert(node.head);
    }
    if constexpr (Algorithm::kMovesWhenParked) {
      store_.visit_blocks_backward(node, [&](BlockId block) { algorithm_.parked(block); });
    }
  }
  void unparked(NodeId id) noexcept override {
    BlockRank& rank = ranks_[at(store_.last_block(store_.node(id)))];
    bare_ -= rank.bare ? 1 : 0;
    rank.bare = false;
  }
  void bare(NodeId id) noexcept override {
    const BlockId block = store_.last_block(store_.node(id));
    BlockRank& rank = ranks_[at(block)];
    rank.node = id;
    rank.bare = true;
    ++bare_;
    if (rank.place == RankPlace::Aside) {
      recall(block);
    }
  }
  void forgotten(NodeId leaf) noexcept override {
    const BlockId block = store_.node(leaf).head;
    if (ranks_[at(block)].place != RankPlace::Unknown) {
      let_go(block, false);
    }
  }

  NodeId victim(BlockId spare) noexcept override {
    const bool spares = spare != kNoBlock && ranks_[at(spare)].bare;
    if (bare_ == (spares ? 1 : 0)) {
      return kNoNode;
    }
    BlockId block = algorithm_.turn();
    while (!ranks_[at(block)].bare || block == spare) {
      ranks_[at(block)].place = RankPlace::Aside;
      block = algorithm_.turn();
    }
    if (spares && ranks_[at(spare)].place == RankPlace::Aside) {
      recall(spare);
    }
    const NodeId node = ranks_[at(block)].node;
    algorithm_.erase(block, true);
    forget(block);
    return node;
  }

  void reset() noexcept override {
    ranks_.clear(at(num_blocks_));
    algorithm_.clear();
    bare_ = 0;
  }

  void set_retention(int slot, int priority, std::int64_t ttl_ticks) noexcept override {
    algorithm_.set_retention(slot, priority, ttl_ticks);
  }
  void advance_clock(std::int64_t now_ticks) noexcept override {
    algorithm_.advance_clock(now_ticks);
  }
  std::int64_t now_ticks() const noexcept override { return algorithm_.now_ticks(); }

  void audit(std::int64_t blocks_used) const override;
  std::uint64_t digest(std::int64_t blocks_used) const override;

 private:
  // A block's name is the chained hash of its history, apart from the hash that the index uses: it
  // outlives the block, and whatever hash a caller gives decides nothing.
  void name(const BlocksSealed& sealed) noexcept {
    std::uint64_t name = sealed.parent == kNoBlock ? mix(sealed.namespace_id, kNameSeed)
                                                   : ranks_[at(sealed.parent)].name;
    const std::int32_t* tokens = sealed.tokens;
    for (const BlockId block : sealed.blocks) {
      name = chain_hash(name, tokens, block_size_);
      ranks_[at(block)].name = name;
      algorithm_.expect(name, /*sooner=*/false);
      tokens += block_size_;
    }
  }
  void insert(BlockId block) noexcept {
    ranks_[at(block)].place = RankPlace::Queued;
    algorithm_.insert(block);
  }
  void recall(BlockId block) noexcept {
    ranks_[at(block)].place = RankPlace::Queued;
    algorithm_.recall(block);
  }
  void let_go(BlockId block, bool evicted) noexcept {
    if (ranks_[at(block)].place == RankPlace::Queued) {
      algorithm_.remove(block);
    }
    algorithm_.erase(block, evicted);
    forget(block);
  }
  void forget(BlockId block) noexcept {
    bare_ -= ranks_[at(block)].bare ? 1 : 0;
    ranks_[at(block)] = BlockRank{};
  }

  const RunStore& store_;
  static constexpr std::uint64_t kNameSeed = 0x6E616D65732E3031ULL;
  static constexpr std::size_t kNamesAhead = 6;  ///< Far enough for memory, and few enough for it.

  std::int64_t num_blocks_;
  std::size_t block_size_;
  BlockRanks ranks_;  ///< By block.
  Algorithm algorithm_;
  std::int64_t bare_ = 0;  ///< Blocks that may leave: one a bare node.
};

template <class Algorithm>
void BlockOrder<Algorithm>::audit(std::int64_t blocks_used) const {
  // Where each block of the tree is, and which may leave.
  std::vector<NodeId> bare_at(at(blocks_used), kNoNode);
  std::vector<bool> named(at(blocks_used));
  std::vector<bool> ranked(at(blocks_used));
  std::int64_t bare_nodes = 0;
  for (NodeId id = 1; id <= store_.nodes_used(); ++id) {
    const Node& node = store_.node(id);
    if (node.kind == NodeKind::Nobody || node.kind == NodeKind::Root) {
      continue;
    }
    // A leaf is ranked once it has been parked.
    const bool must = node.kind == NodeKind::Run || node.parked;
    store_.visit_blocks(node, [&](BlockId block) {
      named[at(block)] = true;
      ranked[at(block)] = must;
      return true;
    });
    if (is_bare(node)) {
      bare_at[at(store_.last_block(node))] = id;
      ++bare_nodes;
    }
  }
  require_order(bare_nodes == bare_, "E-2: the blocks that may leave are miscounted", bare_);

  std::vector<bool> queued(at(blocks_used));
  std::vector<std::int64_t> sizes(256);
  algorithm_.visit_queues([&](std::size_t index, const BlockQueue& queue, std::int64_t) {
    BlockId older = kNoBlock;
    for (BlockId block = queue.oldest(); block != kNoBlock; block = ranks_[at(block)].newer) {
      const BlockRank& rank = ranks_[at(block)];
      require_order(rank.place == RankPlace::Queued && rank.older == older && !queued[at(block)] &&
                        algorithm_.belongs(block, index),
                    "E-1: a queue is broken", block);
      queued[at(block)] = true;
      older = block;
    }
    require_order(queue.newest() == older, "E-1: a queue's new end is another's", older);
  });
  for (BlockId block = 0; block < blocks_used; ++block) {
    const BlockRank& rank = ranks_[at(block)];
    const bool known = rank.place != RankPlace::Unknown;
    require_order(known || !ranked[at(block)], "E-1: a block of the tree is not ranked", block);
    require_order(!known || named[at(block)], "E-1: a block that left is still ranked", block);
    require_order(queued[at(block)] == (rank.place == RankPlace::Queued),
                  "E-1: a ranked block is in no queue", block);
    require_order(rank.bare == (bare_at[at(block)] != kNoNode) &&
                      (!rank.bare || rank.node == bare_at[at(block)]),
                  "E-2: who may leave is not who is bare", block);
    require_order(!rank.bare || rank.place == RankPlace::Queued,
                  "E-2: a block that may leave was left aside", block);
    sizes[rank.queue] += known ? 1 : 0;
  }
  algorithm_.visit_queues([&](std::size_t index, const BlockQueue&, std::int64_t size) {
    require_order(size < 0 || size == sizes[index], "E-1: a queue's size is miscounted", size);
  });
  algorithm_.audit_own();
}

template <class Algorithm>
std::uint64_t BlockOrder<Algorithm>::digest(std::int64_t blocks_used) const {
  std::uint64_t hash = algorithm_.digest_own();
  algorithm_.visit_queues([&](std::size_t index, const BlockQueue& queue, std::int64_t) {
    hash = mix(index, hash);
    for (BlockId block = queue.oldest(); block != kNoBlock; block = ranks_[at(block)].newer) {
      hash = mix(at(block), hash);
    }
  });
  std::uint64_t sum = 0;
  for (BlockId block = 0; block < blocks_used; ++block) {
    const BlockRank& rank = ranks_[at(block)];
    if (rank.place != RankPlace::Unknown) {
      const auto place = static_cast<std::uint64_t>(rank.place);
      sum += mix(at(block), mix(rank.uses, place << 8 | rank.queue));
    }
  }
  return mix(sum, hash);
}

}  // namespace octavo::blocks
