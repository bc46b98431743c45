// Adversarial: patterns chosen to hurt LRU and prefix trees, one after the other, in rounds.
//
// Every round plays all patterns in an order drawn anew. The session of a request is the number of
// its pattern (enum Pattern), so that a trace can be taken apart again. Arrivals are 10 ms
// apart, except for bursts.

#include <algorithm>
#include <array>
#include <deque>

#include "generate.h"
#include "octavo/sim/rng.h"
#include "prompt.h"

namespace octavo::sim {
namespace {

constexpr std::int64_t kGapNs = 10 * kMillisecond;

enum Pattern : std::uint64_t {
  kScan,   // Whole prompts in a cycle that is one eighth larger than the pool: LRU hits nothing.
  kComb,   // A trunk with a branch at every block.
  kExact,  // Prompts of whole blocks, each the beginning of the next, growing and shrinking again.
  kTiny,   // Prompts of one token, and of one token more or less than a whole number of blocks.
  kBurst,  // One prompt many times at the same instant.
  kTails,  // More partial tails behind one block than anybody wants to remember.
  kCreep,  // A prompt that grows by a single token.
  kPatterns
};

constexpr std::int64_t kPoolShare =
    8;  // A document of the scan, and the trunk: a share of the pool.
constexpr int kScanCycles = 3;
constexpr std::int64_t kExactBlocksMax = 16;
constexpr int kTinyPrompts = 4;
constexpr int kBurstRequests = 8;
constexpr int kTailPrompts = 6;
constexpr int kCreepSteps = 20;

class Adversary final : public Generator {
 public:
  Adversary(std::uint64_t seed, std::int64_t block_size, std::int64_t pool_blocks)
      : rng_(seed), ids_(block_size), share_blocks_(pool_blocks / kPoolShare) {
    // Without the remainder of the division, nine shares might fit the pool.
    const std::int64_t document_blocks = (pool_blocks + kPoolShare - 1) / kPoolShare;
    for (Prompt& document : documents_) {
      document.append(ids_, document_blocks * block_size);
    }
  }

  void next(TraceRequest& request) override {
    if (pending_.empty()) {
      play_round();
    }
    Step& step = pending_.front();
    now_ns_ += step.gap_ns;
    request.arrival_ns = now_ns_;
    request.output_tokens = step.output_tokens;
    request.session = step.pattern;
    step.prompt.put(ids_, request);
    pending_.pop_front();
  }

 private:
  struct Step {
    Pattern pattern;
    Prompt prompt;
    std::int64_t gap_ns;  // To the request before.
    std::int64_t output_tokens;
  };

  // Names the tail of the caller's prompt, so that sending it again sends the same ids.
  void send(Pattern pattern, Prompt& prompt, std::int64_t gap_ns = kGapNs) {
    prompt.name_tail(ids_);
    pending_.push_back({.pattern = pattern,
                        .prompt = prompt,
                        .gap_ns = gap_ns,
                        .output_tokens = rng_.between(0, 8)});
  }

  void play_round() {
    std::array<Pattern, kPatterns> order{kScan, kComb, kExact, kTiny, kBurst, kTails, kCreep};
    for (std::size_t left = order.size(); left > 1; --left) {
      std::swap(order[left - 1], order[rng_.below(left)]);
    }
    for (const Pattern pattern : order) {
      play(pattern);
    }
  }

  void play(Pattern pattern) {
    switch (pattern) {
      case kScan:
        return scan();
      case kComb:
        return comb();
      case kExact:
        return exact();
      case kTiny:
        return tiny();
      case kBurst:
        return burst();
      case kTails:
        return tails();
      case kCreep:
      case kPatterns:
        return creep();
    }
  }

  void scan() {
    for (int cycle = 0; cycle < kScanCycles; ++cycle) {
      for (Prompt& document : documents_) {
        send(kScan, document);
      }
    }
  }

  void comb() {
    Prompt trunk;
    trunk.append(ids_, share_blocks_ * ids_.block_size());
    send(kComb, trunk);
    for (std::int64_t blocks = share_blocks_; blocks > 0; --blocks) {
      Prompt branch = trunk.prefix(ids_, blocks);
      branch.append(ids_, rng_.between(1, 2 * ids_.block_size()));
      send(kComb, branch);
    }
  }

  void exact() {
    Prompt longest;
    longest.append(ids_, kExactBlocksMax * ids_.block_size());
    for (std::int64_t step = 1; step < 2 * kExactBlocksMax; ++step) {
      Prompt prompt = longest.prefix(ids_, std::min(step, 2 * kExactBlocksMax - step));
      send(kExact, prompt);
    }
  }

  void tiny() {
    const std::int64_t block_size = ids_.block_size();
    for (const std::int64_t tokens : {std::int64_t{1}, block_size - 1, block_size, block_size + 1,
                                      2 * block_size - 1, 2 * block_size, 2 * block_size + 1}) {
      if (tokens == 0) {
        continue;  // Blocks of one token have no shorter prompt.
      }
      std::array<Prompt, kTinyPrompts> prompts;
      for (Prompt& prompt : prompts) {
        prompt.append(ids_, tokens);
        send(kTiny, prompt);
      }
      for (Prompt& prompt : prompts) {
        send(kTiny, prompt);
      }
    }
  }

  void burst() {
    Prompt prompt;
    prompt.append(ids_, rng_.between(1, 8 * ids_.block_size()));
    for (int i = 0; i < kBurstRequests; ++i) {
      send(kBurst, prompt, i == 0 ? kGapNs : 0);
    }
    send(kBurst, prompt);
  }

  void tails() {
    Prompt stem;
    stem.append(ids_, 2 * ids_.block_size());
    std::array<Prompt, kTailPrompts> prompts;
    prompts.fill(stem);
    for (Prompt& prompt : prompts) {
      prompt.append(ids_, rng_.between(1, std::max<std::int64_t>(ids_.block_size() - 1, 1)));
      send(kTails, prompt);
    }
    for (Prompt& prompt : prompts) {
      send(kTails, prompt);
    }
  }

  void creep() {
    Prompt prompt;
    for (int step = 0; step < kCreepSteps; ++step) {
      prompt.append(ids_, 1);
      send(kCreep, prompt);
    }
  }

  Rng rng_;
  BlockIds ids_;
  std::int64_t share_blocks_;
  std::array<Prompt, kPoolShare + 1> documents_;
  std::deque<Step> pending_;  // What is left of this round.
  std::int64_t now_ns_ = 0;
};

}  // namespace

std::unique_ptr<Generator> make_adversarial(std::uint64_t seed,
                                            std::int64_t block_size,
                                            std::int64_t pool_blocks) {
  return std::make_unique<Adversary>(seed, block_size, pool_blocks);
}

}  // namespace octavo::sim
