// Sinks for tests: one that keeps every event as it came, one that keeps what the events add up to.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "octavo/kv_events.h"
#include <gtest/gtest.h>

#include "tests/scenarios/session_fixture.h"

namespace octavo::testing {

using Hashes = std::vector<std::uint64_t>;

class EventRecorder : public KVEventSink {
 public:
  struct Stored {
    Hashes hashes;
    std::optional<std::uint64_t> parent;
    Tokens tokens;
    int block_size = 0;
    std::uint64_t namespace_id = 0;
  };

  void on_block_stored(const BlockStored& event) noexcept override {
    stored.push_back({Hashes(event.block_hashes.begin(), event.block_hashes.end()),
                      event.parent_block_hash,
                      Tokens(event.token_ids.begin(), event.token_ids.end()), event.block_size,
                      event.namespace_id});
    stored_hashes.insert(stored_hashes.end(), event.block_hashes.begin(), event.block_hashes.end());
  }
  void on_block_removed(const BlockRemoved& event) noexcept override {
    removed.insert(removed.end(), event.block_hashes.begin(), event.block_hashes.end());
  }
  void on_all_blocks_cleared() noexcept override { ++cleared; }

  std::vector<Stored> stored;
  Hashes stored_hashes;
  Hashes removed;
  int cleared = 0;
};

/// What a router that only hears the events believes to be cached.
class EventMirror : public KVEventSink {
 public:
  void on_block_stored(const BlockStored& event) noexcept override {
    const auto size = static_cast<std::size_t>(event.block_size);
    EXPECT_GT(size, 0U);
    EXPECT_FALSE(event.block_hashes.empty());
    EXPECT_EQ(event.token_ids.size(), event.block_hashes.size() * size);
    Node node{event.namespace_id, event.parent_block_hash, {}};
    for (std::size_t i = 0; i < event.block_hashes.size(); ++i) {
      if (node.parent.has_value()) {
        const auto parent = nodes_.find(*node.parent);
        ASSERT_TRUE(parent != nodes_.end()) << "stored under a parent that is not cached";
        EXPECT_EQ(parent->second.namespace_id, node.namespace_id);
      }
      const auto tokens = event.token_ids.subspan(i * size, size);
      node.tokens.assign(tokens.begin(), tokens.end());
      EXPECT_TRUE(nodes_.emplace(event.block_hashes[i], node).second) << "stored twice";
      node.parent = event.block_hashes[i];
    }
  }
  void on_block_removed(const BlockRemoved& event) noexcept override {
    EXPECT_FALSE(event.block_hashes.empty());
    for (const std::uint64_t hash : event.block_hashes) {
      for (const auto& [other, node] : nodes_) {
        EXPECT_NE(node.parent, std::optional(hash)) << "removed before its child";
      }
      EXPECT_EQ(nodes_.erase(hash), 1U) << "removed, but never stored";
      stale_.erase(hash);
    }
  }
  void on_all_blocks_cleared() noexcept override {
    nodes_.clear();
    stale_.clear();
  }

  /// The whole blocks of `prompt` that are cached, the last one of an aligned prompt left out.
  std::int64_t served(std::uint64_t namespace_id, const Tokens& prompt, std::int64_t size) const {
    std::optional<std::uint64_t> parent;
    std::int64_t length = 0;
    while (length + size < static_cast<std::int64_t>(prompt.size())) {
      const Node wanted{namespace_id, parent, slice(prompt, length, length + size)};
      const auto found = std::find_if(nodes_.begin(), nodes_.end(), [&](const auto& entry) {
        return entry.second == wanted && stale_.count(entry.first) == 0;
      });
      if (found == nodes_.end()) {
        break;
      }
      parent = found->first;
      length += size;
    }
    return length;
  }

  /// A router that invalidates a namespace must forget its blocks; removals of them come later.
  void invalidate(std::uint64_t namespace_id) {
    for (const auto& [hash, node] : nodes_) {
      if (node.namespace_id == namespace_id) {
        stale_.insert(hash);
      }
    }
  }

  std::size_t size() const { return nodes_.size(); }

 private:
  struct Node {
    std::uint64_t namespace_id;
    std::optional<std::uint64_t> parent;
    Tokens tokens;
    friend bool operator==(const Node&, const Node&) = default;
  };

  std::map<std::uint64_t, Node> nodes_;
  std::set<std::uint64_t> stale_;
};

}  // namespace octavo::testing
