// Who leaves next: how the prefix tree talks to an eviction policy other than LRU.
//
// LRU needs no order of its own: the parking list is one, by whole runs. A manager with another
// policy owns one EvictionOrder, which the tree tells what happens and asks for victims; without
// one, every call below is a null check at the level of a run or a request.
//
// Words. A block is *known* from when it is sealed, or as a leaf first parked, until it is evicted
// or its last key goes. A node is *bare* while it is parked and nothing hangs under its last block,
// neither a run nor a partial key; only the last block of a bare node may leave, so the tree keeps
// the two rules of every policy (only parked blocks, and leaf first) and an order only ranks.
//
// A node may be cut while it is parked or held (run.h): the back keeps its id, so whoever knows a
// bare node knows it still, and the new front is not bare. An order that ranks blocks, as
// block_order.h does, need not care how blocks are grouped.
//
// Owned by the tree. All memory is reserved at construction; everything but audit is noexcept.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "blocks/run_store.h"
#include "octavo/block_manager.h"

namespace octavo::blocks {

/// A prompt is about to look for its cached prefix.
struct PromptAsked {
  int slot;
  NodeId root;                 ///< The generation of its namespace.
  const std::int32_t* tokens;  ///< Of the blocks that it may share: blocks * block_size.
  std::size_t blocks;
  std::size_t servable;  ///< The first so many may be served; fewer when that is the whole prompt.
};

/// A prompt was admitted and its cached whole blocks are held; nothing was evicted for it yet.
struct PromptAdmitted {
  int slot;
  std::span<const BlockId> served;  ///< From the root on. A partial key's block is not among them.
  std::int64_t prompt_tokens;
};

/// Blocks became servable at the end of a path that `slot` holds.
struct BlocksSealed {
  int slot;
  NodeId node;                      ///< Ends with them.
  std::int64_t depth;               ///< Blocks before them on the path.
  BlockId parent;                   ///< The one right before them; kNoBlock when depth is 0,
  std::uint64_t namespace_id;       ///< and then this is the path's namespace.
  std::span<const BlockId> blocks;  ///< In order. The first may be known, as a leaf.
  const std::int32_t* tokens;       ///< Of all of them: blocks.size() * block_size.
};

class EvictionOrder {
 public:
  EvictionOrder() = default;
  virtual ~EvictionOrder() = default;
  EvictionOrder(const EvictionOrder&) = delete;
  EvictionOrder& operator=(const EvictionOrder&) = delete;

  // --- Requests, in the order of a session's life ---

  virtual void asked(const PromptAsked& /*prompt*/) noexcept {}
  virtual void admitted(const PromptAdmitted& /*prompt*/) noexcept {}
  /// What is sealed, parked or forgotten next is this slot's doing.
  virtual void acting(int /*slot*/) noexcept {}
  /// The session retires with this many tokens behind its prompt (all of them without one). Its
  /// blocks are sealed and parked after this.
  virtual void retiring(int /*slot*/, std::int64_t /*output_tokens*/) noexcept {}
  /// The caller says that the session generates so many, whatever its history says.
  virtual void noted_output(int /*slot*/, std::int64_t /*output_tokens*/) noexcept {}
  /// The slot is free (retired, evicted or abandoned); its blocks are parked by now.
  virtual void ended(int /*slot*/) noexcept {}

  /// So many blocks of the pool are neither free nor parked, after a verb changed that.
  virtual void levels(std::int64_t /*bound_blocks*/) noexcept {}

  // --- Blocks ---

  virtual void sealed(const BlocksSealed& blocks) noexcept = 0;
  /// An admit goes on in the leaf's very block; it is held now.
  virtual void served_leaf(NodeId leaf) noexcept = 0;
  /// The node's blocks have no holder left, or have one again. Within one release nodes are parked
  /// from the tail on; a node's blocks are meant to be taken from the tail on, too.
  virtual void parked(NodeId node) noexcept = 0;
  virtual void unparked(NodeId node) noexcept = 0;
  /// The node is bare: it was parked so, what hung under it left, or its last block did and there
  /// is another. (It is bare no more when it is unparked or its last block leaves.)
  virtual void bare(NodeId node) noexcept = 0;
  /// `back` lost its front to the new node `front`. No block changed its state.
  virtual void cut(NodeId /*front*/, NodeId /*back*/) noexcept {}
  /// The leaf's last key went, or it lies in quarantine: its block has no name any more.
  virtual void forgotten(NodeId leaf) noexcept = 0;

  // --- Eviction ---

  /// Chooses the bare node whose last block leaves next, but not the block `spare`, and lets the
  /// block go from its own records. The tree takes it, and says what is bare then. kNoNode when
  /// nothing but `spare` may leave.
  virtual NodeId victim(BlockId spare) noexcept = 0;

  virtual void reset() noexcept = 0;

  // --- Retention (EvictionPolicy::Priority only) ---

  virtual void set_retention(int /*slot*/, int /*priority*/, std::int64_t /*ttl_ticks*/) noexcept {}
  virtual void advance_clock(std::int64_t /*now_ticks*/) noexcept {}
  virtual std::int64_t now_ticks() const noexcept { return 0; }

  /// Checks the order's own structures against the tree's records; raises Internal. No block from
  /// `blocks_used` on was ever used.
  virtual void audit(std::int64_t blocks_used) const = 0;
  /// A hash of everything that decides who leaves when, whatever the grouping of blocks into runs.
  virtual std::uint64_t digest(std::int64_t blocks_used) const = 0;
};

/// Parked, and nothing hangs under its last block. Without children, keys only name leaves.
inline bool is_bare(const Node& node) noexcept {
  return node.parked && node.children == 0 && node.keys == 0;
}

/// The order of `config.policy`; nullptr for Lru. `store` must outlive it. Raises ResourceExhausted
/// without address space.
std::unique_ptr<EvictionOrder> make_eviction_order(const BlockManagerConfig& config,
                                                   const RunStore& store);

}  // namespace octavo::blocks
