// HDQ as the prefix tree's eviction order: names blocks by fingerprints, and knows which node a
// block ends.
#pragma once

#include "base/virtual_memory.h"
#include "blocks/chain_hash.h"
#include "blocks/eviction_order.h"
#include "blocks/hdq.h"

namespace octavo::blocks {

class HdqOrder final : public EvictionOrder {
 public:
  HdqOrder(const BlockManagerConfig& config, const RunStore& store);

  void asked(const PromptAsked& prompt) noexcept override;
  void acting(int slot) noexcept override { hdq_.act_for(slot); }
  void retiring(int slot, std::int64_t output_tokens) noexcept override {
    hdq_.generated(slot, output_tokens, /*noted=*/false);
  }
  void noted_output(int slot, std::int64_t output_tokens) noexcept override {
    hdq_.generated(slot, output_tokens, /*noted=*/true);
  }
  void ended(int slot) noexcept override { hdq_.end(slot); }
  void levels(std::int64_t bound_blocks) noexcept override { hdq_.bound(bound_blocks); }

  void sealed(const BlocksSealed& blocks) noexcept override;
  void served_leaf(NodeId /*leaf*/) noexcept override {}
  void parked(NodeId id) noexcept override;
  void unparked(NodeId id) noexcept override;
  void bare(NodeId id) noexcept override;
  void forgotten(NodeId leaf) noexcept override;
  NodeId victim(BlockId spare) noexcept override;
  void reset() noexcept override { hdq_.reset(); }

  void audit(std::int64_t blocks_used) const override;
  std::uint64_t digest(std::int64_t /*blocks_used*/) const override { return hdq_.digest(); }

 private:
  BlockId end_of(NodeId id) const noexcept;
  std::span<const BlockId> blocks_of(const Node& run) noexcept;
  std::size_t block_bytes() const noexcept { return block_size_ * sizeof(std::int32_t); }
  bool was_asked(const BlocksSealed& sealed, std::uint64_t before) const noexcept;
  void name_blocks(std::uint64_t before, const std::int32_t* tokens, std::size_t blocks) noexcept;

  const RunStore& store_;
  std::size_t block_size_;
  Hdq hdq_;
  VirtualArray<std::uint64_t> fingerprints_;  ///< [num_blocks] Of the blocks at hand:
  std::size_t asked_blocks_ = 0;              ///< those of the prompt asked last, if not 0.
  std::uint64_t asked_root_ = 0;
  VirtualArray<std::int32_t> asked_tokens_;  ///< [num_blocks * block_size] Its tokens.
  VirtualArray<BlockId> blocks_;             ///< [num_blocks] Of the run at hand.
  VirtualArray<NodeId> bare_node_;  ///< [num_blocks] The node that a bare one's last block ends.
};

}  // namespace octavo::blocks
