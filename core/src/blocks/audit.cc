// The invariants of core/INVARIANTS.md, recomputed from scratch.

#include <cstdint>
#include <string>
#include <vector>

#include "blocks/block_manager_impl.h"
#include "octavo/error.h"

namespace octavo {

using blocks::at;
using blocks::BlockId;
using blocks::Key;
using blocks::kNoBlock;
using blocks::kNoNode;
using blocks::Node;
using blocks::NodeId;
using blocks::NodeKind;
using blocks::Slot;

namespace {

// A number to report next to what is broken.
struct Subject {
  const char* what;
  std::int64_t id;
};

void require(bool holds, const char* invariant, Subject subject) {
  if (holds) {
    return;
  }
  throw Error(ErrorCode::Internal, std::string("audit: ") + invariant + " (" + subject.what + " " +
                                       std::to_string(subject.id) + ")");
}

// Which place claims each block that was ever in use; every block must have exactly one.
class Claims {
 public:
  explicit Claims(std::int64_t blocks) : claimed_(at(blocks)) {}
  void claim(BlockId block) {
    require(block >= 0 && at(block) < claimed_.size(), "I-1: a block id is out of range",
            {"block", block});
    require(!claimed_[at(block)], "I-1: a block is in two places", {"block", block});
    claimed_[at(block)] = true;
    ++count_;
  }
  void require_all() const {
    require(at(count_) == claimed_.size(), "I-1: a block is nowhere",
            {"blocks in use", static_cast<std::int64_t>(claimed_.size())});
  }

