#include "pool_replay.h"

#include <ctime>

namespace octavo::sim {
namespace {

BlockManagerConfig manager_config(const ReplayOptions& options,
                                  EvictionPolicy policy,
                                  std::int64_t blocks,
                                  bool pseudo) {
  BlockManagerConfig config;
  config.num_blocks = blocks;
  config.block_size = pseudo ? 1 : static_cast<int>(options.block_size);
  config.max_seqs = options.live;
  config.partial_keys = !options.full_blocks_only;
  config.policy = policy;
  config.policy_block_tokens = static_cast<int>(options.block_size);
  return config;
}

// Of the calling thread: what else the machine does meanwhile is not in it.
double processor_seconds() {
  std::timespec now = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Adds the processor time until it goes out of scope.
class Stopwatch {
 public:
  explicit Stopwatch(double& seconds) : seconds_(seconds) {}
  ~Stopwatch() { seconds_ += processor_seconds() - begin_; }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  double& seconds_;
  double begin_ = processor_seconds();
};

}  // namespace

PoolReplay::PoolReplay(const ReplayOptions& options,
                       EvictionPolicy policy,
                       std::int64_t blocks,
                       bool pseudo)
    : pseudo_(pseudo),
      manager_(manager_config(options, policy, blocks, pseudo)),
      held_(static_cast<std::size_t>(options.live)) {
  run_.blocks = blocks;
  run_.block_size = options.block_size;
  run_.policy = policy;
}

void PoolReplay::retire_oldest() {
  const Held& oldest = held_[first_];
  manager_.retire(static_cast<int>(first_), oldest.tokens, oldest.addressable_len);
  if (++first_ == held_.size()) {
    first_ = 0;
  }
  --count_;
}

void PoolReplay::serve(const RequestBatch& batch) {
  const Stopwatch stopwatch(run_.seconds);
  for (const RequestBatch::Request& request : batch.requests()) {
    serve(batch.tokens(request), request.input_tokens, request.output_tokens);
  }
  leave_batch();
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
  const std::int64_t addressable_len = pseudo_ ? input_tokens / run_.block_size : kAddressableAll;
  const std::int64_t past = held_.size() == 1
                                ? manager_.replay(0, tokens, addressable_len, output_tokens)
                                : hold(tokens, blocks, addressable_len, output_tokens);
  run_.hit_tokens += pseudo_ ? past * run_.block_size : past;
}

// Admits a request that stays until others need its slot or its blocks.
std::int64_t PoolReplay::hold(std::span<const std::int32_t> tokens,
                              std::int64_t blocks,
                              std::int64_t addressable_len,
                              std::int64_t output_tokens) {
  if (count_ == held_.size()) {
    retire_oldest();
  }
  std::size_t index = first_ + count_;
  if (index >= held_.size()) {
    index -= held_.size();
  }
  Held& next = held_[index];
  next.tokens = tokens;
  next.addressable_len = addressable_len;
  const int slot = static_cast<int>(index);
  const std::int32_t past =
      static_cast<std::int32_t>(manager_.admit(slot, tokens, next.addressable_len));
  manager_.note_output(slot, output_tokens);
  // Room for what is missing: live requests retire, oldest first, until there is.
  const std::int64_t missing = blocks - std::ssize(manager_.block_table(slot));
  while (manager_.free_blocks() < missing) {
    retire_oldest();
  }
  const std::int32_t cu_seqlens_q[] = {0, static_cast<std::int32_t>(tokens.size()) - past};
  manager_.prepare_step(cu_seqlens_q, {&past, 1}, {&slot, 1});
  manager_.update_position(slot, static_cast<std::int64_t>(tokens.size()));
  ++count_;
  return past;
}

// What is still held keeps a copy of its prompt: the batch makes room for the next one.
void PoolReplay::leave_batch() {
  for (std::size_t i = 0; i < count_; ++i) {
    Held& held = held_[(first_ + i) % held_.size()];
    if (held.tokens.data() != held.own.data()) {
      held.own.assign(held.tokens.begin(), held.tokens.end());
      held.tokens = held.own;
    }
  }
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
