#include "blocks/hdq_order.h"

#include "octavo/error.h"

namespace octavo::blocks {

// A path has no more blocks than the pool.
HdqOrder::HdqOrder(const BlockManagerConfig& config, const RunStore& store)
    : store_(store),
      block_size_(at(config.block_size)),
      hdq_(config.num_blocks,
           config.max_seqs,
           config.policy_block_tokens > 0 ? config.policy_block_tokens : config.block_size),
      fingerprints_(at(config.num_blocks), VirtualMemory::Pages::Small, "a prompt's fingerprints"),
      bare_node_(at(config.num_blocks), VirtualMemory::Pages::Small, "the bare nodes") {}

// A root's end hash names its generation of its namespace.
void HdqOrder::asked(const PromptAsked& prompt) noexcept {
  std::uint64_t parent = store_.node(prompt.root).end_hash;
  for (std::size_t i = 0; i < prompt.blocks; ++i) {
    parent = fingerprints_[i] = fingerprint(parent, prompt.tokens + i * block_size_);
  }
  hdq_.begin(prompt.slot, {fingerprints_.data(), prompt.blocks},
             static_cast<std::int64_t>(prompt.servable));
}

void HdqOrder::sealed(const BlocksSealed& sealed) noexcept {
  BlockId parent = sealed.parent;
  std::uint64_t name = parent == kNoBlock ? store_.node(store_.node(sealed.node).parent).end_hash
                                          : hdq_.fingerprint_of(parent);
  for (std::size_t i = 0; i < sealed.blocks.size(); ++i) {
    name = fingerprints_[i] = fingerprint(name, sealed.tokens + i * block_size_);
    hdq_.known().prefetch_line(name);
  }
  for (std::size_t i = 0; i < sealed.blocks.size(); ++i) {
    hdq_.sealed(sealed.blocks[i], parent, fingerprints_[i]);
    parent = sealed.blocks[i];
  }
}

// The block that ends a node; kNoBlock for a root.
BlockId HdqOrder::end_of(NodeId id) const noexcept {
  const Node& node = store_.node(id);
  return node.kind == NodeKind::Root ? kNoBlock : store_.last_block(node);
}

void HdqOrder::parked(NodeId id) noexcept {
  const Node& node = store_.node(id);
  if (node.kind == NodeKind::Leaf) {
    hdq_.leaf_parked(node.head, end_of(node.parent));
    return;
  }
  store_.visit_blocks_backward(node, [&](BlockId block) { hdq_.parked(block); });
}

void HdqOrder::unparked(NodeId id) noexcept {
  const Node& node = store_.node(id);
  if (node.kind == NodeKind::Leaf) {
    hdq_.leaf_left(node.head);
    return;
  }
  store_.visit_blocks_backward(node, [&](BlockId block) { hdq_.held(block); });
}

void HdqOrder::bare(NodeId id) noexcept {
  bare_node_[at(store_.last_block(store_.node(id)))] = id;
}

void HdqOrder::forgotten(NodeId leaf) noexcept {
  if (store_.node(leaf).parked) {
    hdq_.leaf_left(store_.node(leaf).head);
  }
}

NodeId HdqOrder::victim(BlockId spare) noexcept {
  const BlockId block = hdq_.evict(spare);
  return block == kNoBlock ? kNoNode : bare_node_[at(block)];
}

// What the tree parks is what the policy may give up, and a bare block is one that carries none.
void HdqOrder::audit(std::int64_t /*blocks_used*/) const {
  hdq_.audit();
  std::int64_t parked = 0;
  for (NodeId id = 1; id <= store_.nodes_used(); ++id) {
    const Node& node = store_.node(id);
    if (node.kind != NodeKind::Run && !(node.kind == NodeKind::Leaf && node.parked)) {
      continue;
    }
    const BlockId end = store_.last_block(node);
    store_.visit_blocks(node, [&](BlockId block) {
      if (hdq_.is_parked(block) != node.parked) {
        throw Error(ErrorCode::Internal,
                    "E-H1: block " + std::to_string(block) +
                        (node.parked ? " is parked and in no group" : " is held and in a group"));
      }
      parked += node.parked ? 1 : 0;
      return true;
    });
    const bool carries = hdq_.carries_blocks(end);
    if (node.parked && (is_bare(node) == carries || (!carries && bare_node_[at(end)] != id))) {
      throw Error(ErrorCode::Internal,
                  "E-H2: block " + std::to_string(end) +
                      (carries ? " is bare and carries a block"
                               : " carries no block and is not known as bare"));
    }
  }
  if (parked != hdq_.parked_blocks()) {
    throw Error(ErrorCode::Internal, "E-H1: " + std::to_string(hdq_.parked_blocks()) +
                                         " blocks are in groups, " + std::to_string(parked) +
                                         " are parked");
  }
}

}  // namespace octavo::blocks
