// One pool of a replay: a block manager and the requests it holds.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "octavo/block_manager.h"
#include "octavo/sim/replay.h"
#include "request_batch.h"

namespace octavo::sim {

class PoolReplay {
 public:
  /// `pseudo`: one token stands for a block, and a prompt's last one for a partial block unless its
  /// length is a whole number of blocks.
  PoolReplay(const ReplayOptions& options, EvictionPolicy policy, std::int64_t blocks, bool pseudo);

  /// Serves the prompts of the batch in order; a policy is told how many tokens were generated,
  /// which are not replayed. The batch is not needed afterwards.
  void serve(const RequestBatch& batch);

  /// Retires what is still held and returns the result.
  ReplayRun finish();

 private:
  // A held request. Slot i of the manager belongs to entry i. None is held where one at a time is
  // live: it has left when the next one comes, so it can leave at once.
  struct Held {
    std::span<const std::int32_t> tokens;  // In the current batch, or in `own`.
    std::vector<std::int32_t> own;
    std::int64_t addressable_len = kAddressableAll;
  };

  void serve(std::span<const std::int32_t> tokens,
             std::int64_t input_tokens,
             std::int64_t output_tokens);
  std::int64_t hold(std::span<const std::int32_t> tokens,
                    std::int64_t blocks,
                    std::int64_t addressable_len,
                    std::int64_t output_tokens);
  void retire_oldest();
  void leave_batch();

  ReplayRun run_;
  bool pseudo_;
  BlockManager manager_;
  std::vector<Held> held_;  ///< A ring: the oldest at first_, count_ in use.
  std::size_t first_ = 0;
  std::size_t count_ = 0;
};

}  // namespace octavo::sim
