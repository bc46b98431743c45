#include "blocks/hdq_order.h"

#include <cstring>

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
      asked_tokens_(at(config.num_blocks) * block_size_,
                    VirtualMemory::Pages::Small,
                    "the prompt asked last"),
      blocks_(at(config.num_blocks), VirtualMemory::Pages::Small, "a run's blocks"),
      bare_node_(at(config.num_blocks), VirtualMemory::Pages::Small, "the bare nodes") {}

// A root's end hash names its generation of its namespace.
void HdqOrder::asked(const PromptAsked& prompt) noexcept {
  asked_root_ = store_.node(prompt.root).end_hash;
  asked_blocks_ = prompt.blocks;
  std::memcpy(asked_tokens_.data(), prompt.tokens, prompt.blocks * block_bytes());
  name_blocks(asked_root_, prompt.tokens, prompt.blocks);
  hdq_.begin(prompt.slot, {fingerprints_.data(), prompt.blocks},
             static_cast<std::int64_t>(prompt.servable));
}

void HdqOrder::sealed(const BlocksSealed& sealed) noexcept {
  const std::uint64_t before = sealed.parent == kNoBlock
                                   ? store_.node(store_.node(sealed.node).parent).end_hash
                                   : hdq_.fingerprint_of(sealed.parent);
  auto first = at(sealed.depth);
  if (!was_asked(sealed, before)) {
    asked_blocks_ = first = 0;
    name_blocks(before, sealed.tokens, sealed.blocks.size());
  }
  hdq_.sealed(sealed.blocks, sealed.parent, {&fingerprints_[first], sealed.blocks.size()});
}

// Whether these are blocks of the prompt that was asked last, and so have their fingerprints.
bool HdqOrder::was_asked(const BlocksSealed& sealed, std::uint64_t before) const noexcept {
  const auto depth = at(sealed.depth);
  return depth + sealed.blocks.size() <= asked_blocks_ &&
         before == (depth == 0 ? asked_root_ : fingerprints_[depth - 1]) &&
         std::memcmp(sealed.tokens, &asked_tokens_[depth * block_size_],
                     sealed.blocks.size() * block_bytes()) == 0;
}

// The built-in hash whatever the config says: a caller's bad one changes no ranking (D3).
void HdqOrder::name_blocks(std::uint64_t before,
                           const std::int32_t* tokens,
                           std::size_t blocks) noexcept {
  for (std::size_t i = 0; i < blocks; ++i) {
    before = fingerprints_[i] = chain_hash(before, tokens + i * block_size_, block_size_);
  }
}

// The block that ends a node; kNoBlock for a root.
BlockId HdqOrder::end_of(NodeId id) const noexcept {
  const Node& node = store_.node(id);
  return node.kind == NodeKind::Root ? kNoBlock : store_.last_block(node);
}

// A run's blocks, the deepest first.
std::span<const BlockId> HdqOrder::blocks_of(const Node& run) noexcept {
  std::size_t count = 0;
  store_.visit_blocks_backward(run, [&](BlockId block) { blocks_[count++] = block; });
  return {blocks_.data(), count};
}

void HdqOrder::parked(NodeId id) noexcept {
  const Node& node = store_.node(id);
  if (node.kind == NodeKind::Leaf) {
    hdq_.leaf_parked(node.head, end_of(node.parent));
    return;
  }
  hdq_.parked(blocks_of(node));
}

void HdqOrder::unparked(NodeId id) noexcept {
  const Node& node = store_.node(id);
  if (node.kind == NodeKind::Leaf) {
    hdq_.leaf_left(node.head);
    return;
  }
  hdq_.held(blocks_of(node));
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
