// A replay of whole blocks without a block manager: a map of prefixes and a list in parking order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <utility>
#include <vector>

#include "octavo/sim/replay.h"

namespace octavo::sim {

/// One pool. A node is a prefix of whole engine blocks; a parked node waits in `parked`, the least
/// recently parked first; a held node has holders. Blocks that no node stands for are counted only.
class NaiveReplay {
 public:
  NaiveReplay(std::int64_t blocks, std::int64_t block_size, int live)
      : block_size_(block_size), live_(static_cast<std::size_t>(live)), free_(blocks) {
    run_.blocks = blocks;
    run_.block_size = block_size;
  }

  void serve(const TraceRequest& request, std::int64_t trace_block) {
    const std::int64_t length = request.input_tokens;
    const std::int64_t needed = (length + block_size_ - 1) / block_size_;
    if (needed > run_.blocks) {
      ++run_.rejected_requests;
      return;
    }
    ++run_.requests;
    run_.prompt_tokens += length;
    if (held_.size() == live_) {
      retire_oldest();
    }

    Held held;
    std::int64_t parent = kRoot;
    std::int64_t position = 0;
    while ((position + 1) * block_size_ < length) {  // A prompt is never served whole.
      const auto child = children_.find({parent, content(request, trace_block, position)});
      if (child == children_.end()) {
        break;
      }
      parent = child->second;
      hold(parent);
      held.path.push_back(parent);
      ++position;
    }
    run_.hit_tokens += position * block_size_;
    while (free_ + static_cast<std::int64_t>(parked_.size()) < needed - position) {
      retire_oldest();
    }
    for (std::int64_t i = position; i < needed; ++i) {
      take();
    }
    for (; (position + 1) * block_size_ <= length; ++position) {
      const auto key = std::make_pair(parent, content(request, trace_block, position));
      const auto child = children_.find(key);
      if (child != children_.end()) {  // Somebody has it: the own block goes back.
        ++free_;
        parent = child->second;
        hold(parent);
      } else {
        parent = next_node_++;
        children_[key] = parent;
        nodes_[parent] = {key, 1};
      }
      held.path.push_back(parent);
    }
    held.private_blocks = length % block_size_ != 0 ? 1 : 0;
    held_.push_back(held);
  }

  ReplayRun finish() {
    while (!held_.empty()) {
      retire_oldest();
    }
    return run_;
  }

 private:
  static constexpr std::int64_t kRoot = 0;
  // Ids and places in them that make up an engine block.
  using Content = std::vector<std::pair<std::uint64_t, std::int64_t>>;
  using Key = std::pair<std::int64_t, Content>;
  struct Node {
    Key key;
    std::int64_t holders = 0;
  };
  struct Held {
    std::vector<std::int64_t> path;
    std::int64_t private_blocks = 0;
  };

  Content content(const TraceRequest& request,
                  std::int64_t trace_block,
                  std::int64_t position) const {
    Content content;
    for (std::int64_t token = position * block_size_; token < (position + 1) * block_size_;
         ++token) {
      content.emplace_back(request.block_ids[static_cast<std::size_t>(token / trace_block)],
                           token % trace_block);
    }
    return content;
  }

  void hold(std::int64_t node) {
    if (nodes_[node].holders++ == 0) {
      parked_.remove(node);
    }
  }

  void take() {
    if (free_ > 0) {
      --free_;
      return;
    }
    const std::int64_t node = parked_.front();
    parked_.pop_front();
    children_.erase(nodes_[node].key);
    nodes_.erase(node);
    ++run_.evicted_blocks;
  }

  void retire_oldest() {
    const Held held = held_.front();
    held_.pop_front();
    free_ += held.private_blocks;
    for (auto node = held.path.rbegin(); node != held.path.rend(); ++node) {
      if (--nodes_[*node].holders == 0) {
        parked_.push_back(*node);
      }
    }
  }

  ReplayRun run_;
  std::int64_t block_size_;
  std::size_t live_;
  std::int64_t free_;
  std::int64_t next_node_ = kRoot + 1;
  std::map<Key, std::int64_t> children_;
  std::map<std::int64_t, Node> nodes_;
  std::list<std::int64_t> parked_;
  std::deque<Held> held_;
};

}  // namespace octavo::sim
