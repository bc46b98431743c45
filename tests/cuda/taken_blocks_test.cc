// Which copies of block lists may run side by side, against a look at every pair.
#include "src/taken_blocks.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/ref_cpu/numerics/samples.h"

namespace octavo::cuda {
namespace {

using Copy = std::pair<std::int32_t, std::int32_t>;  // Source, destination.

bool independent(const Copy& a, const Copy& b) {
  return a.second != b.first && a.second != b.second && a.first != b.second;
}

template <std::uint32_t kMost>
void expect_pairwise(numerics_test::Random& random, std::int64_t blocks, std::int64_t apart) {
  TakenBlocks<kMost> taken;
  for (int list = 0; list < 30; ++list) {
    std::vector<Copy> in;
    for (int i = 0; i < 400 && in.size() < kMost; ++i) {
      const Copy copy(static_cast<std::int32_t>(random.below(blocks) * apart),
                      static_cast<std::int32_t>(random.below(blocks) * apart));
      if (copy.first == copy.second) {
        continue;
      }
      const bool may = std::all_of(in.begin(), in.end(),
                                   [&](const Copy& other) { return independent(copy, other); });
      ASSERT_EQ(taken.take(copy.first, copy.second), may) << list << ' ' << i;
      if (may) {
        in.push_back(copy);
      }
    }
    taken.clear();  // What was in is forgotten.
  }
}

TEST(TakenBlocks, TakesWhatIsIndependentOfAllThatAreIn) {
  numerics_test::Random random(11);
  for (const std::int64_t blocks : {2, 3, 9, 40, 300, 5000}) {
    expect_pairwise<1>(random, blocks, 1);
    expect_pairwise<8>(random, blocks, 1);
    expect_pairwise<64>(random, blocks, 1);
    expect_pairwise<256>(random, blocks, 1 << 18);  // Ids whose low bits are all alike.
  }
}

TEST(TakenBlocks, HoldsTheLargestList) {
  TakenBlocks<64> taken;
  for (int again = 0; again < 3; ++again) {
    for (std::int32_t i = 0; i < 64; ++i) {
      EXPECT_TRUE(taken.take(2147483647 - 2 * i, 2147483646 - 2 * i));
    }
    EXPECT_FALSE(taken.take(2147483646, 5));
    EXPECT_FALSE(taken.take(5, 2147483647));
    taken.clear();
  }
}

}  // namespace
}  // namespace octavo::cuda
