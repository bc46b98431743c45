// The prefix cache: which block holds which continuation of which history, exactly.
//
// A tree of runs (run.h) under one root a namespace generation. A hit is decided by tokens and
// parent; the index only says where to look. A node is *held* while a slot's path goes through it
// and *parked* otherwise; held nodes have held parents, so nothing under a parked node is held.
//
// Everything but audit and digest is noexcept: memory was reserved at construction. Not
// thread-safe, except for the parked count.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "blocks/chain_hash.h"
#include "blocks/eviction_order.h"
#include "blocks/parking_list.h"
#include "blocks/run_index.h"
#include "blocks/run_store.h"
#include "blocks/token_store.h"
#include "octavo/block_manager.h"

namespace octavo::blocks {

class PrefixTree {
 public:
  /// `blocks_max` is the longest path in blocks. The config's hash and event sink are kept.
  PrefixTree(const BlockManagerConfig& config, std::int64_t blocks_max);

  // --- Namespaces ---

  /// The current generation of a namespace; kNoNode when it has none in memory.
  NodeId current_root(std::uint64_t namespace_id) const noexcept {
    const NodeId latest = latest_root(namespace_id);
    return latest == kNoNode || store_.node(latest).stale ? kNoNode : latest;
  }
  /// The current generation of a namespace, with one more user; kNoNode in the (absurd) case that
  /// node ids run out, which takes a pool of about 2^31 blocks and as many generations.
  NodeId acquire_root(std::uint64_t namespace_id) noexcept {
    // Of a namespace's generations at most one is not stale. The guess's record may be another's
    // now.
    Node& recent = store_.node(recent_root_);
    if (recent.kind == NodeKind::Root && !recent.stale &&
        recent.root.namespace_id == namespace_id) {
      ++recent.root.users;
      return recent_root_;
    }
    return find_or_make_root(namespace_id);
  }
  void release_root(NodeId root) noexcept {
    --store_.node(root).root.users;
    free_root_if_idle(root);
  }
  /// The generation in use ends: the next acquire_root begins another.
  void invalidate(std::uint64_t namespace_id) noexcept;
  bool stale(NodeId root) const noexcept { return store_.node(root).stale; }

  // --- Paths ---

  /// Follows `tokens` (max_blocks whole blocks) from the end of `from` as far as sealed blocks
  /// agree, writes their ids to `cells` and returns the node that ends there (cutting a run where
  /// the agreement ends inside it) and how many blocks agreed. Holds nothing. What it looked for in
  /// vain is remembered until the next match.
  struct Match {
    NodeId node;
    std::uint32_t blocks;
  };
  Match match(NodeId from,
              const std::int32_t* tokens,
              std::uint32_t max_blocks,
              BlockId* cells) noexcept;

  /// What match would find, and nothing changes: the node that ends there (kNoNode when the
  /// agreement ends inside a run, where no key can stand), how many blocks agree, and how many of
  /// them are parked.
  struct Peek {
    NodeId node;
    std::uint32_t blocks;
    std::uint32_t parked;
  };
  Peek peek(NodeId from, const std::int32_t* tokens, std::uint32_t max_blocks) const noexcept;

  /// The latest match ended at the node since no child of it had the next block, and none was made
  /// since.
  bool still_misses(NodeId id) const noexcept { return missed_.under == id; }

  /// One more, or one fewer, path ends at the node. Dropping parks what nobody holds, tail first.
  void hold(NodeId id) noexcept {
    for (Node* node = &store_.node(id); node->kind != NodeKind::Root; node = &store_.node(id)) {
      if (node->holders++ > 0) {
        return;  // Its parents are held already.
      }
      if (node->parked) {
        parking_.unpark(store_, *node);
        if (order_ != nullptr) {
          order_->unparked(id);
        }
      }
      id = node->parent;
    }
  }
  void drop(NodeId id) noexcept {
    for (Node* node = &store_.node(id); node->kind != NodeKind::Root; node = &store_.node(id)) {
      if (--node->holders > 0) {
        return;
      }
      parking_.park(store_, *node, id);
      if (order_ != nullptr) {
        order_->parked(id);
        tell_if_bare(id);
      }
      id = node->parent;
    }
  }

