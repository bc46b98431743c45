// PlainModel: what every slot must hold and every token must see, computed from tokens alone.
//
// Every slot has storage of its own that never wraps, shares, moves or runs out; there is no cache,
// no block, no table. The arithmetic is the device's, over these plain tensors. A step over it is
// handed the same operands as one over the cache, so outputs and stored rows must be equal in every
// bit.
//
// Single-threaded.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "layer_step.h"
#include "octavo/sim/check/check_log.h"

namespace octavo::sim::check {

class PlainModel {
 public:
  PlainModel(const CheckSetup& setup, std::shared_ptr<Device> device);

  /// The slot's states become zero, as a sequence's that begins.
  void zero_states(int slot);
  /// Writes the rows of positions [from, from + chains.size()) of the attention layers.
  void write_rows(int slot, std::int64_t from, std::span<const Chain> chains);
  /// Gives the slot's cross-attention layers an encoder's output; < 0: nothing.
  void fill(int slot, int encoder);

  std::vector<LayerOutput> run(const StepBatch& batch);

  const std::vector<LayerStorage>& layers() const noexcept { return layers_; }
  const std::shared_ptr<Device>& device() const noexcept { return device_; }
  /// What `fill` gave; 0: nothing.
  std::int64_t cross_length(int layer, int slot) const;

 private:
  KVCache::StepIndices indices(const StepBatch& batch, bool cross, int layer) const;
  Tensor ids(const std::vector<std::int32_t>& values) const;

  std::int64_t longest_;
  std::shared_ptr<Device> device_;
  std::vector<LayerStorage> layers_;
  std::vector<int> encoders_;  ///< [slots]
};

}  // namespace octavo::sim::check
