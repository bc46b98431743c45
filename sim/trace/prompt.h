// A prompt of a generated workload: its length and the ids of its blocks, as text is appended.
//
// A copy shares all ids so far and goes its own way from there on: that is how prompts come to
// share a prefix. What the text says plays no part, so appending never makes two prompts equal:
// prompts that must go on alike are appended to once and copied afterwards. The exception is
// content that has a name of its own, an image: behind equal text, the same contents in the same
// order give the same ids, which are hashes with the highest bit set and need no memory; all other
// ids are counted. A partial tail has no id until `name_tail` or `put`, and keeps it until the next
// append.
#pragma once

#include <cstdint>
#include <vector>

#include "octavo/sim/rng.h"
#include "octavo/sim/trace.h"

namespace octavo::sim {

/// Hands out the ids of one workload, counting from 0.
class BlockIds {
 public:
  explicit BlockIds(std::int64_t block_size) : block_size_(block_size) {}

  std::int64_t block_size() const noexcept { return block_size_; }
  std::uint64_t take() noexcept { return next_++; }

 private:
  std::int64_t block_size_;
  std::uint64_t next_ = 0;
};

class Prompt {
 public:
  /// Appends `tokens` >= 0 tokens that no other prompt has here.
  void append(BlockIds& ids, std::int64_t tokens) {
    if (tokens == 0) {
      return;
    }
    drop_tail();
    has_name_ = false;
    tokens_ += tokens;
    while (static_cast<std::int64_t>(blocks_.size()) < tokens_ / ids.block_size()) {
      blocks_.push_back(ids.take());
    }
  }

  /// Appends `tokens` >= 1 tokens of a content that any prompt may have: see above. Two contents of
  /// one name must be of one length.
  void append_content(BlockIds& ids, std::uint64_t content, std::int64_t tokens) {
    drop_tail();
    name_text(ids);
    name_ = mixed(name_, content);
    const std::int64_t begin = tokens_;
    tokens_ += tokens;
    while (static_cast<std::int64_t>(blocks_.size()) < tokens_ / ids.block_size()) {
      const std::int64_t end = static_cast<std::int64_t>(blocks_.size() + 1) * ids.block_size();
      blocks_.push_back(kContentBit | mixed(name_, static_cast<std::uint64_t>(end - begin)));
    }
  }

  /// Names the text so far, for contents behind it; copies made afterwards share the name. Takes an
  /// id.
  void name_text(BlockIds& ids) {
    if (!has_name_) {
      name_ = ids.take();
      has_name_ = true;
    }
  }

  /// Gives a partial tail its id; copies made afterwards share it.
  void name_tail(BlockIds& ids) {
    if (tokens_ % ids.block_size() != 0 && !tail_named_) {
      blocks_.push_back(ids.take());
      tail_named_ = true;
    }
  }

  /// Writes length and ids into a request, the tail named first.
  void put(BlockIds& ids, TraceRequest& request) {
    name_tail(ids);
    request.input_tokens = tokens_;
    request.block_ids.assign(blocks_.begin(), blocks_.end());
  }

  /// The first `blocks` whole blocks; there must be that many.
  Prompt prefix(const BlockIds& ids, std::int64_t blocks) const {
    Prompt result;
    result.tokens_ = blocks * ids.block_size();
    result.blocks_.assign(blocks_.begin(), blocks_.begin() + blocks);
    result.has_name_ = blocks == 0;
    return result;
  }

  std::int64_t tokens() const noexcept { return tokens_; }

 private:
  static constexpr std::uint64_t kContentBit = std::uint64_t{1} << 63;

  static std::uint64_t mixed(std::uint64_t a, std::uint64_t b) {
    std::uint64_t state = a;
    state = splitmix64(state) ^ b;
    return splitmix64(state);
  }

  void drop_tail() {
    if (tail_named_) {
      blocks_.pop_back();
      tail_named_ = false;
    }
  }

  std::int64_t tokens_ = 0;
  std::vector<std::uint64_t> blocks_;  // Whole blocks, and the tail's id last if tail_named_.
  bool tail_named_ = false;
  std::uint64_t name_ = kContentBit;  // Of all text so far if has_name_; the empty one has this.
  bool has_name_ = true;
};

}  // namespace octavo::sim