  /// hold and drop in one, for LRU: what is parked of the path becomes the most recently parked,
  /// tail first. Returns how many blocks that are. REQUIRES: order() is null.
  std::int64_t touch(NodeId id) noexcept {
    std::int64_t blocks = 0;
    for (Node* node = &store_.node(id); node->kind != NodeKind::Root && node->holders == 0;
         node = &store_.node(id)) {
      parking_.renew(store_, *node, id);
      blocks += node->size;
      id = node->parent;
    }
    return blocks;
  }

  /// The node that ends `keep` blocks from the root on the path to `id`, whose end is `end` blocks
  /// from the root; cuts a run if need be.
  NodeId ancestor(NodeId id, std::uint32_t end, std::uint32_t keep) noexcept;

  /// Seals blocks under the end of `under`, which the caller's path holds; the path then ends at
  /// the result instead. When `under` is `own`, a run that this path alone made and holds and under
  /// which nothing else stands, it grows; else a new run is made. `depth` blocks stand before them,
  /// and `slot` seals them. REQUIRES: the latest match ended at `under`, missing the first block.
  NodeId seal(int slot,
              std::int32_t depth,
              NodeId under,
              NodeId own,
              const std::int32_t* tokens,
              const BlockId* cells,
              std::uint32_t count) noexcept;

  // --- Partial keys ---

  /// The longest key under `parent` of at most `limit` tokens that `tokens` begin with; or nullptr.
  const Key* longest_key(NodeId parent,
                         const std::int32_t* tokens,
                         std::int64_t limit) const noexcept {
    const KeyListId list = store_.node(parent).keys;
    return list == 0 ? nullptr : longest_key_in(store_.keys(list), tokens, limit);
  }

  /// What naming a key did to the leaf of the key that it displaced, if that one died.
  struct Displaced {
    bool any = false;
    BlockId freed = kNoBlock;  ///< Its parked block, to be returned to the pool.
    std::int32_t slot = -1;    ///< The slot that holds it as a plain private block from now on.
  };
  /// Names `key` the latest under `parent`. A key with the same tokens stays and moves to the end.
  /// For a block that is not sealed (`leaf_slot` >= 0: the slot that holds it) the key's leaf is
  /// made when it has none. `leaf` receives the block's leaf as it is afterwards.
  Displaced name_key(NodeId parent, Key key, std::int32_t leaf_slot, NodeId& leaf) noexcept;

  /// Whether a slot may go on writing behind the key in its very block: nobody holds the block and
  /// no longer key names it.
  bool can_take_over(NodeId parent, const Key& key) const noexcept;
  /// The longest key that names the leaf's block, in tokens.
  std::int32_t leaf_key_length(NodeId leaf) const noexcept;
  std::int32_t longest_length(NodeId parent, BlockId block) const noexcept;

  void take_over_leaf(NodeId leaf, std::int32_t slot) noexcept;  ///< Parked: now held by the slot.
  void park_leaf(NodeId leaf) noexcept;                          ///< Held: now parked.
  void forget_leaf(NodeId leaf) noexcept;      ///< Held: its keys go, its node too.
  void leaf_was_sealed(NodeId leaf) noexcept;  ///< Held: its keys now name a sealed block.

  // --- Eviction ---

  std::int64_t parked_blocks() const noexcept { return parking_.blocks(); }

  /// Who leaves first, under a policy other than LRU; nullptr: the least recently parked.
  EvictionOrder* order() noexcept { return order_.get(); }
  const EvictionOrder* order() const noexcept { return order_.get(); }
  void acting(int slot) noexcept {
    if (order_ != nullptr) {
      order_->acting(slot);
    }
  }

  /// Evicts `count` blocks in the policy's order into `out`, but never `spare`. Returns how many
  /// there were.
  std::int64_t evict(std::int64_t count, BlockId* out, BlockId spare = kNoBlock) noexcept;

  void reset() noexcept;

  /// Checks the tree's invariants; raises Internal. `slots_at[id]`: the slots whose path ends at
  /// the node, who hold it as their leaf, or who were given it as their generation.
  /// No block from `blocks_used` on was ever used.
  void audit(const std::vector<std::int64_t>& slots_at, std::int64_t blocks_used) const;
  std::uint64_t digest(std::int64_t blocks_used) const;

  const TokenStore& tokens() const noexcept { return tokens_; }
  TokenStore& tokens() noexcept { return tokens_; }
  const RunStore& store() const noexcept { return store_; }

