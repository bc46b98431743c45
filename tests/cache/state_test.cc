// Recurrent state and convolution windows: whose they are, and when they are zero.
#include <algorithm>

#include "tests/cache/support/cache_testing.h"
#include "tests/cache/support/probe_device.h"

namespace octavo::testing {
namespace {

class StateRows : public ::testing::Test {
 protected:
  StateRows()
      : device(std::make_shared<ProbeDevice>()),
        cache(make_cache(
            paged_config(2, device),
            {{}, {.kind = KVLayerKind::State, .conv = {{6, 3}, {2, 2}}, .recurrent = {2, 3, 4}}})) {
    for (const Tensor& state : states()) {
      device->fill(state.address(), 0xFF, state.size_bytes());
    }
  }

  std::vector<Tensor> states() const {
    return {cache.conv_state(1, 0), cache.conv_state(1, 1), cache.recurrent_state(1)};
  }

  // Whether all bytes of all states of a slot are `byte`.
  bool all(int slot, int byte) const {
    const std::vector<Tensor> tensors = states();
    return std::all_of(tensors.begin(), tensors.end(), [&](const Tensor& state) {
      const Tensor mine = state.select(0, slot);
      const auto* bytes = static_cast<const unsigned char*>(mine.address());
      return std::all_of(bytes, bytes + mine.size_bytes(), [&](int b) { return b == byte; });
    });
  }

  void poison(int slot) {
    for (const Tensor& state : states()) {
      const Tensor mine = state.select(0, slot);
      device->fill(mine.address(), 0x7F, mine.size_bytes());
    }
  }

  std::shared_ptr<ProbeDevice> device;
  KVCache cache;
};

// B22, B25: whatever stood there, also before the slot's very first session.
TEST_F(StateRows, AreZeroWhenASequenceBegins) {
  cache.admit(1, ids(story(0, 5)));
  EXPECT_TRUE(all(1, 0xFF)) << "nothing is done before the first step";
  step(cache, {1}, {5});
  EXPECT_TRUE(all(1, 0));
  EXPECT_TRUE(all(0, 0xFF)) << "others are not touched";
  EXPECT_TRUE(all(2, 0xFF));
}

TEST_F(StateRows, AreKeptFromStepToStep) {
  step(cache, {1}, {5});
  poison(1);
  step(cache, {1}, {1});
  step(cache, {1, 0}, {4, 2});
  EXPECT_TRUE(all(1, 0x7F));
  EXPECT_TRUE(all(0, 0));
}

TEST_F(StateRows, OfTheTenantBeforeAreNeverSeen) {
  using End = void (*)(KVCache&);
  const End ends[] = {
      [](KVCache& c) { c.retire(1, ids(story(0, 5))); },
      [](KVCache& c) { c.evict_batch(1); },
      [](KVCache& c) { c.abandon_batch(1); },
      [](KVCache& c) { c.reset(); },
  };
  for (const End end : ends) {
    step(cache, {1}, {5});
    poison(1);
    end(cache);
    EXPECT_TRUE(all(1, 0x7F)) << "an end only keeps books";
    step(cache, {1}, {1});
    EXPECT_TRUE(all(1, 0));
    cache.evict_batch(1);
  }
}

TEST_F(StateRows, ABareReservationBeginsASequenceToo) {
  cache.reserve(ids({2, 3}), Ids{3, 0});
  EXPECT_TRUE(all(2, 0));
  poison(2);
  cache.reserve(ids({2}), Ids{3});
  EXPECT_TRUE(all(2, 0x7F));
}

TEST_F(StateRows, ARewindToTheBeginBeginsAgain) {
  step(cache, {1}, {5});
  poison(1);
  cache.update_position(1, 0);
  step(cache, {1}, {5});
  EXPECT_TRUE(all(1, 0));
  poison(1);
  step_at(cache, {1}, {3}, {1});
  EXPECT_TRUE(all(1, 0x7F)) << "a state cannot be rewound to the middle; the caller restores it";
}

TEST_F(StateRows, OfARefusedStepStayAsTheyAre) {
  EXPECT_REFUSED(cache, InvalidArgument, step(cache, {1, 1}, {5, 5}), "twice");
  EXPECT_TRUE(all(1, 0xFF));
  KVCache small =
      make_cache(continuous_config(1), {{.kind = KVLayerKind::State, .conv = {{2, 2}}}});
  EXPECT_EQ(host(step(small, {3}, {40 - 8}).kvcache_start), (Ids{3}));
}

TEST_F(StateRows, AreCountedWhenZeroed) {
  step(cache, {1, 2}, {5, 1});
  step(cache, {1, 2, 3}, {5, 1, 1});
  EXPECT_EQ(cache.counters().zeroed_slots, 3);
}

}  // namespace
}  // namespace octavo::testing