 private:
  std::vector<bool> claimed_;
  std::int64_t count_ = 0;
};

}  // namespace

void blocks::PrefixTree::audit(const std::vector<std::int64_t>& slots_at,
                               std::int64_t blocks_used) const {
  std::vector<std::int64_t> holders(slots_at);
  std::vector<std::uint32_t> children(slots_at.size());
  for (NodeId id = 1; id <= store_.nodes_used(); ++id) {
    const Node& node = store_.node(id);
    if (node.kind != NodeKind::Run) {
      continue;
    }
    ++children[node.parent];
    if (node.holders > 0 && store_.node(node.parent).kind == NodeKind::Run) {
      ++holders[node.parent];
    }
  }
  std::int64_t roots = 0;
  for (NodeId id = 1; id <= store_.nodes_used(); ++id) {
    const Node& node = store_.node(id);
    switch (node.kind) {
      case NodeKind::Nobody:
        break;
      case NodeKind::Root:
        ++roots;
        require(node.root.users == slots_at[id], "I-9: a generation's users are miscounted",
                {"node", id});
        require(node.root.users > 0 || node.children > 0 || node.keys != 0,
                "I-9: an idle generation was kept", {"node", id});
        require(node.root.later != kNoNode ? node.stale : latest_root(node.root.namespace_id) == id,
                "I-9: a generation cannot be found, or an earlier one is current", {"node", id});
        require(node.children == children[id], "I-3: children are miscounted", {"node", id});
        audit_keys(id);
        break;
      case NodeKind::Run:
        require(node.holders == holders[id], "I-3: holders are miscounted", {"node", id});
        require(node.parked == (node.holders == 0), "I-4: parked means held by nobody",
                {"node", id});
        require(node.children == children[id], "I-3: children are miscounted", {"node", id});
        audit_run(id);
        audit_keys(id);
        break;
      case NodeKind::Leaf:
        require(node.holders == slots_at[id] && node.holders <= 1,
                "I-3: a leaf's holder is miscounted", {"node", id});
        require(node.parked == (node.holders == 0), "I-4: parked means held by nobody",
                {"node", id});
        require(node.size == 1 && leaf_key_length(id) > 0, "I-7: a leaf without a key",
                {"node", id});
        break;
    }
  }
  require(roots == roots_, "I-9: generations are miscounted", {"generations", roots});
  audit_parking();
  if (order_ != nullptr) {
    order_->audit(blocks_used);
  }
}

void blocks::PrefixTree::audit_run(NodeId id) const {
  const Node& node = store_.node(id);
  std::uint32_t size = 0;
  store_.visit_blocks(node, [&](BlockId) { return ++size, true; });
  require(size == node.size && size > 0, "I-2: a run's blocks are miscounted", {"node", id});
  const Node& parent = store_.node(node.parent);
  require(parent.kind == NodeKind::Root || parent.kind == NodeKind::Run,
          "I-2: a run hangs under nothing", {"node", id});
  const std::uint64_t parent_end =
      parent.end_hash_known ? parent.end_hash : hash_at(parent, parent.size);
  require(node.head_hash == chain(parent_end, tokens_.row(node.head)),
          "I-6: a run's hash is not that of its tokens", {"node", id});
  require(!node.end_hash_known || node.end_hash == hash_at(node, node.size),
          "I-6: a run's end hash is stale", {"node", id});
  require(find_child(node.parent, node.head_hash, tokens_.row(node.head)) == id,
          "I-5: a run cannot be found, or another stands for the same tokens", {"node", id});
}

void blocks::PrefixTree::audit_keys(NodeId id) const {
  const Node& parent = store_.node(id);
  if (parent.keys == 0) {
    return;
  }
  const KeyList& list = store_.keys(parent.keys);
  require(list.count >= 1 && list.count <= KeyList::kMax, "I-7: wrong number of keys",
          {"node", id});
  for (std::uint32_t i = 0; i < list.count; ++i) {
    const Key& key = list.keys[i];
    require(key.length > 0 && at(key.length) < block_size_, "I-7: a key's length is wrong",
            {"block", key.block});
    for (std::uint32_t j = 0; j < i; ++j) {
      require(list.keys[j].length != key.length ||
                  !equal_tokens(tokens_.row(key.block), tokens_.row(list.keys[j].block),
                                at(key.length)),
              "I-7: two keys with the same tokens", {"block", key.block});
    }
    if (key.leaf != kNoNode) {
      const Node& leaf = store_.node(key.leaf);
      require(leaf.kind == NodeKind::Leaf && leaf.parent == id && leaf.head == key.block,
              "I-7: a key names another's leaf", {"block", key.block});
    } else {
      const std::int32_t* tokens = tokens_.row(key.block);
      const std::uint64_t end =
          parent.end_hash_known ? parent.end_hash : hash_at(parent, parent.size);
      const NodeId child = find_child(id, chain(end, tokens), tokens);
      require(child != kNoNode && store_.node(child).head == key.block,
              "I-7: a key names a block that is not sealed under its parent", {"block", key.block});
    }
  }
}

void blocks::PrefixTree::audit_parking() const {
  std::vector<bool> seen(store_.nodes_used() + 1);
  std::int64_t count = 0;
  NodeId older = kNoNode;
  for (NodeId id = parking_.oldest(); id != kNoNode; id = store_.node(id).newer) {
    const Node& node = store_.node(id);
    require(node.parked && !seen[id] && node.older == older, "I-4: the parking list is broken",
            {"node", id});
    require(!seen[node.parent], "I-4: a parent is older than what hangs under it", {"node", id});
    seen[id] = true;
    count += node.size;
    older = id;
  }
  require(count == parking_.blocks(), "I-4: parked blocks are miscounted", {"blocks", count});
  for (NodeId id = 1; id <= store_.nodes_used(); ++id) {
    require(store_.node(id).parked == seen[id], "I-4: a parked node is not listed", {"node", id});
  }
}

void BlockManager::Impl::audit_slot(int index) const {
  const Slot& slot = slots_[at(index)];
  const Subject subject{"slot", index};
  const BlockId* cells = row(index);
  require(0 <= slot.committed && slot.committed <= slot.reserved &&
              slot.reserved <= std::int64_t{slot.cells} * config_.block_size &&
              slot.reserved <= row_tokens_ && slot.cells <= row_cells_,
          "I-8: a slot's lengths are out of order", subject);
  require(slot.in_flight_end >= slot.reserved || slot.committed == slot.reserved,
          "I-8: reserved positions are in flight or written", subject);
  require(slot.active || (slot.cells == 0 && slot.reserved == 0), "I-8: a fresh slot has blocks",
          subject);
  require(slot.released == 0 || (config_.window > 0 && slot.released <= slot.cells),
          "I-8: a window released too much", subject);
  for (std::int32_t i = 0; i < slot.released; ++i) {
    require(cells[i] == kNoBlock, "I-8: a released cell still names a block", subject);
  }
  // The path, from its end to the root.
  std::int32_t end = slot.path_blocks;
  for (NodeId id = slot.node; end > 0; id = tree_.store().node(id).parent) {
    const Node& node = tree_.store().node(id);
    require(node.kind == NodeKind::Run && static_cast<std::int32_t>(node.size) <= end,
            "I-2: a slot's path is broken", subject);
    end -= static_cast<std::int32_t>(node.size);
    std::int32_t cell = end;
    tree_.store().visit_blocks(node, [&](BlockId block) {
      require(cells[cell++] == block, "I-2: a cell differs from the slot's path", subject);
      return true;
    });
  }
  if (slot.leaf != kNoNode) {
    const Node& leaf = tree_.store().node(slot.leaf);
    require(leaf.kind == NodeKind::Leaf && leaf.leaf.slot == index && slot.leaf_cell < slot.cells &&
                slot.leaf_cell == slot.path_blocks && cells[slot.leaf_cell] == leaf.head,
            "I-2: a slot's leaf is not its first private block", subject);
  }
  Slot exact = slot;
  refresh_watermarks(exact);
  require(
      !slot.active || (slot.writable_from >= exact.writable_from && slot.seal_at == exact.seal_at),
      "I-8: a slot's watermarks are stale", subject);
}

void BlockManager::Impl::audit() const {
  Claims claims(pool_.untouched());
  for (std::int64_t i = 0; i < pool_.freed_count(); ++i) {
    claims.claim(pool_.freed(i));
  }
  for (std::int64_t i = 0; i < pool_.quarantined_count(); ++i) {
    claims.claim(pool_.quarantined(i));
  }
  const auto& store = tree_.store();
  for (NodeId id = 1; id <= store.nodes_used(); ++id) {
    if (store.node(id).kind == NodeKind::Nobody) {
      continue;
    }
    store.visit_blocks(store.node(id), [&](BlockId block) { return claims.claim(block), true; });
  }
  std::vector<std::int64_t> slots_at_node(store.nodes_used() + 1);
  for (int i = 0; i < config_.max_seqs; ++i) {
    const Slot& slot = slots_[at(i)];
    audit_slot(i);
    for (std::int32_t cell = std::max(slot.path_blocks, slot.released); cell < slot.cells; ++cell) {
      if (slot.leaf == kNoNode || cell != slot.leaf_cell) {
        claims.claim(row(i)[cell]);
      }
    }
    if (slot.path_blocks > 0) {
      ++slots_at_node[slot.node];
    }
    if (slot.leaf != kNoNode) {
      ++slots_at_node[slot.leaf];
    }
    if (slot.root != kNoNode) {
      ++slots_at_node[slot.root];
    }
  }
  claims.require_all();
  require(pool_.free_count() == pool_.freed_count() + pool_.num_blocks() - pool_.untouched(),
          "I-1: free blocks are miscounted", {"free blocks", pool_.free_count()});
  tree_.audit(slots_at_node, pool_.untouched());
}

// --- The public face ---

void BlockManager::audit() const {
  whole("audit", impl_).audit();
}

}  // namespace octavo
