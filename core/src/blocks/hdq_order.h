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
  // The built-in hash whatever the config says: a caller's bad one changes no ranking (D3).
  std::uint64_t fingerprint(std::uint64_t parent, const std::int32_t* tokens) const noexcept {
    return chain_hash(parent, tokens, block_size_);
  }

  const RunStore& store_;
  std::size_t block_size_;
  Hdq hdq_;
  VirtualArray<std::uint64_t> fingerprints_;  ///< [num_blocks] Of the blocks at hand.
  VirtualArray<NodeId> bare_node_;  ///< [num_blocks] The node that a bare one's last block ends.
};

}  // namespace octavo::blocks
