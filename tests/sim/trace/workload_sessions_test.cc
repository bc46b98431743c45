// The session workloads: the same bytes everywhere, and the structure that each kind promises.

#include <cmath>
#include <map>
#include <set>
#include <sstream>

#include "octavo/sim/rng.h"
#include "octavo/sim/trace_generate.h"
#include "octavo/sim/trace_stats.h"
#include "trace_testing.h"

namespace octavo::sim {
namespace {

constexpr WorkloadKind kKinds[] = {WorkloadKind::Synthetic, WorkloadKind::Sessions,
                                   WorkloadKind::Tools, WorkloadKind::Media, WorkloadKind::Mix};

WorkloadOptions of_kind(WorkloadKind kind, std::int64_t requests, std::uint64_t seed = 1) {
  return {.kind = kind, .seed = seed, .requests = requests, .sessions = session_defaults(kind)};
}

std::string bytes_of(const WorkloadOptions& options) {
  std::ostringstream out;
  write_workload(options, out);
  return out.str();
}

std::vector<TraceRequest> requests_of(const WorkloadOptions& options) {
  return read_all(*make_workload(options));
}

std::map<std::uint64_t, std::vector<TraceRequest>> sessions_of(const WorkloadOptions& options) {
  std::map<std::uint64_t, std::vector<TraceRequest>> sessions;
  for (const TraceRequest& request : requests_of(options)) {
    sessions[request.session.value()].push_back(request);
  }
  return sessions;
}

TEST(SessionWorkloads, AreTheSameBytesEverywhere) {
  const auto digest = [](WorkloadKind kind) {
    std::uint64_t state = 0;
    for (const char c : bytes_of(of_kind(kind, 500, 11))) {
      state ^= static_cast<unsigned char>(c);
      state = splitmix64(state);
    }
    return state;
  };
  EXPECT_EQ(digest(WorkloadKind::Synthetic), 10181206933439971658U);
  EXPECT_EQ(digest(WorkloadKind::Sessions), 10998052307679231522U);
  EXPECT_EQ(digest(WorkloadKind::Tools), 141511908875865651U);
  EXPECT_EQ(digest(WorkloadKind::Media), 16487373857041991721U);
  EXPECT_EQ(digest(WorkloadKind::Mix), 13047912326274323458U);
}

TEST(SessionWorkloads, AreSortedPrefixChainedAndReadBack) {
  for (const WorkloadKind kind : kKinds) {
    for (const std::int64_t block_size : {0, 1, 7, 600}) {
      WorkloadOptions options = of_kind(kind, 400);
      options.block_size = block_size;
      const TraceStats stats = compute_trace_stats(*make_workload(options));
      EXPECT_EQ(stats.requests, 400);
      EXPECT_TRUE(stats.sorted());
      EXPECT_TRUE(stats.prefix_chained()) << to_string(kind) << " " << block_size;
    }
    const auto made = requests_of(of_kind(kind, 300));
    const auto read = read_text(bytes_of(of_kind(kind, 300)));
    ASSERT_EQ(read.size(), made.size());
    for (std::size_t i = 0; i < read.size(); ++i) {
      EXPECT_EQ(read[i].arrival_ns, made[i].arrival_ns);
      EXPECT_EQ(read[i].output_tokens, made[i].output_tokens);
      EXPECT_EQ(read[i].session, made[i].session);
      EXPECT_EQ(read[i].delay_ns, made[i].delay_ns);
      EXPECT_EQ(read[i].block_ids, made[i].block_ids);
    }
  }
}

TEST(SessionWorkloads, OfFewerRequestsAreTheBeginningOfOnesOfMore) {
  for (const WorkloadKind kind : kKinds) {
    const std::string few = bytes_of(of_kind(kind, 50));
    const std::string many = bytes_of(of_kind(kind, 200));
    const std::string lines = few.substr(few.find('\n'));
    EXPECT_EQ(many.substr(many.find('\n'), lines.size()), lines);
  }
}

TEST(SessionWorkloads, AnotherRateMovesTheSameRequests) {
  WorkloadOptions options = of_kind(WorkloadKind::Synthetic, 200);
  options.sessions.profiles[0].range_permille = 500;
  const auto slow = requests_of(options);
  options.sessions.arrivals.rate_micro *= 10;
  const auto fast = requests_of(options);
  for (std::size_t i = 0; i < slow.size(); ++i) {
    EXPECT_EQ(slow[i].input_tokens, fast[i].input_tokens);
    EXPECT_EQ(slow[i].output_tokens, fast[i].output_tokens);
    EXPECT_NEAR(static_cast<double>(slow[i].arrival_ns) / 10,
                static_cast<double>(fast[i].arrival_ns), 200);
  }
}

TEST(SyntheticWorkload, IsOfFixedLengthsAndSharesNothing) {
  WorkloadOptions options = of_kind(WorkloadKind::Synthetic, 500);
  std::set<std::uint64_t> ids;
  std::size_t count = 0;
  for (const TraceRequest& request : requests_of(options)) {
    EXPECT_EQ(request.input_tokens, 1000);
    EXPECT_EQ(request.output_tokens, 200);
    EXPECT_FALSE(request.session.has_value());
    EXPECT_FALSE(request.delay_ns.has_value());
    ids.insert(request.block_ids.begin(), request.block_ids.end());
    count += request.block_ids.size();
  }
  EXPECT_EQ(ids.size(), count);
  options.sessions.profiles[0].range_permille = 250;
  std::int64_t least = 1000;
  std::int64_t most = 1000;
  for (const TraceRequest& request : requests_of(options)) {
    least = std::min(least, request.input_tokens);
    most = std::max(most, request.input_tokens);
    EXPECT_GE(request.output_tokens, 150);
    EXPECT_LE(request.output_tokens, 250);
  }
  EXPECT_NEAR(static_cast<double>(least), 750, 10);
  EXPECT_NEAR(static_cast<double>(most), 1250, 10);
}

TEST(ChatSessions, GrowByAnswerAndQuestionAndWaitForTheirUsers) {
  const auto sessions = sessions_of(of_kind(WorkloadKind::Sessions, 6000));
  std::int64_t turns = 0;
  double think_ns = 0;
  std::map<std::uint64_t, int> systems;
  for (const auto& [session, requests] : sessions) {
    EXPECT_FALSE(requests[0].delay_ns.has_value());
    ++systems[requests[0].block_ids[0]];
    for (std::size_t i = 1; i < requests.size(); ++i) {
      const TraceRequest& before = requests[i - 1];
      const TraceRequest& after = requests[i];
      ASSERT_TRUE(after.delay_ns.has_value());
      EXPECT_EQ(after.arrival_ns,
                before.arrival_ns + before.output_tokens * 20'000'000 + *after.delay_ns);
      EXPECT_GT(after.input_tokens, before.input_tokens + before.output_tokens);
      const auto whole = before.block_ids.begin() + before.input_tokens / 16;
      EXPECT_TRUE(std::equal(before.block_ids.begin(), whole, after.block_ids.begin()));
      think_ns += static_cast<double>(*after.delay_ns);
      ++turns;
    }
  }
  EXPECT_NEAR(think_ns / static_cast<double>(turns), 30e9, 30e9 * 4.5 / 69);  // 69 = sqrt(4800)
  EXPECT_NEAR(static_cast<double>(turns) / static_cast<double>(sessions.size()), 4, 0.6);
  EXPECT_EQ(systems.size(), 10U);
  int first = 0;
  for (const auto& [id, count] : systems) {
    first = std::max(first, count);
  }
  // The first of ten prompts at exponent 1 has 1 of 2.929 parts.
  const double share = first / static_cast<double>(sessions.size());
  EXPECT_NEAR(share, 0.3414, 4.5 * 0.474 / std::sqrt(static_cast<double>(sessions.size())));
}

TEST(ChatSessions, AreOpenLoopWhenAskedTo) {
  WorkloadOptions options = of_kind(WorkloadKind::Sessions, 300);
  const auto closed = requests_of(options);
  options.sessions.closed_loop = false;
  const auto open = requests_of(options);
  for (std::size_t i = 0; i < open.size(); ++i) {
    EXPECT_FALSE(open[i].delay_ns.has_value());
    EXPECT_EQ(open[i].arrival_ns, closed[i].arrival_ns);
  }
}

TEST(ChatSessions, EndWhenTheContextIsFull) {
  WorkloadOptions options = of_kind(WorkloadKind::Tools, 2000);
  options.sessions.context_tokens = 10'000;
  std::int64_t longest = 0;
  for (const TraceRequest& request : requests_of(options)) {
    longest = std::max(longest, request.input_tokens);
  }
  EXPECT_LT(longest, 10'000 + 1140);  // One more question of 600 +- 90 %.
  EXPECT_GT(longest, 9'500);
}

// The lengths of the shared beginnings of two prompts, in ids.
std::size_t shared_ids(const TraceRequest& a, const TraceRequest& b) {
  const auto end =
      std::mismatch(a.block_ids.begin(), a.block_ids.end(), b.block_ids.begin(), b.block_ids.end());
  return static_cast<std::size_t>(end.first - a.block_ids.begin());
}

TEST(MediaWorkload, SharesAnImageBehindTheSameTextOnly) {
  // 200 tokens of text and two images of 100: ids of 10 tokens make the borders visible.
  WorkloadOptions options = of_kind(WorkloadKind::Media, 3000);
  options.block_size = 10;
  SessionProfile& profile = options.sessions.profiles[0];
  profile.images = 2;
  profile.image_tokens = 100;
  profile.image_pool = 5;
  const auto requests = requests_of(options);
  std::map<std::size_t, int> lengths;
  for (std::size_t i = 1; i < requests.size(); ++i) {
    ++lengths[shared_ids(requests[0], requests[i])];
  }
  // The text alone, one image, both images; nothing in between and nothing more.
  ASSERT_EQ(lengths.size(), 3U);
  for (const std::size_t length : {20U, 30U, 40U}) {
    EXPECT_GT(lengths[length], 20) << length;
  }
  // Twenty-five pairs of images, ten blocks for each of five first and 25 second ones.
  std::set<std::uint64_t> image_ids;
  for (const TraceRequest& request : requests) {
    image_ids.insert(request.block_ids.begin() + 20, request.block_ids.begin() + 40);
  }
  EXPECT_EQ(image_ids.size(), 10U * (5 + 25));
}

TEST(MediaWorkload, SharesBlocksThatAnImageBeginsOrEndsIn) {
  // Text of 15, images of 25, blocks of 10: block 1 is text and image, block 3 image and image.
  WorkloadOptions options = of_kind(WorkloadKind::Media, 1000);
  options.block_size = 10;
  SessionProfile& profile = options.sessions.profiles[0];
  profile.system_tokens = 15;
  profile.images = 2;
  profile.image_tokens = 25;
  profile.image_pool = 2;
  std::vector<std::set<std::uint64_t>> ids(7);
  for (const TraceRequest& request : requests_of(options)) {
    for (std::size_t i = 0; i < ids.size(); ++i) {
      ids[i].insert(request.block_ids.at(i));
    }
  }
  EXPECT_EQ(ids[0].size(), 1U);
  EXPECT_EQ(ids[1].size(), 2U);  // Text, then the first image.
  EXPECT_EQ(ids[3].size(), 2U);  // 30 .. 39: the first image's end.
  EXPECT_EQ(ids[4].size(), 4U);  // 40 .. 49: the second one.
  EXPECT_EQ(ids[5].size(), 4U);
  EXPECT_GT(ids[6].size(), 900U);  // 60 .. 69: its end and the request's own text.
}

TEST(MixWorkload, HoldsItsShares) {
  const auto requests = requests_of(of_kind(WorkloadKind::Mix, 20'000));
  std::set<std::uint64_t> chats;
  std::set<std::uint64_t> loops;
  std::int64_t images = 0;
  for (const TraceRequest& request : requests) {
    if (!request.session) {
      ++images;
      EXPECT_GE(request.input_tokens, 776);
    } else if (!request.delay_ns) {
      (request.input_tokens > 8000 ? loops : chats).insert(*request.session);
    }
  }
  const double sessions =
      static_cast<double>(images) + static_cast<double>(chats.size() + loops.size());
  EXPECT_NEAR(static_cast<double>(chats.size()) / sessions, 0.70, 0.04);
  EXPECT_NEAR(static_cast<double>(loops.size()) / sessions, 0.20, 0.04);
  EXPECT_NEAR(static_cast<double>(images) / sessions, 0.10, 0.03);
}

TEST(SessionWorkloads, RefuseOptionsOutOfRange) {
  const auto message = [](auto&& spoil) {
    WorkloadOptions options = of_kind(WorkloadKind::Sessions, 10);
    spoil(options.sessions);
    try {
      make_workload(options);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::InvalidArgument);
      return std::string(error.what());
    }
    return std::string("nothing was thrown");
  };
  EXPECT_EQ(message([](SessionOptions& o) { o.arrivals.rate_micro = 0; }),
            "make_workload: rate_micro 0 is outside [1, 1000000000000]");
  EXPECT_EQ(message([](SessionOptions& o) { o.arrivals.burstiness_percent = 0; }),
            "make_workload: burstiness_percent 0 is outside [1, 10000]");
  EXPECT_EQ(message([](SessionOptions& o) { o.profiles[0].turns_percent = 99; }),
            "make_workload: turns_percent 99 is outside [100, 1000000]");
  EXPECT_EQ(message([](SessionOptions& o) {
              o.shares = {0, 0, 0};
            }),
            "make_workload: sum of shares 0 is outside [1, 3000000]");
  EXPECT_THROW(session_defaults(WorkloadKind::Chat), Error);
  EXPECT_THROW(parse_arrival_process("uniform"), Error);
}

}  // namespace
}  // namespace octavo::sim
