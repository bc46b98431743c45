// A hash of everything a caller can observe, now or through later calls.
//
// Written block by block and key by key, so that it does not depend on how the prefix tree groups
// blocks into runs, nor on any hash function the index uses.

#include <cstdint>
#include <vector>

#include "blocks/block_manager_impl.h"
#include "blocks/chain_hash.h"

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

class Hasher {
 public:
  template <class Integer>
  void add(Integer value) noexcept {
    state_ = blocks::mix(static_cast<std::uint64_t>(value), state_);
  }
  void add_tokens(const std::int32_t* tokens, std::size_t count) noexcept {
    add(XXH3_64bits(tokens, count * sizeof *tokens));
  }
  std::uint64_t value() const noexcept { return state_; }

 private:
  std::uint64_t state_ = 0x0C7A'F0;
};

// What stands for the end of a node in the digest: its last block, or its namespace's generation.
std::uint64_t end_name(const blocks::RunStore& store, NodeId id) {
  const Node& node = store.node(id);
  Hasher hasher;
  if (node.kind == NodeKind::Root) {
    hasher.add(node.root.namespace_id);
    hasher.add(node.stale ? 2 : 1);
  } else {
    BlockId last = kNoBlock;
    store.visit_blocks(node, [&](BlockId block) { return last = block, true; });
    hasher.add(last);
  }
  return hasher.value();
}

}  // namespace

std::uint64_t blocks::PrefixTree::digest(std::int64_t blocks_used) const {
  // A sum over blocks and keys: the order in which nodes came to be is nobody's business.
  std::uint64_t sum = 0;
  for (NodeId id = 1; id <= store_.nodes_used(); ++id) {
    const Node& node = store_.node(id);
    if (node.kind == NodeKind::Run) {
      std::uint64_t parent = end_name(store_, node.parent);
      store_.visit_blocks(node, [&](BlockId block) {
        Hasher hasher;
        hasher.add(parent);
        hasher.add(block);
        hasher.add_tokens(tokens_.row(block), block_size_);
        sum += hasher.value();
        Hasher name;
        name.add(block);
        parent = name.value();
        return true;
      });
    }
    if ((node.kind == NodeKind::Run || node.kind == NodeKind::Root) && node.keys != 0) {
      Hasher hasher;
      hasher.add(end_name(store_, id));
      const KeyList& list = store_.keys(node.keys);
      for (std::uint32_t i = 0; i < list.count; ++i) {
        const Key& key = list.keys[i];
        hasher.add(key.block);
        hasher.add(key.length);
        hasher.add_tokens(tokens_.row(key.block), at(key.length));
      }
      sum += hasher.value();
    }
  }
  Hasher order;
  order.add(sum);
  std::vector<BlockId> run;
  for (NodeId id = parking_.oldest(); id != kNoNode; id = store_.node(id).newer) {
    run.clear();
    store_.visit_blocks(store_.node(id), [&](BlockId block) { return run.push_back(block), true; });
    for (auto block = run.rbegin(); block != run.rend(); ++block) {
      order.add(*block);
    }
  }
  if (order_ != nullptr) {
    order.add(order_->digest(blocks_used));
  }
  return order.value();
}

std::uint64_t BlockManager::Impl::digest() const {
  Hasher hasher;
  hasher.add(pool_.untouched());
  for (std::int64_t i = 0; i < pool_.freed_count(); ++i) {
    hasher.add(pool_.freed(i));
  }
  hasher.add(pool_.quarantined_count());
  for (std::int64_t i = 0; i < pool_.quarantined_count(); ++i) {
    hasher.add(pool_.quarantined(i));
  }
  hasher.add(tree_.digest(pool_.untouched()));
  for (int i = 0; i < config_.max_seqs; ++i) {
    const Slot& slot = slots_[at(i)];
    if (!slot.active && slot.root == kNoNode) {
      continue;
    }
    hasher.add(i);
    hasher.add(slot.root == kNoNode ? 0 : end_name(tree_.store(), slot.root));
    hasher.add(slot.active);
    hasher.add(slot.admitted);
    hasher.add(slot.reserved);
    hasher.add(slot.committed);
    hasher.add(slot.in_flight_end);
    hasher.add(slot.stepped);
    hasher.add(slot.released);
    hasher.add(slot.path_blocks);
    hasher.add(slot.leaf == kNoNode ? -1 : slot.leaf_cell);
    hasher.add(slot.enroll_blocks);
    const blocks::AdmittedPrompt& prompt = prompts_[i];
    hasher.add(prompt.admitted_length);
    hasher.add(prompt.admitted_shared);
    hasher.add(prompt.length);
    hasher.add_tokens(prompt.tokens, at(prompt.length));
    for (std::int32_t cell = 0; cell < slot.cells; ++cell) {
      hasher.add(row(i)[cell]);
    }
  }
  return hasher.value();
}

// --- The public face ---

std::uint64_t BlockManager::digest() const {
  return whole("digest", impl_).digest();
}

}  // namespace octavo
