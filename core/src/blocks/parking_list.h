// The parked nodes in the order they were parked: who is evicted next.
//
// Within one release the tail is parked first, and a parked node never has a held descendant, so
// strict order of parking evicts leaves before their parents by itself.
#pragma once

#include <utility>

#include "base/relaxed_counter.h"
#include "blocks/run_store.h"

namespace octavo::blocks {

class ParkingList {
 public:
  NodeId oldest() const noexcept { return oldest_; }
  std::int64_t blocks() const noexcept { return blocks_.get(); }

  /// Parks the node as the most recent.
  void park(RunStore& store, Node& node, NodeId id) noexcept {
    node.parked = true;
    node.older = newest_;
    node.newer = kNoNode;
    (newest_ != kNoNode ? store.node(newest_).newer : oldest_) = id;
    newest_ = id;
    blocks_.add(node.size);
  }

  /// Lists `id` right behind the parked `before`, from which it was cut: no block changes state.
  void insert_behind(RunStore& store, NodeId before, NodeId id) noexcept {
    Node& node = store.node(id);
    node.parked = true;
    node.older = before;
    node.newer = std::exchange(store.node(before).newer, id);
    (node.newer != kNoNode ? store.node(node.newer).older : newest_) = id;
  }

  /// Takes the node off the list with all of its blocks.
  void unpark(RunStore& store, Node& node) noexcept {
    node.parked = false;
    (node.older != kNoNode ? store.node(node.older).newer : oldest_) = node.newer;
    (node.newer != kNoNode ? store.node(node.newer).older : newest_) = node.older;
    node.older = node.newer = kNoNode;
    blocks_.add(-static_cast<std::int64_t>(node.size));
  }

  /// Makes a listed node the most recent.
  void renew(RunStore& store, Node& node, NodeId id) noexcept {
    if (id == newest_) {
      return;
    }
    (node.older != kNoNode ? store.node(node.older).newer : oldest_) = node.newer;
    store.node(node.newer).older = node.older;
    node.older = newest_;
    node.newer = kNoNode;
    store.node(newest_).newer = id;
    newest_ = id;
  }

  /// `count` blocks of a listed node left it.
  void shrink(std::int64_t count) noexcept { blocks_.add(-count); }

  void clear() noexcept {
    oldest_ = newest_ = kNoNode;
    blocks_.set(0);
  }

 private:
  NodeId oldest_ = kNoNode;
  NodeId newest_ = kNoNode;
  RelaxedCounter blocks_;
};

}  // namespace octavo::blocks
