#include "blocks/prefix_tree.h"

#include <algorithm>
#include <utility>

namespace octavo::blocks {

namespace {

// A generation is in memory while a slot was given it or a block hangs under it; set_namespace
// takes the new one before it lets go of the old. Node ids end the count first in pools of about
// 2^31 blocks.
std::int64_t roots_at_most(const BlockManagerConfig& config) {
  return std::min(config.num_blocks + config.max_seqs + 1,
                  (std::int64_t{1} << 32) - 2 - config.num_blocks);
}

}  // namespace

PrefixTree::PrefixTree(const BlockManagerConfig& config, std::int64_t blocks_max)
    : block_size_(at(config.block_size)),
      block_hash_(config.block_hash),
      events_(config.events),
      tokens_(config.num_blocks, config.block_size),
      store_(config.num_blocks, roots_at_most(config)),
      index_(config.num_blocks + config.max_seqs),
      order_(make_eviction_order(config, store_)),
      roots_max_(roots_at_most(config)) {
  if (events_ != nullptr) {
    reported_hashes_ = VirtualArray<std::uint64_t>(
        at(config.num_blocks), VirtualMemory::Pages::Small, "the reported hashes");
    event_hashes_ = VirtualArray<std::uint64_t>(at(blocks_max), VirtualMemory::Pages::Small,
                                                "the hashes of an event");
  }
}

// --- Hashes ---

std::uint64_t PrefixTree::hash_at(const Node& run, std::uint32_t blocks) const noexcept {
  std::uint64_t hash = run.head_hash;
  std::uint32_t done = 0;
  store_.visit_blocks(run, [&](BlockId block) {
    if (done > 0) {
      hash = chain(hash, tokens_.row(block));
    }
    return ++done < blocks;
  });
  return hash;
}

// --- Namespaces ---

namespace {

std::uint64_t root_index_hash(std::uint64_t namespace_id) noexcept {
  return mix(namespace_id, 0x6F637461766F2E72ULL);
}

}  // namespace

// The index knows the latest generation of a namespace that is still in memory, current or stale;
// the earlier ones hang off it in a list.
NodeId PrefixTree::latest_root(std::uint64_t namespace_id) const noexcept {
  return index_.find(root_index_hash(namespace_id), [&](NodeId id) {
    const Node& node = store_.node(id);
    return node.kind == NodeKind::Root && node.root.namespace_id == namespace_id;
  });
}

NodeId PrefixTree::find_or_make_root(std::uint64_t namespace_id) noexcept {
  const NodeId latest = latest_root(namespace_id);
  if (latest != kNoNode && !store_.node(latest).stale) {
    ++store_.node(latest).root.users;
    return recent_root_ = latest;
  }
  if (roots_ == roots_max_) {
    return kNoNode;
  }
  ++roots_;
  const NodeId id = store_.take_node(NodeKind::Root);
  Node& root = store_.node(id);
  root.head = kNoBlock;
  root.root = {namespace_id, 1, 0, kNoNode, kNoNode};
  if (latest == kNoNode) {
    index_.insert(root_index_hash(namespace_id), id);
  } else {
    // Reported hashes must not repeat while blocks of an earlier generation can still be removed.
    root.root.generation = store_.node(latest).root.generation + 1;
    root.root.earlier = latest;
    store_.node(latest).root.later = id;
    index_.replace(root_index_hash(namespace_id), latest, id);
  }
  root.end_hash = mix(namespace_id, root.root.generation);
  root.end_hash_known = true;
  return recent_root_ = id;
}

void PrefixTree::invalidate(std::uint64_t namespace_id) noexcept {
  const NodeId latest = latest_root(namespace_id);
  // No generation in memory: nothing is cached under it and nobody was given it.
  if (latest != kNoNode) {
    store_.node(latest).stale = true;
  }
}

void PrefixTree::free_root(NodeId id) noexcept {
  const Node& root = store_.node(id);
  const NodeId earlier = root.root.earlier;
  const NodeId later = root.root.later;
  const std::uint64_t hash = root_index_hash(root.root.namespace_id);
  if (earlier != kNoNode) {
    store_.node(earlier).root.later = later;
  }
  if (later != kNoNode) {
    store_.node(later).root.earlier = earlier;
  } else if (earlier != kNoNode) {
    index_.replace(hash, id, earlier);
  } else {
    index_.erase(hash, id);
  }
  --roots_;
  store_.give_node(id);
}

// --- Shape ---

// The back part keeps the id, so that children, keys, holders and the slot that grows the run stay
// right; the front part is new.
NodeId PrefixTree::cut(NodeId id, std::uint32_t count) noexcept {
  const std::uint64_t front_end_hash = hash_at(store_.node(id), count);
  const NodeId front_id = store_.take_node(NodeKind::Run);
  Node& front = store_.node(front_id);
  Node& back = store_.node(id);
  store_.cut(back, count, front);

  front.parent = back.parent;
  front.children = 1;
  front.holders = back.holders > 0 ? 1 : 0;
  front.head_hash = back.head_hash;
  front.end_hash = front_end_hash;
  front.end_hash_known = true;
  index_.replace(front.head_hash, id, front_id);
  if (back.parked) {
    parking_.insert_behind(store_, id, front_id);
  }

  back.parent = front_id;
  back.head_hash = chain(front_end_hash, tokens_.row(back.head));
  index_.insert(back.head_hash, id);
  if (order_ != nullptr) {
    order_->cut(front_id, id);
  }
  return front_id;
}

NodeId PrefixTree::ancestor(NodeId id, std::uint32_t end, std::uint32_t keep) noexcept {
  while (end > keep) {
    const Node& node = store_.node(id);
    const std::uint32_t begin = end - node.size;
    if (begin < keep) {
      return cut(id, keep - begin);
    }
    id = node.parent;
    end = begin;
  }
  return id;
}

inline NodeId PrefixTree::append_or_make(NodeId under,
                                         NodeId own,
                                         const std::int32_t* tokens,
                                         const BlockId* cells,
                                         std::uint32_t count) noexcept {
  const Missed missed = std::exchange(missed_, {});
  Node& parent = store_.node(under);
  if (under == own && parent.holders == 1 && parent.children == 0 && parent.keys == 0) {
    parent.end_hash_known = false;
    store_.append(parent, cells, count);
    return under;
  }
  const std::uint64_t head_hash = missed.hash_known ? missed.hash : chain(end_hash(under), tokens);
  const NodeId id = store_.take_node(NodeKind::Run);
  Node& run = store_.node(id);
  run.parent = under;
  run.holders = 1;  // The path's hold on `under` has become this child's.
  run.head_hash = head_hash;
  if (count == 1) {
    run.end_hash = head_hash;
    run.end_hash_known = true;
  }
  store_.append(run, cells, count);
  ++parent.children;
  index_.insert(head_hash, id);
  return id;
}

NodeId PrefixTree::seal(int slot,
                        std::int32_t depth,
                        NodeId under,
                        NodeId own,
                        const std::int32_t* tokens,
                        const BlockId* cells,
                        std::uint32_t count) noexcept {
  tokens_.write_blocks(cells, count, tokens);
  if (events_ != nullptr) {
    report_stored(under, tokens, cells, count);
  }
  if (order_ == nullptr) {
    return append_or_make(under, own, tokens, cells, count);
  }
  const Node& parent = store_.node(under);
  BlocksSealed sealed{};
  sealed.slot = slot;
  sealed.depth = depth;
  if (parent.kind == NodeKind::Root) {
    sealed.parent = kNoBlock;
    sealed.namespace_id = parent.root.namespace_id;
  } else {
    sealed.parent = store_.last_block(parent);
  }
  sealed.blocks = {cells, count};
  sealed.tokens = tokens;
  sealed.node = append_or_make(under, own, tokens, cells, count);
  order_->sealed(sealed);
  return sealed.node;
}

void PrefixTree::reset() noexcept {
  const bool anything = store_.nodes_used() > 0;
  store_.clear();
  index_.clear();
  parking_.clear();
  missed_ = {};
  if (order_ != nullptr) {
    order_->reset();
  }
  roots_ = 0;
  if (events_ != nullptr && anything) {
    events_->on_all_blocks_cleared();
  }
}

// --- Events ---

void PrefixTree::report_stored(NodeId under,
                               const std::int32_t* tokens,
                               const BlockId* cells,
                               std::uint32_t count) noexcept {
  const std::uint64_t parent_hash = end_hash(under);
  std::uint64_t hash = parent_hash;
  for (std::uint32_t i = 0; i < count; ++i) {
    hash = chain(hash, tokens + i * block_size_);
    event_hashes_[i] = hash;
    reported_hashes_[at(cells[i])] = hash;
  }
  NodeId root = under;
  while (store_.node(root).kind != NodeKind::Root) {
    root = store_.node(root).parent;
  }
  BlockStored event;
  event.block_hashes = {event_hashes_.data(), count};
  if (under != root) {
    event.parent_block_hash = parent_hash;
  }
  event.token_ids = {tokens, count * block_size_};
  event.block_size = static_cast<int>(block_size_);
  event.namespace_id = store_.node(root).root.namespace_id;
  events_->on_block_stored(event);
}

void PrefixTree::report_removed(const BlockId* blocks, std::int64_t count) noexcept {
  constexpr std::int64_t kBatch = 64;
  std::uint64_t hashes[kBatch];
  for (std::int64_t done = 0; done < count;) {
    const std::int64_t batch = std::min(kBatch, count - done);
    for (std::int64_t i = 0; i < batch; ++i) {
      hashes[i] = reported_hashes_[at(blocks[done + i])];
    }
    events_->on_block_removed({{hashes, at(batch)}});
    done += batch;
  }
}

}  // namespace octavo::blocks
