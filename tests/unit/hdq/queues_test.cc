// The queues of a class, against a list for each bucket.
#include <algorithm>
#include <array>
#include <vector>

#include "blocks/hdq_groups.h"
#include "octavo/sim/rng.h"
#include <gtest/gtest.h>

namespace octavo::blocks::hdq {
namespace {

std::vector<GroupId> in_bucket(const ClassQueues& queues,
                               const Slab<Group>& groups,
                               std::size_t bucket) {
  std::vector<GroupId> ids;
  GroupId id = queues.oldest(bucket);
  for (std::uint32_t left = queues.count(bucket); left > 0; --left) {
    ids.push_back(id);
    id = groups[id].queue.newer;
  }
  return ids;
}

TEST(HdqQueues, AreAListForEachBucket) {
  sim::Rng rng(3);
  Slab<Group> groups(5000, "groups");
  ClassQueues queues;
  std::array<std::vector<GroupId>, kBuckets> lists;
  for (int round = 0; round < 5000; ++round) {
    std::vector<GroupId>& list = lists[rng.below(kBuckets)];
    const auto bucket = static_cast<std::size_t>(&list - lists.data());
    const std::size_t at = list.empty() ? 0 : rng.below(list.size());
    switch (rng.below(6)) {
      case 0: {
        const GroupId id = groups.take();
        queues.push_newest(groups, id);
        lists[0].push_back(id);
        break;
      }
      case 1: {  // As one that was set aside.
        const GroupId id = groups.take();
        groups[id].bucket = static_cast<std::uint8_t>(bucket);
        queues.push_oldest(groups, id);
        list.insert(list.begin(), id);
        break;
      }
      case 2:
      case 3:
        if (!list.empty() && bucket + 1 < kBuckets) {  // Not always the one at the front.
          const GroupId id = list[at];
          queues.age(groups, id);
          groups[id].bucket = static_cast<std::uint8_t>(bucket + 1);
          list.erase(list.begin() + static_cast<std::ptrdiff_t>(at));
          lists[bucket + 1].push_back(id);
        }
        break;
      default:
        if (!list.empty()) {
          const GroupId id = list[at];
          queues.remove(groups, id);
          list.erase(list.begin() + static_cast<std::ptrdiff_t>(at));
          groups.give(id);
        }
    }
    for (std::size_t b = 0; b < kBuckets; ++b) {
      ASSERT_EQ(in_bucket(queues, groups, b), lists[b]) << round << " bucket " << b;
    }
  }
}

}  // namespace
}  // namespace octavo::blocks::hdq
