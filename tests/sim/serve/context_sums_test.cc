// The sums of a step against sums over every token.

#include "context_sums.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "octavo/sim/rng.h"
#include <gtest/gtest.h>

namespace octavo::sim {
namespace {

TEST(ContextSums, FollowAnyComingGrowingAndGoing) {
  const std::vector<std::int64_t> spans = {0, 1, 7, 50};
  Rng rng(3);
  ContextSums sums(spans, 1000);
  std::vector<std::int64_t> lengths;
  for (int turn = 0; turn < 5000; ++turn) {
    const std::uint64_t what = rng.below(4);
    if (what == 0 && lengths.size() < 20) {
      lengths.push_back(rng.between(1, 60));
      sums.join(lengths.back());
    } else if (what == 1 && !lengths.empty()) {
      sums.leave(lengths.back());
      lengths.pop_back();
    } else if (what == 2 && !lengths.empty()) {
      sums.leave(lengths.front());
      lengths.front() += rng.between(1, 5);
      sums.join(lengths.front());
    } else {
      sums.advance();
      for (std::int64_t& length : lengths) {
        ++length;
      }
    }
    for (std::size_t i = 0; i < spans.size(); ++i) {
      std::int64_t expected = 0;
      for (const std::int64_t length : lengths) {
        expected += spans[i] == 0 ? length : std::min(length, spans[i]);
      }
      ASSERT_EQ(sums.tokens(i), expected) << "turn " << turn << ", span " << spans[i];
    }
  }
}

TEST(ContextSums, AWindowThatNobodyOutgrowsIsFullAttention) {
  const std::vector<std::int64_t> spans = {std::numeric_limits<std::int64_t>::max()};
  ContextSums sums(spans, 100);  // No ring of that size is made.
  sums.join(99);
  sums.advance();
  EXPECT_EQ(sums.tokens(0), 100);
}

TEST(SpanWork, CountsEveryPair) {
  for (std::int64_t past = 0; past <= 12; ++past) {
    for (std::int64_t count = 1; count <= 12; ++count) {
      for (std::int64_t span = 0; span <= 15; ++span) {
        std::int64_t pairs = 0;
        for (std::int64_t i = 1; i <= count; ++i) {
          pairs += span == 0 ? past + i : std::min(past + i, span);
        }
        const SpanWork work = span_work(past, count, span);
        EXPECT_EQ(work.attended_pairs, pairs) << past << " " << count << " " << span;
        // The first query of the step sees `span` tokens, each further one shifts by one.
        const std::int64_t seen =
            span == 0 ? past + count : std::min(past + count, span + count - 1);
        EXPECT_EQ(work.read_tokens, seen);
      }
    }
  }
}

}  // namespace
}  // namespace octavo::sim
