// Conversion: what is kept, what is refused, and that finer blocks share exactly what they did.

#include <algorithm>
#include <sstream>

#include "octavo/sim/replay.h"
#include "octavo/sim/trace_convert.h"
#include "octavo/sim/trace_generate.h"
#include "reblock.h"
#include "trace_testing.h"

namespace octavo::sim {
namespace {

std::string converted(const std::string& path,
                      const ConvertOptions& options,
                      const TraceOptions& reading = {}) {
  std::ostringstream out;
  convert_trace(*open_trace(path, reading), options, out);
  return out.str();
}

constexpr char kOctavo[] =
    "{\"octavo_trace\":1,\"block_size\":8}\n"
    "{\"time_ns\":1500000000,\"input_tokens\":20,\"output_tokens\":7,\"session\":3,"
    "\"block_ids\":[1,2,3]}\n"
    "{\"time_ns\":1000000001,\"input_tokens\":8,\"output_tokens\":0,\"session\":4,"
    "\"delay_ns\":3000000,\"block_ids\":[18446744073709551615]}\n"
    "{\"time_ns\":2000000000,\"input_tokens\":16,\"output_tokens\":1,\"session\":3,"
    "\"block_ids\":[1,2]}\n";

std::string lines(std::int64_t block, std::initializer_list<const char*> requests) {
  std::string text = "{\"octavo_trace\":1,\"block_size\":" + std::to_string(block) + "}\n";
  for (const char* request : requests) {
    text += request;
    text += '\n';
  }
  return text;
}

TEST(Convert, KeepsAnOctavoTraceAsItIs) {
  const TempFile file(kOctavo);
  EXPECT_EQ(converted(file.path(), {}), kOctavo);
}

TEST(Convert, SplitsIdsAndCutsTheLastOne) {
  const TempFile file(kOctavo);
  EXPECT_EQ(
      converted(file.path(), {.block_size = 4}),
      lines(4, {R"({"time_ns":1500000000,"input_tokens":20,"output_tokens":7,"session":3,)"
                R"("block_ids":[2,3,4,5,6]})",
                // The id of 64 bits is numbered: the first given name of 2^62, times two.
                R"({"time_ns":1000000001,"input_tokens":8,"output_tokens":0,"session":4,)"
                R"("delay_ns":3000000,"block_ids":[9223372036854775808,9223372036854775809]})",
                R"({"time_ns":2000000000,"input_tokens":16,"output_tokens":1,"session":3,)"
                R"("block_ids":[2,3,4,5]})"}));
}

TEST(Convert, CutsAWindowThenCountsThenSorts) {
  const TempFile file(kOctavo);
  const auto times = [&](const ConvertOptions& options) {
    std::vector<std::int64_t> result;
    for (const TraceRequest& request : read_text(converted(file.path(), options))) {
      result.push_back(request.arrival_ns);
    }
    return result;
  };
  using Times = std::vector<std::int64_t>;
  EXPECT_EQ(times({.sort = true}), (Times{1000000001, 1500000000, 2000000000}));
  EXPECT_EQ(times({.from_ns = 1000000001, .to_ns = 2000000000}), (Times{499999999, 0}));
  EXPECT_EQ(times({.limit = 2}), (Times{1500000000, 1000000001}));
  EXPECT_EQ(times({.from_ns = 1500000000, .limit = 1}), (Times{0}));
  EXPECT_EQ(times({.limit = 2, .sort = true}), (Times{1000000001, 1500000000}));
  EXPECT_EQ(times({.speedup_micro = 3'000'000}), (Times{500000000, 333333333, 666666666}));
  EXPECT_EQ(times({.speedup_micro = 500'000}), (Times{3000000000, 2000000002, 4000000000}));
}

TEST(Convert, ScalesDelaysToo) {
  const TempFile file(kOctavo);
  const auto requests = read_text(converted(file.path(), {.speedup_micro = 1'500'000}));
  EXPECT_EQ(requests[1].delay_ns, 2'000'000);
}

TEST(Convert, SortsEqualArrivalsInFileOrder) {
  const std::string request = R"({"time_ns":5,"input_tokens":1,"output_tokens":0,"block_ids":[)";
  std::string text = "{\"octavo_trace\":1,\"block_size\":1}\n";
  for (int i = 0; i < 40; ++i) {
    text += request + std::to_string(i) + "]}\n";
  }
  const TempFile file(text);
  EXPECT_EQ(converted(file.path(), {.sort = true}), text);
}

TEST(Convert, WritesMooncakeMillisecondsExactly) {
  const TempFile file(
      "{\"octavo_trace\":1,\"block_size\":512}\n"
      "{\"time_ns\":1500000000,\"input_tokens\":600,\"output_tokens\":7,\"block_ids\":[1,2]}\n"
      "{\"time_ns\":1500000001,\"input_tokens\":5,\"output_tokens\":0,\"block_ids\":[3]}\n"
      "{\"time_ns\":9223372036854775807,\"input_tokens\":5,\"output_tokens\":0,"
      "\"block_ids\":[4]}\n"
      "{\"time_ns\":120000,\"input_tokens\":5,\"output_tokens\":0,\"block_ids\":[5]}\n");
  const std::string mooncake = converted(file.path(), {.format = TraceFormat::Mooncake});
  EXPECT_EQ(
      mooncake,
      R"({"timestamp":1500,"input_length":600,"output_length":7,"hash_ids":[1,2]})"
      "\n"
      R"({"timestamp":1500.000001,"input_length":5,"output_length":0,"hash_ids":[3]})"
      "\n"
      R"({"timestamp":9223372036854.775807,"input_length":5,"output_length":0,"hash_ids":[4]})"
      "\n"
      R"({"timestamp":0.12,"input_length":5,"output_length":0,"hash_ids":[5]})"
      "\n");
  const TempFile again(mooncake);
  EXPECT_EQ(converted(again.path(), {}), slurp(file.path()));
}

TEST(Convert, RefusesALossAndNamesTheLine) {
  const TempFile file(kOctavo);
  const std::string message =
      input_error_of([&] { converted(file.path(), {.format = TraceFormat::Mooncake}); });
  EXPECT_EQ(message, file.path() +
                         ":2: session: has no place in the format to be written, expected to be "
                         "told that it may be lost");
  std::ostringstream out;
  const ConvertResult result = convert_trace(*open_trace(file.path()),
                                             {.format = TraceFormat::Mooncake, .lossy = true}, out);
  EXPECT_EQ(result.lost, (std::map<std::string, std::int64_t>{{"delay_ns", 1}, {"session", 3}}));
  EXPECT_EQ(result.written, 3);
  EXPECT_EQ(read_text(out.str(), {.trace_block = 8}).size(), 3U);
}

TEST(Convert, RefusesOptionsOutOfRange) {
  const TempFile file(kOctavo);
  const auto message = [&](const ConvertOptions& options) {
    try {
      converted(file.path(), options);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("nothing was thrown");
  };
  EXPECT_EQ(message({.block_size = 3}),
            "convert_trace: block_size 3 does not divide the trace's 8");
  EXPECT_EQ(message({.format = TraceFormat::Auto}),
            "convert_trace: format auto is none of octavo, mooncake");
  EXPECT_EQ(message({.from_ns = 5, .to_ns = 4}),
            "convert_trace: to_ns 4 is outside [5, 9223372036854775807]");
  EXPECT_EQ(message({.speedup_micro = 0}),
            "convert_trace: speedup_micro 0 is outside [1, 1000000000000000]");
  const TempFile late(
      "{\"octavo_trace\":1,\"block_size\":8}\n"
      "{\"time_ns\":9300000000001,\"input_tokens\":1,\"output_tokens\":0,\"block_ids\":[1]}\n");
  EXPECT_EQ(input_error_of([&] { converted(late.path(), {.speedup_micro = 1}); }),
            late.path() +
                ":2: the time 9300000000001 ns outgrows 2^63 ns at this speed, expected a larger "
                "speedup");
}

// Hits, evictions and peaks at several pool sizes.
std::vector<std::int64_t> replayed(const std::string& path, bool full_blocks_only) {
  ReplayOptions options{.block_size = 16,
                        .blocks = {40, 300, 1000, 5000},
                        .live = 3,
                        .full_blocks_only = full_blocks_only};
  std::vector<std::int64_t> figures;
  for (const ReplayRun& run : replay(*open_trace(path), options).runs) {
    figures.insert(figures.end(), {run.requests, run.hit_tokens, run.evicted_blocks,
                                   run.bound_blocks_max, run.parked_blocks_max});
  }
  return figures;
}

TEST(Convert, FinerBlocksServeTheSameTokens) {
  for (const char* name : {"chat", "agent", "adversarial"}) {
    const std::string path = std::string(OCTAVO_SOURCE_DIR "/traces/") + name + ".jsonl";
    for (const std::int64_t block_size : {16, 8, 1}) {
      const TempFile finer(converted(path, {.block_size = block_size, .limit = 250}));
      const TempFile plain(converted(path, {.limit = 250}));
      EXPECT_EQ(replayed(plain.path(), true), replayed(finer.path(), true)) << name;
      EXPECT_EQ(replayed(plain.path(), false), replayed(finer.path(), false)) << name;
    }
  }
}

TEST(Reblock, GivesTailsWithoutAnIdOneOfTheirOwn) {
  Reblock reblock({.tail_has_id = false}, 8, 4);
  TraceRequest first{.input_tokens = 21, .block_ids = {5, 6}};
  TraceRequest second = first;
  reblock.apply(first);
  reblock.apply(second);
  ASSERT_EQ(first.block_ids.size(), 6U);
  EXPECT_TRUE(
      std::equal(first.block_ids.begin(), first.block_ids.begin() + 4, second.block_ids.begin()));
  EXPECT_NE(first.block_ids[4], second.block_ids[4]);
  EXPECT_NE(first.block_ids[5], second.block_ids[5]);
}

TEST(Reblock, GivesEveryBlockOfATraceWithoutIdsItsOwn) {
  Reblock reblock({.prefix_ids = false}, 512, 4);
  TraceRequest first{.input_tokens = 9};
  TraceRequest second = first;
  reblock.apply(first);
  reblock.apply(second);
  EXPECT_EQ(first.block_ids.size(), 3U);
  for (const std::uint64_t id : second.block_ids) {
    EXPECT_EQ(std::count(first.block_ids.begin(), first.block_ids.end(), id), 0);
  }
}

TEST(Reblock, KeepsTheLargestIdsApart) {
  // The largest ids that name themselves, and the first that do not.
  Reblock reblock({}, std::int64_t{3} << 20, 1 << 20);
  std::vector<std::uint64_t> all;
  for (const std::uint64_t id :
       {std::uint64_t{0}, (std::uint64_t{1} << 61) - 1, std::uint64_t{1} << 61,
        (std::uint64_t{1} << 61) + 1, ~std::uint64_t{0}}) {
    TraceRequest request{.input_tokens = 3 << 20, .block_ids = {id}};
    reblock.apply(request);
    EXPECT_EQ(request.block_ids.size(), 3U);
    all.insert(all.end(), request.block_ids.begin(), request.block_ids.end());
  }
  std::sort(all.begin(), all.end());
  EXPECT_EQ(std::adjacent_find(all.begin(), all.end()), all.end());
}

}  // namespace
}  // namespace octavo::sim
