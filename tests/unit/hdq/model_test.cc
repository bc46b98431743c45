// The policy against a naive model of itself, session by session.
#include <string>

#include "dense_cache.h"
#include "naive_hdq.h"
#include "octavo/sim/rng.h"
#include <gtest/gtest.h>

namespace octavo::testing {
namespace {

// Prompts that continue, branch off, repeat and begin anew; ids name whole prefixes.
class Prompts {
 public:
  explicit Prompts(std::uint64_t seed) : rng_(seed) {}

  std::span<const std::int32_t> next() {
    if (past_.empty() || rng_.chance(1, 4)) {
      prompt_.clear();
    } else {
      // Mostly a recent one; a few come back after a long time.
      const std::size_t reach = rng_.chance(3, 4) ? 6 : past_.size();
      prompt_ = past_[past_.size() - 1 - rng_.below(std::min(reach, past_.size()))];
      if (rng_.chance(1, 3)) {
        prompt_.resize(rng_.below(prompt_.size() + 1));
      }
    }
    for (std::int64_t i = rng_.between(0, rng_.chance(1, 5) ? 12 : 3); i > 0; --i) {
      prompt_.push_back(fresh_++);
    }
    if (!prompt_.empty()) {
      past_.push_back(prompt_);
    }
    return prompt_;
  }
  std::int64_t output() { return static_cast<std::int64_t>(rng_.below(300)); }
  bool chance(std::uint64_t one_in) { return rng_.chance(1, one_in); }
  std::int32_t ids() const { return fresh_; }

 private:
  sim::Rng rng_;
  std::vector<std::vector<std::int32_t>> past_;
  std::vector<std::int32_t> prompt_;
  std::int32_t fresh_ = 0;
};

TEST(HdqModel, EveryVictimHitAndMemoryIsTheNaiveOnes) {
  std::int64_t set_aside = 0;
  std::int64_t forgotten = 0;
  std::int64_t chosen = 0;
  for (std::uint64_t seed = 1; seed <= 16; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const std::int64_t capacity = 2 + static_cast<std::int64_t>(seed * seed) % 40;
    Prompts prompts(seed);
    DenseCache cache(capacity, 512);
    NaiveHdq naive(capacity, 512);
    for (int session = 0; session < 300; ++session) {
      const auto prompt = prompts.next();
      const std::int64_t servable = std::ssize(prompt) - (prompts.chance(2) ? 1 : 0);
      const std::int64_t output = prompts.output();
      ASSERT_EQ(cache.serve(prompt, std::max<std::int64_t>(servable, 0), output),
                naive.serve(prompt, std::max<std::int64_t>(servable, 0), output))
          << session;
      for (std::int32_t id = 0; id < prompts.ids(); ++id) {
        ASSERT_EQ(cache.resident(id), naive.resident(id)) << "block " << id << ", " << session;
      }
      ASSERT_EQ(cache.hdq().lru_hits(), naive.lru_hits()) << session;
      ASSERT_EQ(cache.hdq().known().count(), naive.known()) << session;
      ASSERT_NO_THROW(cache.hdq().audit()) << session;
    }
    set_aside += naive.set_aside();
    forgotten += naive.forgotten();
    chosen += naive.chosen_by_density();
  }
  // The interesting things did happen.
  EXPECT_GT(set_aside, 20);
  EXPECT_GT(forgotten, 1000);
  EXPECT_GT(chosen, 1000);
}

}  // namespace
}  // namespace octavo::testing
