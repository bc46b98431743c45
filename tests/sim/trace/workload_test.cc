// The generators: the same bytes everywhere, and the structure that each workload promises.

#include <map>
#include <set>
#include <sstream>

#include "octavo/sim/trace_generate.h"
#include "octavo/sim/trace_stats.h"
#include "octavo/sim/trace_write.h"
#include "trace_testing.h"

namespace octavo::sim {
namespace {

constexpr WorkloadKind kKinds[] = {WorkloadKind::Chat, WorkloadKind::Agent,
                                   WorkloadKind::Adversarial};

std::string bytes_of(const WorkloadOptions& options) {
  std::ostringstream out;
  write_workload(options, out);
  return out.str();
}

std::vector<TraceRequest> requests_of(const WorkloadOptions& options) {
  return read_all(*make_workload(options));
}

// Requests by session, in order.
std::map<std::uint64_t, std::vector<TraceRequest>> sessions_of(const WorkloadOptions& options) {
  std::map<std::uint64_t, std::vector<TraceRequest>> sessions;
  for (const TraceRequest& request : requests_of(options)) {
    sessions[request.session.value()].push_back(request);
  }
  return sessions;
}

// Whether all whole blocks of `before` are the first blocks of `after`.
bool continues(const TraceRequest& before, const TraceRequest& after, std::int64_t block_size) {
  const std::int64_t whole = before.input_tokens / block_size;
  return static_cast<std::int64_t>(after.block_ids.size()) >= whole &&
         std::equal(before.block_ids.begin(), before.block_ids.begin() + whole,
                    after.block_ids.begin());
}

// Hits of whole blocks in a cache of `capacity` blocks that evicts the least recently used one.
std::int64_t lru_hits(const std::vector<TraceRequest>& requests, std::size_t capacity) {
  std::map<std::uint64_t, std::int64_t> used;  // By id.
  std::map<std::int64_t, std::uint64_t> order;
  std::int64_t clock = 0;
  std::int64_t hits = 0;
  for (const TraceRequest& request : requests) {
    bool prefix = true;
    for (const std::uint64_t id : request.block_ids) {
      prefix = prefix && used.count(id) != 0;
      hits += prefix ? 1 : 0;
      if (used.count(id) != 0) {
        order.erase(used[id]);
      }
      used[id] = ++clock;
      order[clock] = id;
      if (used.size() > capacity) {
        used.erase(order.begin()->second);
        order.erase(order.begin());
      }
    }
  }
  return hits;
}

TEST(Workload, WritesTheSameBytesForTheSameOptions) {
  for (const WorkloadKind kind : kKinds) {
    const std::string bytes = bytes_of({.kind = kind, .seed = 7, .requests = 300});
    EXPECT_EQ(bytes, bytes_of({.kind = kind, .seed = 7, .requests = 300}));
    EXPECT_NE(bytes, bytes_of({.kind = kind, .seed = 8, .requests = 300}));
  }
}

TEST(Workload, RequestsDifferForDifferentSeeds) {
  for (const WorkloadKind kind : kKinds) {
    const std::string a = bytes_of({.kind = kind, .seed = 1, .requests = 200});
    const std::string b = bytes_of({.kind = kind, .seed = 2, .requests = 200});
    EXPECT_NE(a.substr(a.find('\n')), b.substr(b.find('\n')));
  }
}

TEST(Workload, OfFewerRequestsIsTheBeginningOfOneOfMore) {
  for (const WorkloadKind kind : kKinds) {
    const std::string few = bytes_of({.kind = kind, .requests = 50});
    const std::string many = bytes_of({.kind = kind, .requests = 200});
    const std::string lines = few.substr(few.find('\n'));
    EXPECT_EQ(many.substr(many.find('\n'), lines.size()), lines);
  }
}

TEST(Workload, MakesTheCommittedFiles) {
  const std::string folder = OCTAVO_SOURCE_DIR "/traces/";
  EXPECT_EQ(bytes_of({.kind = WorkloadKind::Chat, .seed = 1, .requests = 600}),
            slurp(folder + "chat.jsonl"));
  EXPECT_EQ(bytes_of({.kind = WorkloadKind::Agent, .seed = 1, .requests = 600}),
            slurp(folder + "agent.jsonl"));
  EXPECT_EQ(bytes_of({.kind = WorkloadKind::Adversarial, .seed = 1, .requests = 1000}),
            slurp(folder + "adversarial.jsonl"));
}

TEST(Workload, IsReadBackAsItWasMade) {
  for (const WorkloadKind kind : kKinds) {
    const WorkloadOptions options{.kind = kind, .seed = 3, .requests = 300};
    const auto made = requests_of(options);
    const TempFile file(bytes_of(options));
    const auto reader = open_trace(file.path());
    EXPECT_EQ(reader->block_size(), workload_block_size(options));
    const auto read = read_all(*reader);
    ASSERT_EQ(read.size(), made.size());
    for (std::size_t i = 0; i < read.size(); ++i) {
      EXPECT_EQ(read[i].arrival_ns, made[i].arrival_ns);
      EXPECT_EQ(read[i].input_tokens, made[i].input_tokens);
      EXPECT_EQ(read[i].output_tokens, made[i].output_tokens);
      EXPECT_EQ(read[i].session, made[i].session);
      EXPECT_EQ(read[i].block_ids, made[i].block_ids);
    }
  }
}

TEST(Workload, IsSortedAndPrefixChainedAtEveryBlockSize) {
  for (const WorkloadKind kind : kKinds) {
    for (const std::int64_t block_size : {0, 1, 2, 7, 1000}) {
      const auto workload =
          make_workload({.kind = kind, .requests = 1500, .block_size = block_size});
      const TraceStats stats = compute_trace_stats(*workload);
      EXPECT_EQ(stats.requests, 1500);
      EXPECT_TRUE(stats.sorted());
      EXPECT_TRUE(stats.prefix_chained()) << to_string(kind) << " " << block_size;
    }
  }
}

TEST(Workload, RefusesOptionsOutOfRange) {
  const auto message = [](const WorkloadOptions& options) {
    try {
      make_workload(options);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::InvalidArgument);
      return std::string(error.what());
    }
    return std::string("nothing was thrown");
  };
  EXPECT_EQ(message({.requests = 0}), "make_workload: requests 0 is outside [1, 1000000000]");
  EXPECT_EQ(message({.block_size = -1}), "make_workload: block_size -1 is outside [0, 65536]");
  EXPECT_EQ(message({.pool_blocks = 7}), "make_workload: pool_blocks 7 is outside [8, 65536]");
  EXPECT_THROW(parse_workload_kind("Chat"), Error);
}

TEST(ChatWorkload, GrowsEveryHistoryByQuestionAndAnswer) {
  const auto sessions = sessions_of({.kind = WorkloadKind::Chat, .requests = 3000});
  int turns = 0;
  int repeats = 0;
  for (const auto& [session, requests] : sessions) {
    for (std::size_t i = 1; i < requests.size(); ++i) {
      const TraceRequest& before = requests[i - 1];
      const TraceRequest& after = requests[i];
      EXPECT_GE(after.arrival_ns, before.arrival_ns + before.output_tokens * 20'000'000);
      EXPECT_TRUE(continues(before, after, 64));
      ++turns;
      if (after.block_ids == before.block_ids) {
        ++repeats;
        EXPECT_EQ(after.input_tokens, before.input_tokens);
      } else {
        EXPECT_GE(after.input_tokens, before.input_tokens + before.output_tokens + 8);
      }
    }
  }
  EXPECT_GT(turns, 2000);
  EXPECT_NEAR(repeats, turns / 20, turns / 60);
}

TEST(ChatWorkload, SharesAFewSystemPrompts) {
  const auto sessions = sessions_of({.kind = WorkloadKind::Chat, .requests = 3000});
  std::map<std::uint64_t, int> first_blocks;
  for (const auto& [session, requests] : sessions) {
    ++first_blocks[requests.front().block_ids.front()];
  }
  EXPECT_EQ(first_blocks.size(), 5U);
  for (const auto& [id, count] : first_blocks) {
    EXPECT_GT(count, 20);
  }
}

TEST(AgentWorkload, AppendsToItsContextUntilItIsSummarised) {
  const auto sessions = sessions_of({.kind = WorkloadKind::Agent, .requests = 5000});
  int steps = 0;
  int summaries = 0;
  for (const auto& [session, requests] : sessions) {
    for (std::size_t i = 1; i < requests.size(); ++i) {
      ++steps;
      EXPECT_LE(requests[i].input_tokens, 32768);
      if (requests[i].input_tokens < requests[i - 1].input_tokens) {
        ++summaries;
        EXPECT_EQ(requests[i].block_ids.front(), requests[i - 1].block_ids.front());
      } else {
        EXPECT_TRUE(continues(requests[i - 1], requests[i], 512));
        EXPECT_GE(requests[i].input_tokens,
                  requests[i - 1].input_tokens + requests[i - 1].output_tokens + 50);
      }
    }
  }
  EXPECT_GT(steps, 4000);
  EXPECT_GT(summaries, 10);
  EXPECT_LT(summaries, steps / 20);
}

TEST(AgentWorkload, StartsSubAgentsBehindOneSharedPreamble) {
  const auto sessions = sessions_of({.kind = WorkloadKind::Agent, .requests = 5000});
  std::map<std::uint64_t, int> first_blocks;
  std::map<std::int64_t, int> starts;
  for (const auto& [session, requests] : sessions) {
    ++first_blocks[requests.front().block_ids.front()];
    ++starts[requests.front().arrival_ns];
  }
  EXPECT_EQ(first_blocks.size(), 4U);  // Three agents, and the sub-agents.
  int together = 0;
  for (const auto& [time_ns, count] : starts) {
    together = std::max(together, count);
  }
  EXPECT_EQ(together, 3);  // Sub-agents of one step start at once.
}

TEST(AdversarialWorkload, ScansJustMoreThanThePoolHolds) {
  for (const std::int64_t pool : {8, 15, 100, 256}) {
    auto sessions =
        sessions_of({.kind = WorkloadKind::Adversarial, .requests = 2000, .pool_blocks = pool});
    const auto& scan = sessions.at(0);
    std::set<std::uint64_t> distinct;
    std::int64_t touches = 0;
    for (const TraceRequest& request : scan) {
      distinct.insert(request.block_ids.begin(), request.block_ids.end());
      touches += static_cast<std::int64_t>(request.block_ids.size());
    }
    const auto blocks = static_cast<std::int64_t>(distinct.size());
    EXPECT_GT(blocks, pool);
    EXPECT_LE(blocks, pool + pool / 8 + 9);
    EXPECT_EQ(lru_hits(scan, static_cast<std::size_t>(pool)), 0);
    EXPECT_EQ(lru_hits(scan, distinct.size()), touches - blocks);
  }
}

TEST(AdversarialWorkload, BranchesAtEveryBlock) {
  const auto sessions = sessions_of({.kind = WorkloadKind::Adversarial, .requests = 400});
  const auto& comb = sessions.at(1);
  const TraceRequest& trunk = comb.at(0);
  ASSERT_EQ(trunk.block_ids.size(), 32U);
  std::set<std::size_t> branch_points;
  for (std::size_t i = 1; i < 33; ++i) {
    const auto& ids = comb.at(i).block_ids;
    const auto split =
        std::mismatch(ids.begin(), ids.end(), trunk.block_ids.begin(), trunk.block_ids.end());
    EXPECT_NE(split.first, ids.end());
    branch_points.insert(static_cast<std::size_t>(split.first - ids.begin()));
  }
  EXPECT_EQ(branch_points.size(), 32U);
  EXPECT_EQ(*branch_points.begin(), 1U);
}

TEST(AdversarialWorkload, HoldsTheAwkwardLengths) {
  const auto sessions = sessions_of({.kind = WorkloadKind::Adversarial, .requests = 1000});
  for (const TraceRequest& request : sessions.at(2)) {
    EXPECT_EQ(request.input_tokens % 16, 0);
  }
  std::map<std::int64_t, std::set<std::vector<std::uint64_t>>> tiny;
  for (const TraceRequest& request : sessions.at(3)) {
    tiny[request.input_tokens].insert(request.block_ids);
  }
  std::vector<std::int64_t> lengths;
  for (const auto& [tokens, prompts] : tiny) {
    lengths.push_back(tokens);
    EXPECT_GT(prompts.size(), 1U);
  }
  EXPECT_EQ(lengths, (std::vector<std::int64_t>{1, 15, 16, 17, 31, 32, 33}));
  const auto& burst = sessions.at(4);
  for (std::size_t i = 1; i < 8; ++i) {
    EXPECT_EQ(burst.at(i).arrival_ns, burst.at(0).arrival_ns);
    EXPECT_EQ(burst.at(i).block_ids, burst.at(0).block_ids);
  }
  std::set<std::uint64_t> tails;
  for (std::size_t i = 0; i < 12; ++i) {
    const TraceRequest& request = sessions.at(5).at(i);
    ASSERT_EQ(request.block_ids.size(), 3U);
    EXPECT_NE(request.input_tokens % 16, 0);
    EXPECT_EQ(request.block_ids[1], sessions.at(5).at(0).block_ids[1]);
    tails.insert(request.block_ids[2]);
  }
  EXPECT_EQ(tails.size(), 6U);
  for (std::size_t i = 0; i < 20; ++i) {
    EXPECT_EQ(sessions.at(6).at(i).input_tokens, static_cast<std::int64_t>(i) + 1);
  }
}

TEST(TraceWriter, RefusesWhatNoReaderTakesBack) {
  std::ostringstream out;
  EXPECT_THROW(TraceWriter(out, {.block_size = 0}), Error);
  EXPECT_EQ(out.str(), "");
  TraceWriter writer(out, {.block_size = 16});
  const std::string header = out.str();
  EXPECT_EQ(header, "{\"octavo_trace\":1,\"block_size\":16}\n");
  const TraceRequest good{.input_tokens = 17, .block_ids = {1, 2}};
  for (auto spoil :
       {+[](TraceRequest& r) { r.arrival_ns = -1; }, +[](TraceRequest& r) { r.input_tokens = 0; },
        +[](TraceRequest& r) { r.output_tokens = -1; },
        +[](TraceRequest& r) { r.block_ids.pop_back(); }}) {
    TraceRequest bad = good;
    spoil(bad);
    EXPECT_THROW(writer.write(bad), Error);
  }
  EXPECT_EQ(out.str(), header);
  writer.write(good);
  EXPECT_EQ(out.str(), header +
                           "{\"time_ns\":0,\"input_tokens\":17,\"output_tokens\":0,"
                           "\"block_ids\":[1,2]}\n");
}

}  // namespace
}  // namespace octavo::sim
