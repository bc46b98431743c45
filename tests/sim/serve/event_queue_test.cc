// What happens next, against a sorted set.
#include "event_queue.h"

#include <set>

#include "octavo/sim/rng.h"
#include <gtest/gtest.h>

namespace octavo::sim {
namespace {

void expect_same(const Event& event, const Event& expected) {
  EXPECT_EQ(event.time_ns, expected.time_ns);
  EXPECT_EQ(event.kind, expected.kind);
  EXPECT_EQ(event.who, expected.who);
}

// Few times and few who, so that most events are put in twice and many meet at one instant.
TEST(EventQueue, IsASortedSet) {
  Rng rng(1);
  EventQueue queue;
  std::set<Event> set;
  constexpr EventKind kKinds[] = {EventKind::WarmUp, EventKind::StepEnd, EventKind::GiveUp,
                                  EventKind::Arrival, EventKind::Schedule};
  for (int round = 0; round < 20000; ++round) {
    const Event event{rng.between(0, 20), kKinds[rng.below(std::size(kKinds))],
                      static_cast<std::int64_t>(rng.below(3))};
    const std::uint64_t action = rng.below(9);
    if (action < 5) {
      queue.push(event);
      set.insert(event);
    } else if (action == 5 && event.kind == EventKind::GiveUp) {
      queue.erase(event);
      set.erase(event);
    } else if (!set.empty()) {
      expect_same(queue.pop(), *set.begin());
      set.erase(set.begin());
    }
    ASSERT_EQ(queue.empty(), set.empty()) << round;
    ASSERT_FALSE(HasFailure()) << round;
  }
  EXPECT_FALSE(set.empty());
  for (; !set.empty(); set.erase(set.begin())) {
    expect_same(queue.pop(), *set.begin());
  }
  EXPECT_TRUE(queue.empty());
}

}  // namespace
}  // namespace octavo::sim