 private:
  // What the latest match looked for in vain.
  struct Missed {
    NodeId under;  ///< kNoNode: nothing, or it is there by now.
    bool hash_known;
    std::uint64_t hash;  ///< Of the missing block.
  };

  NodeId latest_root(std::uint64_t namespace_id) const noexcept;
  NodeId find_or_make_root(std::uint64_t namespace_id) noexcept;
  [[gnu::always_inline]] std::uint64_t chain(std::uint64_t parent_hash,
                                             const std::int32_t* tokens) const noexcept {
    return block_hash_ == nullptr ? chain_hash(parent_hash, tokens, block_size_)
                                  : block_hash_(parent_hash, {tokens, block_size_});
  }
  // Computed when somebody first branches off the run's end, and kept until the tail is evicted.
  std::uint64_t end_hash(NodeId id) noexcept {
    Node& node = store_.node(id);
    if (!node.end_hash_known) {
      node.end_hash = hash_at(node, node.size);
      node.end_hash_known = true;
    }
    return node.end_hash;
  }
  std::uint64_t hash_at(const Node& run, std::uint32_t blocks) const noexcept;
  NodeId find_child(NodeId parent, std::uint64_t hash, const std::int32_t* tokens) const noexcept {
    return index_.find(hash, [this, parent, tokens](NodeId id) {
      const Node& node = store_.node(id);
      return node.parent == parent && node.kind == NodeKind::Run &&
             tokens_.block_equals(node.head, tokens);
    });
  }
  template <typename Keep>
  std::uint32_t walk(const Node& run,
                     const std::int32_t* tokens,
                     std::uint32_t max_blocks,
                     Keep keep) const noexcept;
  template <typename Keep>
  std::uint32_t walk_behind_head(const Node& run,
                                 const std::int32_t* tokens,
                                 std::uint32_t limit,
                                 Keep keep) const noexcept;
  bool match_branches(Match& match,
                      const std::int32_t* tokens,
                      std::uint32_t max_blocks,
                      BlockId* cells) noexcept;
  NodeId append_or_make(NodeId under,
                        NodeId own,
                        const std::int32_t* tokens,
                        const BlockId* cells,
                        std::uint32_t count) noexcept;
  NodeId cut(NodeId id, std::uint32_t count) noexcept;
  std::int64_t evict_by_order(std::int64_t count, BlockId* out, BlockId spare) noexcept;
  void remove_emptied(Node& node, NodeId id) noexcept;
  void tell_if_bare(NodeId id) noexcept {
    if (is_bare(store_.node(id))) {
      order_->bare(id);
    }
  }
  void forget_in_order(NodeId leaf) noexcept;
  const Key* longest_key_in(const KeyList& list,
                            const std::int32_t* tokens,
                            std::int64_t limit) const noexcept;
  void drop_key(NodeId parent, std::uint32_t index) noexcept;
  void drop_keys_of_block(NodeId parent, BlockId block) noexcept;
  void free_root_if_idle(NodeId id) noexcept {
    const Node& root = store_.node(id);
    if (root.root.users == 0 && root.children == 0 && root.keys == 0) {
      free_root(id);
    }
  }
  void free_root(NodeId id) noexcept;
  void audit_run(NodeId id) const;
  void audit_keys(NodeId id) const;
  void audit_parking() const;
  void report_stored(NodeId under,
                     const std::int32_t* tokens,
                     const BlockId* cells,
                     std::uint32_t count) noexcept;
  void report_removed(const BlockId* blocks, std::int64_t count) noexcept;

  std::size_t block_size_;
  BlockHash block_hash_;
  KVEventSink* events_;
  TokenStore tokens_;
  RunStore store_;
  RunIndex index_;
  ParkingList parking_;
  std::unique_ptr<EvictionOrder> order_;  ///< The parking list is kept all the same.
  std::int64_t roots_max_;
  std::int64_t roots_ = 0;
  NodeId recent_root_ = kNoNode;  ///< The last one acquired, a guess at the next.
  Missed missed_{};
  // Only with an event sink: the reported hash of every sealed block, and room for one event.
  VirtualArray<std::uint64_t> reported_hashes_;
  VirtualArray<std::uint64_t> event_hashes_;
};

}  // namespace octavo::blocks
