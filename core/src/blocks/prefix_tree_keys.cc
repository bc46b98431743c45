// Partial keys: prefixes that end inside a block.

#include <algorithm>

#include "blocks/prefix_tree.h"

namespace octavo::blocks {

const Key* PrefixTree::longest_key_in(const KeyList& list,
                                      const std::int32_t* tokens,
                                      std::int64_t limit) const noexcept {
  const Key* best = nullptr;
  for (std::uint32_t i = 0; i < list.count; ++i) {
    const Key& key = list.keys[i];
    if (key.length > limit || (best != nullptr && key.length <= best->length)) {
      continue;
    }
    if (equal_tokens(tokens_.row(key.block), tokens, at(key.length))) {
      best = &key;
    }
  }
  return best;
}

PrefixTree::Displaced PrefixTree::name_key(NodeId parent,
                                           Key key,
                                           std::int32_t leaf_slot,
                                           NodeId& leaf) noexcept {
  if (store_.node(parent).keys == 0) {
    store_.node(parent).keys = store_.take_keys();
  }
  KeyList& list = store_.keys(store_.node(parent).keys);
  for (std::uint32_t i = 0; i < list.count; ++i) {
    const Key& known = list.keys[i];
    if (known.length == key.length &&
        equal_tokens(tokens_.row(known.block), tokens_.row(key.block), at(key.length))) {
      std::rotate(list.keys + i, list.keys + i + 1, list.keys + list.count);
      return {};
    }
  }
  if (leaf_slot >= 0 && leaf == kNoNode) {
    leaf = store_.take_node(NodeKind::Leaf);
    Node& node = store_.node(leaf);
    node.parent = parent;
    node.head = key.block;
    node.size = 1;
    node.holders = 1;
    node.leaf.slot = leaf_slot;
  }
  key.leaf = leaf_slot >= 0 ? leaf : kNoNode;
  list.keys[list.count++] = key;
  if (list.count <= KeyList::kMax) {
    return {};
  }

  // The oldest key goes, and its leaf with it when no other key names it.
  Displaced displaced;
  displaced.any = true;
  const NodeId old_leaf = list.keys[0].leaf;
  drop_key(parent, 0);
  if (old_leaf == kNoNode || leaf_key_length(old_leaf) > 0) {
    return displaced;
  }
  forget_in_order(old_leaf);
  const Node& node = store_.node(old_leaf);
  if (node.parked) {
    displaced.freed = node.head;
    parking_.unpark(store_, store_.node(old_leaf));
  } else {
    displaced.slot = node.leaf.slot;
  }
  store_.give_node(old_leaf);
  return displaced;
}

bool PrefixTree::can_take_over(NodeId parent, const Key& key) const noexcept {
  return key.leaf != kNoNode && store_.node(key.leaf).parked &&
         longest_length(parent, key.block) == key.length;
}

std::int32_t PrefixTree::longest_length(NodeId parent, BlockId block) const noexcept {
  const KeyListId list_id = store_.node(parent).keys;
  if (list_id == 0) {
    return 0;
  }
  const KeyList& list = store_.keys(list_id);
  std::int32_t longest = 0;
  for (std::uint32_t i = 0; i < list.count; ++i) {
    if (list.keys[i].block == block) {
      longest = std::max(longest, list.keys[i].length);
    }
  }
  return longest;
}

std::int32_t PrefixTree::leaf_key_length(NodeId leaf) const noexcept {
  const Node& node = store_.node(leaf);
  return longest_length(node.parent, node.head);
}

void PrefixTree::take_over_leaf(NodeId leaf, std::int32_t slot) noexcept {
  Node& node = store_.node(leaf);
  parking_.unpark(store_, node);
  node.holders = 1;
  node.leaf.slot = slot;
  if (order_ != nullptr) {
    order_->unparked(leaf);
    order_->served_leaf(leaf);
  }
}

void PrefixTree::park_leaf(NodeId leaf) noexcept {
  Node& node = store_.node(leaf);
  node.holders = 0;
  parking_.park(store_, node, leaf);
  if (order_ != nullptr) {
    order_->parked(leaf);
    order_->bare(leaf);
  }
}

void PrefixTree::forget_in_order(NodeId leaf) noexcept {
  if (order_ != nullptr) {
    order_->forgotten(leaf);
  }
}

void PrefixTree::forget_leaf(NodeId leaf) noexcept {
  forget_in_order(leaf);
  const Node node = store_.node(leaf);
  drop_keys_of_block(node.parent, node.head);
  store_.give_node(leaf);
}

void PrefixTree::leaf_was_sealed(NodeId leaf) noexcept {
  KeyList& list = store_.keys(store_.node(store_.node(leaf).parent).keys);
  for (std::uint32_t i = 0; i < list.count; ++i) {
    if (list.keys[i].leaf == leaf) {
      list.keys[i].leaf = kNoNode;
    }
  }
  store_.give_node(leaf);
}

void PrefixTree::drop_key(NodeId parent, std::uint32_t index) noexcept {
  KeyList& list = store_.keys(store_.node(parent).keys);
  std::copy(list.keys + index + 1, list.keys + list.count, list.keys + index);
  if (--list.count > 0) {
    return;
  }
  store_.give_keys(store_.node(parent).keys);
  store_.node(parent).keys = 0;
}

void PrefixTree::drop_keys_of_block(NodeId parent, BlockId block) noexcept {
  while (store_.node(parent).keys != 0) {
    const KeyList& list = store_.keys(store_.node(parent).keys);
    std::uint32_t index = 0;
    while (index < list.count && list.keys[index].block != block) {
      ++index;
    }
    if (index == list.count) {
      return;
    }
    drop_key(parent, index);
  }
}

}  // namespace octavo::blocks
