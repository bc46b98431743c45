// Taking parked blocks back: strictly the least recently parked first, which is leaf first, or as
// the policy's order says.

#include "blocks/prefix_tree.h"

namespace octavo::blocks {

// The node lost its last block: its name, its keys and its place go.
inline void PrefixTree::remove_emptied(Node& node, NodeId id) noexcept {
  const NodeId parent_id = node.parent;
  Node& parent = store_.node(parent_id);
  parking_.unpark(store_, node);
  if (node.kind == NodeKind::Run) {
    index_.erase(node.head_hash, id);
    --parent.children;
  }
  if (parent.keys != 0) {
    drop_keys_of_block(parent_id, node.head);
  }
  store_.give_node(id);
  if (parent.kind == NodeKind::Root) {
    free_root_if_idle(parent_id);
  }
}

std::int64_t PrefixTree::evict(std::int64_t count, BlockId* out, BlockId spare) noexcept {
  if (order_ != nullptr) {
    return evict_by_order(count, out, spare);
  }
  std::int64_t done = 0;
  NodeId id = parking_.oldest();
  while (done < count && id != kNoNode) {
    Node& node = store_.node(id);
    const NodeId next = node.newer;
    // Of who leaves next, the record was fetched by the call before: now its index line, its
    // blocks, and the record behind it. Those numbered 0 are nobody's and fetched like any other.
    const Node& soon = store_.node(next);
    index_.prefetch(soon.head_hash);
    __builtin_prefetch(soon.inline_blocks, 1);
    store_.prefetch_chunk(soon.last_chunk);
    __builtin_prefetch(&store_.node(soon.newer), 1);
    // A run's head goes last; the spared block can only be a head, or a leaf's one block.
    const std::uint32_t takable = node.head == spare ? node.size - 1 : node.size;
    const std::int64_t wanted = std::min<std::int64_t>(count - done, takable);
    const std::uint32_t taken =
        store_.take_tail(node, static_cast<std::uint32_t>(wanted), out + done);
    if (events_ != nullptr && node.kind == NodeKind::Run) {
      report_removed(out + done, taken);
    }
    parking_.shrink(taken);
    done += taken;
    if (node.size == 0) {
      remove_emptied(node, id);
    } else if (taken > 0) {
      node.end_hash_known = false;
    }
    id = next;
  }
  return done;
}

std::int64_t PrefixTree::evict_by_order(std::int64_t count, BlockId* out, BlockId spare) noexcept {
  for (std::int64_t done = 0; done < count; ++done) {
    const NodeId id = order_->victim(spare);
    if (id == kNoNode) {
      return done;
    }
    Node& node = store_.node(id);
    out[done] = store_.take_last(node);
    if (events_ != nullptr && node.kind == NodeKind::Run) {
      report_removed(out + done, 1);
    }
    parking_.shrink(1);
    node.end_hash_known = false;
    const NodeId parent = node.parent;
    if (node.size > 0) {
      order_->bare(id);
    } else {
      const bool under_run = store_.node(parent).kind == NodeKind::Run;
      remove_emptied(node, id);
      if (under_run) {
        tell_if_bare(parent);
      }
    }
  }
  return count;
}

}  // namespace octavo::blocks
