// One pool of a replay: a block manager and the requests it holds.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "octavo/block_manager.h"
#include "octavo/sim/replay.h"

namespace octavo::sim {

class PoolReplay {
 public:
  /// `pseudo`: one token stands for a block, and a prompt's last one for a partial block unless its
  /// length is a whole number of blocks.
  PoolReplay(const ReplayOptions& options, std::int64_t blocks, bool pseudo);

  /// Serves one prompt of `input_tokens` tokens, given as `tokens`; a policy is told that
  /// `output_tokens` were generated, which are not replayed.
  void serve(std::span<const std::int32_t> tokens,
             std::int64_t input_tokens,
             std::int64_t output_tokens);

  /// Retires what is still held and returns the result.
  ReplayRun finish();

 private:
  // A held request. Slot i of the manager belongs to entry i.
  struct Held {
    std::vector<std::int32_t> tokens;
    std::size_t length = 0;
    std::int64_t addressable_len = kAddressableAll;
  };

  void retire_oldest();

  ReplayRun run_;
  bool pseudo_;
  BlockManager manager_;
  std::vector<Held> held_;  ///< A ring: the oldest at first_, count_ in use.
  std::size_t first_ = 0;
  std::size_t count_ = 0;
};

}  // namespace octavo::sim
