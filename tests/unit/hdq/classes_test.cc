#include <set>
#include <vector>

#include "blocks/hdq_classes.h"
#include <gtest/gtest.h>

namespace octavo::blocks::hdq {
namespace {

TEST(HdqClasses, AgeBucketsDoubleAndLeaveNoGap) {
  EXPECT_EQ(bucket_begin(0), 0);
  EXPECT_EQ(bucket_begin(1), 1);
  EXPECT_EQ(bucket_begin(2), 2);
  EXPECT_EQ(bucket_begin(3), 4);
  EXPECT_EQ(bucket_begin(kBuckets - 1), 8192);
  for (std::size_t b = 0; b + 1 < kBuckets; ++b) {
    EXPECT_EQ(bucket_begin(b) + bucket_width(b), bucket_begin(b + 1)) << b;
  }
  EXPECT_EQ(bucket_width(kBuckets - 1), 8192);
}

TEST(HdqClasses, NoveltyAndOutputHaveTheirLimits) {
  const auto novelty = [](std::int64_t tokens) { return int{traits_of(tokens, 0).novelty}; };
  EXPECT_EQ(novelty(0), 0);
  EXPECT_EQ(novelty(1023), 0);
  EXPECT_EQ(novelty(1024), 1);
  EXPECT_EQ(novelty(4095), 1);
  EXPECT_EQ(novelty(4096), 2);
  EXPECT_EQ(novelty(16383), 2);
  EXPECT_EQ(novelty(16384), 3);
  EXPECT_EQ(novelty(1 << 30), 3);
  const auto output = [](std::int64_t tokens) { return int{traits_of(0, tokens).output}; };
  EXPECT_EQ(output(31), 0);
  EXPECT_EQ(output(32), 1);
  EXPECT_EQ(output(127), 1);
  EXPECT_EQ(output(128), 2);
}

// The classes of one feature each, and all of them different.
TEST(HdqClasses, TellApartWhatTheyShouldAndNothingElse) {
  std::set<int> classes;
  for (const std::uint8_t depth : std::vector<std::uint8_t>{0, 1, 2}) {
    for (const std::uint8_t touches : std::vector<std::uint8_t>{1, 2, 3, 5}) {
      for (const std::int64_t novelty : {0, 1024, 4096, 16384}) {
        for (const std::int64_t output : {0, 32, 128}) {
          const ClassId id = class_of(depth, touches, traits_of(novelty, output));
          EXPECT_LT(id, kClasses);
          EXPECT_EQ(family_of(id), family_of(class_of(depth, touches, {})));
          classes.insert(id);
        }
      }
    }
  }
  EXPECT_EQ(classes.size(), kClasses);
  EXPECT_EQ(class_of(0, 3, {}), class_of(0, 4, {}));
  EXPECT_EQ(class_of(0, 5, {}), class_of(0, 200, {}));
  EXPECT_EQ(class_of(2, 1, {}), class_of(9, 1, {}));
}

}  // namespace
}  // namespace octavo::blocks::hdq
