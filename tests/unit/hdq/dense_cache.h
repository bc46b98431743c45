// A pool of blocks around the policy alone, without tokens, tree or slots: one session at a time,
// whose blocks are named by dense prefix ids (an id names its block and everything before it).
//
// Fast enough for whole traces, and small enough to be seen to be right: it checks every victim.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <vector>

#include "blocks/chain_hash.h"
#include "blocks/hdq.h"

namespace octavo::testing {

class DenseCache {
 public:
  DenseCache(std::int64_t num_blocks, std::int64_t block_tokens)
      : hdq_(num_blocks, 1, block_tokens), id_of_(static_cast<std::size_t>(num_blocks), -1) {
    for (std::int64_t block = num_blocks; block-- > 0;) {
      free_.push_back(static_cast<std::int32_t>(block));
    }
  }

  /// A session with these blocks, of which the first `servable` may be served, comes and goes.
  /// Blocks beyond the pool are not kept. Returns the blocks served.
  std::int64_t serve(std::span<const std::int32_t> ids,
                     std::int64_t servable,
                     std::int64_t output_tokens) {
    ids = ids.first(std::min(ids.size(), id_of_.size()));
    fingerprints_.clear();
    for (const std::int32_t id : ids) {
      if (static_cast<std::size_t>(id) >= block_of_.size()) {
        block_of_.resize(static_cast<std::size_t>(id) + 1, blocks::kNoBlock);
        children_.resize(block_of_.size());
      }
      fingerprints_.push_back(name(id));
    }
    hdq_.begin(0, fingerprints_, servable);
    std::size_t held = 0;
    blocks_.clear();
    while (held < ids.size() && block_of(ids[held]) != blocks::kNoBlock) {
      blocks_.push_back(block_of(ids[held++]));
    }
    hdq_.held(blocks_);
    make_room(ids.size() - held);
    hdq_.act_for(0);
    for (std::size_t i = held; i < ids.size(); ++i) {
      const std::int32_t block = free_.back();
      free_.pop_back();
      blocks_.push_back(block);
      block_of(ids[i]) = block;
      id_of_[static_cast<std::size_t>(block)] = ids[i];
      children_[static_cast<std::size_t>(i == 0 ? 0 : ids[i - 1])] += i == 0 ? 0 : 1;
      parent_of(ids[i]) = i == 0 ? -1 : ids[i - 1];
    }
    hdq_.sealed(std::span(blocks_).subspan(held), held == 0 ? blocks::kNoBlock : blocks_[held - 1],
                std::span(fingerprints_).subspan(held));
    hdq_.bound(static_cast<std::int64_t>(ids.size()));
    hdq_.generated(0, output_tokens, false);
    hdq_.act_for(0);
    std::reverse(blocks_.begin(), blocks_.end());
    hdq_.parked(blocks_);
    return std::min(static_cast<std::int64_t>(held), servable);
  }

  const blocks::Hdq& hdq() const { return hdq_; }
  blocks::Hdq& hdq() { return hdq_; }
  bool resident(std::int32_t id) const {
    return static_cast<std::size_t>(id) < block_of_.size() &&
           block_of_[static_cast<std::size_t>(id)] != blocks::kNoBlock;
  }
  /// Whether the policy remembers this path to its end.
  bool known(std::span<const std::int32_t> ids) const {
    blocks::hdq::KnownId last = 0;
    for (const std::int32_t id : ids) {
      last = hdq_.known().find(last, name(id));
      if (last == 0) {
        return false;
      }
    }
    return true;
  }
  std::size_t parked() const { return id_of_.size() - free_.size(); }

 private:
  static std::uint64_t name(std::int32_t id) {
    return blocks::mix(static_cast<std::uint64_t>(id), 1);
  }
  std::int32_t& block_of(std::int32_t id) { return block_of_[static_cast<std::size_t>(id)]; }
  std::int32_t& parent_of(std::int32_t id) {
    if (parent_.size() < block_of_.size()) {
      parent_.resize(block_of_.size(), -1);
    }
    return parent_[static_cast<std::size_t>(id)];
  }

  void make_room(std::size_t count) {
    while (free_.size() < count) {
      const std::int32_t block = hdq_.evict(blocks::kNoBlock);
      const std::int32_t id = block < 0 ? -1 : id_of_[static_cast<std::size_t>(block)];
      if (id < 0 || children_[static_cast<std::size_t>(id)] != 0) {
        throw std::logic_error("the victim carries another block, or is none");
      }
      id_of_[static_cast<std::size_t>(block)] = -1;
      block_of(id) = blocks::kNoBlock;
      free_.push_back(block);
      if (parent_of(id) >= 0) {
        --children_[static_cast<std::size_t>(parent_of(id))];
      }
    }
  }

  blocks::Hdq hdq_;
  std::vector<std::int32_t> free_;
  std::vector<std::int32_t> id_of_;     ///< By block; -1: free.
  std::vector<std::int32_t> block_of_;  ///< By id.
  std::vector<std::int32_t> parent_;
  std::vector<std::int32_t> children_;       ///< Resident ones, by id.
  std::vector<std::uint64_t> fingerprints_;  ///< Of the session's blocks,
  std::vector<std::int32_t> blocks_;         ///< and where they are.
};

}  // namespace octavo::testing
