// The oracle: logs of our own manager agree with it, whatever their encoding, and a planted
// difference is found where it was planted.

#include <algorithm>
#include <set>

#include "event_log_writer.h"
#include "octavo/block_manager.h"
#include "octavo/sim/input_error.h"
#include "octavo/sim/kv_event_oracle.h"
#include "octavo/sim/rng.h"
#include "octavo/sim/trace_generate.h"

#include "tests/sim/trace/trace_testing.h"

namespace octavo::sim {
namespace {

using Prompt = std::vector<std::int32_t>;

constexpr int kBlock = 4;
constexpr std::int64_t kPool = 40;

// Another chained hash than the manager's own, as another engine would have.
std::uint64_t engine_hash(std::uint64_t parent, std::span<const std::int32_t> tokens) {
  std::uint64_t state = parent + 1;
  for (const std::int32_t token : tokens) {
    state ^= static_cast<std::uint32_t>(token);
    state = splitmix64(state);
  }
  return state;
}

// What an engine said: the events of each request, one live at a time. An empty prompt clears.
std::vector<std::vector<PlannedEvent>> engine_events(const std::vector<Prompt>& prompts,
                                                     std::int64_t blocks = kPool) {
  EventCollector collector;
  BlockManager manager({.num_blocks = blocks,
                        .block_size = kBlock,
                        .max_seqs = 1,
                        .partial_keys = false,
                        .block_hash = engine_hash,
                        .events = &collector});
  std::vector<std::vector<PlannedEvent>> batches;
  for (const Prompt& prompt : prompts) {
    if (prompt.empty()) {
      manager.reset();
    } else {
      const int slot = 0;
      const auto past = static_cast<std::int32_t>(manager.admit(slot, prompt));
      const std::int32_t lengths[] = {0, static_cast<std::int32_t>(prompt.size()) - past};
      manager.prepare_step(lengths, {&past, 1}, {&slot, 1});
      manager.update_position(slot, static_cast<std::int64_t>(prompt.size()));
      manager.retire(slot, prompt);
    }
    batches.push_back(std::move(collector.events));
    collector.events.clear();
  }
  return batches;
}

std::string log_of(const std::vector<std::vector<PlannedEvent>>& batches,
                   Encoding encoding,
                   Framing framing,
                   bool binary) {
  EventLogWriter writer(encoding, framing, binary);
  for (const auto& events : batches) {
    writer.write(events);
  }
  return writer.str();
}

// Prompts that share beginnings, each with a block of its own and one token behind whole blocks.
std::vector<Prompt> some_prompts(int count, std::uint64_t seed) {
  Rng rng(seed);
  std::vector<Prompt> prompts;
  for (int i = 0; i < count; ++i) {
    Prompt prompt;
    const std::int64_t shared = rng.between(0, 6) * kBlock;
    const auto story = static_cast<std::int32_t>(rng.below(5));
    for (std::int64_t at = 0; at < shared; ++at) {
      prompt.push_back(story * 100 + static_cast<std::int32_t>(at));
    }
    for (std::int64_t at = rng.between(1, 3) * kBlock; at >= 0; --at) {
      prompt.push_back(10'000 + i);
    }
    prompts.push_back(std::move(prompt));
  }
  return prompts;
}

OracleResult checked(const std::string& log, const OracleOptions& options = {.blocks = kPool}) {
  const TempFile file(log);
  return check_events(file.path(), options);
}

TEST(KvEventOracle, AgreesWithLogsOfOurOwnManagerInEveryEncoding) {
  const auto batches = engine_events(some_prompts(150, 1));
  for (const Encoding encoding :
       {Encoding::Arrays, Encoding::ArraysShort, Encoding::MapEvents, Encoding::Maps}) {
    for (const Framing framing :
         {Framing::Values, Framing::Messages, Framing::Frames, Framing::Multipart}) {
      const OracleResult result = checked(log_of(batches, encoding, framing, false));
      EXPECT_FALSE(result.difference) << result.difference->what;
      EXPECT_EQ(result.requests, 150);
      EXPECT_EQ(result.block_size, kBlock);
      EXPECT_GT(result.stores_agreed, 300);
      EXPECT_GT(result.removals_agreed, 200);
      EXPECT_GT(result.hit_tokens, 500);
    }
  }
  EXPECT_FALSE(checked(log_of(batches, Encoding::Maps, Framing::Frames, true)).difference);
}

TEST(KvEventOracle, FollowsClearings) {
  auto prompts = some_prompts(60, 2);
  prompts.insert(prompts.begin() + 20, Prompt{});
  prompts.insert(prompts.begin() + 45, Prompt{});
  const OracleResult result =
      checked(log_of(engine_events(prompts), Encoding::Arrays, Framing::Values, false));
  EXPECT_FALSE(result.difference) << result.difference->what;
  EXPECT_EQ(result.clears_agreed, 2);
  EXPECT_EQ(result.requests, 60);
}

// Swaps the `number`-th removed block (from 0) with the one behind it.
void swap_removals(std::vector<std::vector<PlannedEvent>>& batches, std::int64_t number) {
  std::vector<std::uint64_t*> removed;
  for (auto& events : batches) {
    for (PlannedEvent& event : events) {
      if (event.kind == PlannedEvent::Kind::Removed) {
        for (std::uint64_t& hash : event.hashes) {
          removed.push_back(&hash);
        }
      }
    }
  }
  const auto at = static_cast<std::size_t>(number);
  std::swap(*removed.at(at), *removed.at(at + 1));
}

TEST(KvEventOracle, FindsAnotherOrderOfEvictionWhereItIs) {
  for (const std::int64_t planted : {0, 1, 57, 150}) {
    auto batches = engine_events(some_prompts(150, 3));
    swap_removals(batches, planted);
    const OracleResult result = checked(log_of(batches, Encoding::Arrays, Framing::Values, false));
    ASSERT_TRUE(result.difference);
    EXPECT_EQ(result.difference->kind, OracleDifference::Kind::Removed);
    EXPECT_EQ(result.removals_agreed, planted);
    EXPECT_EQ(result.difference->what, "the engine and the replay evict different blocks");
    EXPECT_NE(result.difference->engine.name, "");
    EXPECT_NE(result.difference->ours.name, "");
    EXPECT_GE(result.difference->engine.position, 0);
    EXPECT_GE(result.difference->ours.position, 0);
    // One request a batch, so that both counts name the same one.
    EXPECT_EQ(result.difference->batch, result.difference->request);
  }
}

TEST(KvEventOracle, FindsAPoolOfAnotherSize) {
  const auto log =
      log_of(engine_events(some_prompts(150, 4)), Encoding::Arrays, Framing::Values, false);
  for (const std::int64_t blocks : {kPool - 1, kPool + 1}) {
    const OracleResult result = checked(log, {.blocks = blocks});
    ASSERT_TRUE(result.difference);
    EXPECT_GT(result.stores_agreed, 0);
  }
}

TEST(KvEventOracle, FindsALostRemovalAndALostEnd) {
  auto batches = engine_events(some_prompts(100, 5));
  for (auto& events : batches) {
    const auto removed = std::find_if(events.begin(), events.end(), [](const PlannedEvent& event) {
      return event.kind == PlannedEvent::Kind::Removed;
    });
    if (removed != events.end()) {
      removed->hashes.erase(removed->hashes.begin());
      if (removed->hashes.empty()) {
        events.erase(removed);
      }
      break;
    }
  }
  OracleResult result = checked(log_of(batches, Encoding::Maps, Framing::Values, false));
  ASSERT_TRUE(result.difference);
  EXPECT_EQ(result.removals_agreed, 0);

  // The last removal is missing: everything agrees until the replay evicts one block more.
  batches = engine_events(some_prompts(100, 5));
  std::int64_t removals = 0;
  for (const auto& events : batches) {
    for (const PlannedEvent& event : events) {
      removals += event.kind == PlannedEvent::Kind::Removed
                      ? static_cast<std::int64_t>(event.hashes.size())
                      : 0;
    }
  }
  for (auto events = batches.rbegin(); events != batches.rend(); ++events) {
    const auto removed = std::find_if(
        events->rbegin(), events->rend(),
        [](const PlannedEvent& event) { return event.kind == PlannedEvent::Kind::Removed; });
    if (removed != events->rend()) {
      removed->hashes.pop_back();
      if (removed->hashes.empty()) {
        events->erase(std::next(removed).base());
      }
      break;
    }
  }
  result = checked(log_of(batches, Encoding::Maps, Framing::Values, false));
  ASSERT_TRUE(result.difference);
  EXPECT_EQ(result.difference->kind, OracleDifference::Kind::OursLeft);
  EXPECT_EQ(result.removals_agreed, removals - 1);
}

// A trace and what an engine said about its requests. Tokens of an engine are none of the trace's.
struct Recorded {
  std::string trace;
  std::vector<std::vector<PlannedEvent>> batches;
};

Recorded recorded_trace() {
  Recorded recorded{"{\"octavo_trace\":1,\"block_size\":8}\n", {}};
  std::vector<Prompt> prompts;
  Rng rng(9);
  std::uint64_t fresh = 1000;
  for (int i = 0; i < 120; ++i) {
    const std::int64_t shared = rng.between(0, 3);
    const std::uint64_t story = rng.below(4) * 10;
    std::vector<std::uint64_t> ids;
    for (std::int64_t at = 0; at < shared; ++at) {
      ids.push_back(story + static_cast<std::uint64_t>(at));
    }
    ids.push_back(fresh++);
    const std::int64_t input = static_cast<std::int64_t>(ids.size()) * 8 - rng.between(0, 7);
    Prompt prompt;
    std::string text;
    for (const std::uint64_t id : ids) {
      text += (text.empty() ? "" : ",") + std::to_string(id);
      for (std::int32_t at = 0; at < 8; ++at) {
        prompt.push_back(static_cast<std::int32_t>(id) * 77 + at);
      }
    }
    prompt.resize(static_cast<std::size_t>(input));
    prompts.push_back(prompt);
    recorded.trace += "{\"time_ns\":" + std::to_string(i) +
                      ",\"input_tokens\":" + std::to_string(input) +
                      ",\"output_tokens\":0,\"block_ids\":[" + text + "]}\n";
  }
  recorded.batches = engine_events(prompts);
  return recorded;
}

TEST(KvEventOracle, ReplaysTheRequestsOfATrace) {
  Recorded recorded = recorded_trace();
  const TempFile trace(recorded.trace);
  const auto check = [&](const OracleOptions& options) {
    const TempFile log(log_of(recorded.batches, Encoding::MapEvents, Framing::Multipart, true));
    return check_events(log.path(), options, open_trace(trace.path()).get());
  };
  OracleResult result = check({.blocks = kPool});
  EXPECT_FALSE(result.difference) << result.difference->what;
  EXPECT_EQ(result.requests, 120);
  EXPECT_GT(result.removals_agreed, 80);
  EXPECT_FALSE(check({.blocks = kPool, .limit = 60}).difference);

  swap_removals(recorded.batches, 33);
  result = check({.blocks = kPool});
  ASSERT_TRUE(result.difference);
  EXPECT_EQ(result.removals_agreed, 33);

  // Requests that the trace lacks are what the log goes on with.
  recorded = recorded_trace();
  const TempFile shorter(recorded.trace.substr(0, recorded.trace.rfind("{\"time_ns\":119")));
  const TempFile log(log_of(recorded.batches, Encoding::Arrays, Framing::Values, false));
  result = check_events(log.path(), {.blocks = kPool}, open_trace(shorter.path()).get());
  ASSERT_TRUE(result.difference);
  EXPECT_EQ(result.difference->kind, OracleDifference::Kind::EngineLeft);
  EXPECT_EQ(result.requests, 119);
}

TEST(KvEventOracle, RefusesLogsThatItCannotFollow) {
  const auto message = [](const std::string& log,
                          const OracleOptions& options = {.blocks = kPool}) {
    const TempFile file(log);
    const std::string text = input_error_of([&] { check_events(file.path(), options); });
    return text.substr(std::min(text.size(), file.path().size()));
  };
  EXPECT_EQ(message("[1,[]]"), ": stores no block, expected a log that does");
  EXPECT_EQ(message("[1,[[\"BlockStored\",[2],1,[5],1]]]"),
            ": line 1, batch 1: stores a block behind 0x0000000000000001, which is not cached, "
            "expected a log from the engine's start on");
  EXPECT_EQ(message("[1,[[\"BlockStored\",[2],null,[5],1]],0]\n[1,[],1]"),
            ": line 2, batch 2: is of another data-parallel rank than the batches before, expected "
            "one rank, or to be told which");
  EXPECT_EQ(message("[1,[[\"BlockStored\",[2],null,[5],1],[\"BlockStored\",[3],2,[5,6],2]]]"),
            ": line 1, batch 1: stores blocks of 2 tokens behind blocks of 1, expected one size");
  EventLogWriter gap(Encoding::Arrays, Framing::Messages);
  const auto batches = engine_events(some_prompts(2, 1));
  gap.write(batches[0]);
  gap.skip_sequence(3);
  gap.write(batches[1]);
  EXPECT_NE(message(gap.str()).find("has the sequence number 4 behind 0: batches are missing"),
            std::string::npos);
  EXPECT_NE(
      message(log_of(engine_events(some_prompts(40, 1)), Encoding::Arrays, Framing::Values, false),
              {.blocks = 3})
          .find("tokens, expected one that 3 blocks hold"),
      std::string::npos);
  const TempFile file("[1,[]]");
  EXPECT_THROW(check_events(file.path(), {.blocks = 0}), Error);
}

TEST(KvEventOracle, PassesOverOtherRanksGroupsAndMedia) {
  const std::string ours = "[1,[[\"BlockStored\",[2],null,[5],1]],0]\n";
  const std::string others =
      "[1,[[\"BlockStored\",[2],null,[5],1]],1]\n"
      "[1,[[\"BlockStored\",[2],null,[],1,null,\"CPU\"],"
      "[\"BlockRemoved\",[2],null,3]],0]\n";
  const OracleResult result = checked(ours + others, {.blocks = 4, .rank = 0});
  EXPECT_FALSE(result.difference);
  EXPECT_EQ(result.stores_agreed, 1);
  EXPECT_EQ(result.events_passed_over, 3);
}

}  // namespace
}  // namespace octavo::sim
