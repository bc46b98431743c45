#include "pool_replay.h"

#include <algorithm>
#include <chrono>

namespace octavo::sim {
namespace {

BlockManagerConfig manager_config(const ReplayOptions& options, std::int64_t blocks, bool pseudo) {
  BlockManagerConfig config;
  config.num_blocks = blocks;
  config.block_size = pseudo ? 1 : static_cast<int>(options.block_size);
  config.max_seqs = options.live;
  config.partial_keys = !options.full_blocks_only;
  config.policy = options.policy;
  config.policy_block_tokens = static_cast<int>(options.block_size);
  return config;
}

// Adds the time until it goes out of scope.
class Stopwatch {
 public:
  explicit Stopwatch(double& seconds) : seconds_(seconds) {}
  ~Stopwatch() { seconds_ += std::chrono::duration<double>(Clock::now() - begin_).count(); }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  using Clock = std::chrono::steady_clock;
  double& seconds_;
  Clock::time_point begin_ = Clock::now();
};

}  // namespace

PoolReplay::PoolReplay(const ReplayOptions& options, std::int64_t blocks, bool pseudo)
    : pseudo_(pseudo),
      manager_(manager_config(options, blocks, pseudo)),
      held_(static_cast<std::size_t>(options.live)) {
  run_.blocks = blocks;
  run_.block_size = options.block_size;
}

void PoolReplay::retire_oldest() {
  const Held& oldest = held_[first_];
  manager_.retire(static_cast<int>(first_), {oldest.tokens.data(), oldest.length},
                  oldest.addressable_len);
  first_ = (first_ + 1) % held_.size();
  --count_;
}

void PoolReplay::serve(std::span<const std::int32_t> tokens,
                       std::int64_t input_tokens,
                       std::int64_t output_tokens) {
  const std::int64_t blocks = (input_tokens + run_.block_size - 1) / run_.block_size;
  if (blocks > run_.blocks) {
    ++run_.rejected_requests;
    return;
  }
  ++run_.requests;
  run_.prompt_tokens += input_tokens;

  // The copy that a server would have of the prompt is not the manager's time.
  const std::size_t index = (first_ + count_) % held_.size();
  Held next;
  if (count_ < held_.size()) {
    next = std::move(held_[index]);
  }
  if (next.tokens.size() < tokens.size()) {
    next.tokens.resize(tokens.size());
  }
  std::copy(tokens.begin(), tokens.end(), next.tokens.begin());
  next.length = tokens.size();
  next.addressable_len = pseudo_ ? input_tokens / run_.block_size : kAddressableAll;

  const Stopwatch stopwatch(run_.seconds);
  if (count_ == held_.size()) {
    retire_oldest();
  }
  const int slot = static_cast<int>(index);
  const std::int32_t past =
      static_cast<std::int32_t>(manager_.admit(slot, tokens, next.addressable_len));
  manager_.note_output(slot, output_tokens);
  // Room for what is missing: live requests retire, oldest first, until there is.
  const std::int64_t missing =
      blocks - static_cast<std::int64_t>(manager_.block_table(slot).size());
  while (manager_.free_blocks() < missing) {
    retire_oldest();
  }
  const std::int32_t cu_seqlens_q[] = {0, static_cast<std::int32_t>(tokens.size()) - past};
  manager_.prepare_step(cu_seqlens_q, {&past, 1}, {&slot, 1});
  manager_.update_position(slot, static_cast<std::int64_t>(tokens.size()));
  run_.hit_tokens += pseudo_ ? past * run_.block_size : past;
  held_[index] = std::move(next);
  ++count_;
}

ReplayRun PoolReplay::finish() {
  {
    const Stopwatch stopwatch(run_.seconds);
    while (count_ > 0) {
      retire_oldest();
    }
  }
  const BlockManagerStats stats = manager_.stats();
  run_.evicted_blocks = stats.evicted_blocks();
  run_.bound_blocks_max = stats.bound_blocks_max;
  run_.parked_blocks_max = stats.parked_blocks_max;
  run_.digest = manager_.digest();
  return run_;
}

}  // namespace octavo::sim
