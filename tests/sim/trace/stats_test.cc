// The figures of a trace: small ones counted by hand, the recorded ones against published figures,
// the generated ones against traces/expected.json.

#include <filesystem>

#include "octavo/sim/trace_stats.h"
#include "trace_testing.h"
#include <nlohmann/json.hpp>

namespace octavo::sim {
namespace {

using Json = nlohmann::json;

struct Line {
  std::int64_t time_ns;
  std::int64_t input_tokens;
  std::string ids;
  std::string session = "";
};

// An Octavo trace of blocks of 10 tokens.
TraceStats stats_of(const std::vector<Line>& lines, std::int64_t limit = 0) {
  std::string text = "{\"octavo_trace\":1,\"block_size\":10}\n";
  for (const Line& line : lines) {
    text += "{\"time_ns\":" + std::to_string(line.time_ns) +
            ",\"input_tokens\":" + std::to_string(line.input_tokens) +
            ",\"output_tokens\":" + std::to_string(line.time_ns % 7) + ",\"block_ids\":[" +
            line.ids + "]" + (line.session.empty() ? "" : ",\"session\":" + line.session) + "}\n";
  }
  const TempFile file(text);
  return compute_trace_stats(*open_trace(file.path()), limit);
}

TEST(TraceStats, CountsHitsOfEveryKind) {
  const TraceStats stats = stats_of({
      {0, 25, "1,2,3"},    // Nothing is cached yet.
      {1, 25, "1,2,3"},    // All of it, the tail of 5 tokens too; 20 can be served.
      {2, 30, "1,2,4"},    // Two blocks.
      {3, 30, "1,2,4"},    // All of it, but one block must be computed again: 20 can be served.
      {4, 40, "9,1,2,8"},  // Known ids behind an unknown one are no hits. (Nor prefix ids.)
  });
  EXPECT_EQ(stats.ideal.blocks.hits, 3 + 2 + 3);
  EXPECT_EQ(stats.ideal.blocks.total, 16);
  EXPECT_EQ(stats.ideal.full_blocks.hits, 2 + 2 + 3);
  EXPECT_EQ(stats.ideal.full_blocks.total, 2 + 2 + 3 + 3 + 4);
  EXPECT_EQ(stats.ideal.tokens.hits, 25 + 20 + 30);
  EXPECT_EQ(stats.ideal.tokens.total, 150);
  EXPECT_EQ(stats.ideal.servable_tokens.hits, 20 + 20 + 20);
  EXPECT_EQ(stats.ideal.servable_tokens.total, 150);
  EXPECT_EQ(stats.ideal.whole_requests, 2);
  EXPECT_DOUBLE_EQ(stats.ideal.mean_request_blocks, (1 + 2.0 / 3 + 1) / 5);
  EXPECT_DOUBLE_EQ(stats.ideal.mean_request_tokens, (1 + 2.0 / 3 + 1) / 5);
  EXPECT_DOUBLE_EQ(stats.ideal.tokens.rate(), 0.5);
}

TEST(TraceStats, DoesNotTakeATailForAWholeBlock) {
  const TraceStats stats = stats_of({{0, 15, "1,2"}, {1, 20, "1,2"}, {2, 20, "1,2"}});
  EXPECT_EQ(stats.ideal.blocks.hits, 4);
  EXPECT_EQ(stats.ideal.full_blocks.hits, 1 + 2);
  EXPECT_EQ(stats.ideal.tokens.hits, 40);
  EXPECT_EQ(stats.ideal.servable_tokens.hits, 10 + 10);
}

TEST(TraceStats, RemembersThatABlockHasBeenWhole) {
  const TraceStats stats = stats_of({{0, 20, "1,2"}, {1, 15, "1,2"}, {2, 20, "1,2"}});
  EXPECT_EQ(stats.ideal.full_blocks.hits, 1 + 2);
}

TEST(TraceStats, ARequestDoesNotHitItself) {
  const TraceStats stats = stats_of({{0, 30, "5,5,5"}});
  EXPECT_EQ(stats.ideal.blocks.hits, 0);
  EXPECT_EQ(stats.distinct_blocks, 1);
  EXPECT_EQ(stats.unchained_blocks, 1);
}

TEST(TraceStats, SummarisesByNearestRank) {
  std::vector<Line> lines;
  for (const int tokens : {7, 1, 10, 4, 2, 9, 3, 8, 5, 6}) {
    lines.push_back({0, tokens, std::to_string(tokens)});
  }
  const Summary input = stats_of(lines).input_tokens;
  EXPECT_EQ(input.sum, 55);
  EXPECT_DOUBLE_EQ(input.mean, 5.5);
  EXPECT_EQ(input.p50, 5);
  EXPECT_EQ(input.p90, 9);
  EXPECT_EQ(input.p99, 10);
  EXPECT_EQ(input.min, 1);
  EXPECT_EQ(input.max, 10);
}

TEST(TraceStats, TellsIdsThatAreNotPrefixChained) {
  EXPECT_TRUE(stats_of({{0, 20, "1,2"}, {0, 20, "1,3"}, {0, 10, "1"}}).prefix_chained());
  EXPECT_EQ(stats_of({{0, 20, "1,2"}, {0, 20, "3,2"}, {0, 20, "4,2"}}).unchained_blocks, 1);
  EXPECT_EQ(stats_of({{0, 20, "1,2"}, {0, 10, "2"}}).unchained_blocks, 1);
  EXPECT_EQ(stats_of({{0, 20, "0,2"}, {0, 20, "2,0"}}).unchained_blocks, 2);
}

TEST(TraceStats, TellsUnsortedArrivalsAndTheirSpan) {
  const TraceStats stats = stats_of({{50, 1, "1"}, {20, 1, "2"}, {90, 1, "3"}, {90, 1, "4"}});
  EXPECT_FALSE(stats.sorted());
  EXPECT_EQ(stats.unsorted_requests, 1);
  EXPECT_EQ(stats.distinct_arrivals, 3);
  EXPECT_EQ(stats.first_arrival_ns, 20);
  EXPECT_EQ(stats.duration_ns(), 70);
  EXPECT_TRUE(stats_of({{5, 1, "1"}, {5, 1, "2"}}).sorted());
}

TEST(TraceStats, CountsIdsAndSessions) {
  const TraceStats stats =
      stats_of({{0, 20, "1,18446744073709551615", "8"}, {0, 20, "1,3", "8"}, {0, 20, "1,4", "9"}});
  EXPECT_EQ(stats.distinct_blocks, 4);
  EXPECT_EQ(stats.blocks_used_once, 3);
  EXPECT_EQ(stats.max_block_id, 18446744073709551615U);
  EXPECT_EQ(stats.sessions, 2);
}

TEST(TraceStats, LooksAtTheFirstRequestsOnly) {
  const std::vector<Line> lines = {{0, 1, "1"}, {1, 1, "2"}, {2, 1, "3"}};
  EXPECT_EQ(stats_of(lines, 2).requests, 2);
  EXPECT_EQ(stats_of(lines, 2).duration_ns(), 1);
  EXPECT_EQ(stats_of(lines, 9).requests, 3);
  EXPECT_THROW(stats_of(lines, -1), Error);
}

TEST(TraceStats, RefusesASumBeyond64Bits) {
  const std::string line =
      R"({"time_ns":0,"input_tokens":1,"output_tokens":9223372036854775807,"block_ids":[1]})"
      "\n";
  const TempFile file("{\"octavo_trace\":1,\"block_size\":10}\n" + line + line);
  EXPECT_EQ(input_error_of([&] { compute_trace_stats(*open_trace(file.path())); }),
            file.path() +
                ":3: output tokens: the sum over the trace exceeds 64 bits (at "
                "9223372036854775807), expected a sum of at most 9223372036854775807");
}

// What is published of the Mooncake traces.
struct Published {
  const char* file;
  std::int64_t requests, last_ms, distinct_arrivals;
  std::int64_t input_sum, input_min, input_max;
  const char* input_mean;
  std::int64_t output_sum, output_max;
  const char* output_mean;
  std::int64_t ids, ids_min, ids_max, distinct, used_once;
  std::uint64_t max_id;
  std::int64_t block_hits, token_hits, full_hits, full_total, whole_requests;
  const char* rates;  // Blocks, tokens, full blocks, means of the requests, servable.
};

constexpr Published kPublished[] = {
    {"conversation_trace.jsonl",
     12'031,
     3'536'999,
     1'180,
     144'793'823,
     891,
     126'195,
     "12035.06",
     4'122'048,
     2'000,
     "342.62",
     288'500,
     2,
     247,
     182'790,
     138'646,
     182'789,
     105'710,
     54'098'411,
     105'592,
     276'491,
     118,
     "0.36641 0.37362 0.38190 0.38426 0.40938 0.37338"},
    {"synthetic_trace.jsonl",
     3'993,
     1'022'025,
     3'982,
     61'194'628,
     13,
     191'378,
     "15325.48",
     595'432,
     893,
     "149.12",
     121'877,
     1,
     374,
     43'924,
     25'673,
     43'923,
     77'953,
     39'852'661,
     77'740,
     117'888,
     213,
     "0.63960 0.65124 0.65944 0.42324 0.43152 0.65043"},
    {"mooncake_trace_1000.jsonl",
     1'000,
     177'098,
     59,
     9'792'030,
     891,
     121'290,
     "9792.03",
     199'084,
     2'000,
     "199.08",
     19'686,
     2,
     237,
     12'207,
     10'438,
     12'826,
     7'479,
     3'826'202,
     7'468,
     18'689,
     11,
     "0.37991 0.39075 0.39959 0.53688 0.57237 0.39048"},
};

std::string decimals(double value, int count) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", count, value);
  return text;
}

TEST(TraceStats, ReproducesThePublishedFiguresOfTheMooncakeTraces) {
  for (const Published& published : kPublished) {
    const std::string path =
        std::string(OCTAVO_SOURCE_DIR "/../shared/traces/mooncake/") + published.file;
    if (!std::filesystem::exists(path)) {
      GTEST_SKIP() << path << " is not there";
    }
    SCOPED_TRACE(published.file);
    const TraceStats stats = compute_trace_stats(*open_trace(path));
    EXPECT_EQ(stats.requests, published.requests);
    EXPECT_EQ(stats.first_arrival_ns, 0);
    EXPECT_EQ(stats.last_arrival_ns, published.last_ms * 1'000'000);
    EXPECT_EQ(stats.distinct_arrivals, published.distinct_arrivals);
    EXPECT_TRUE(stats.sorted());
    EXPECT_EQ(stats.sessions, 0);
    EXPECT_EQ(stats.input_tokens.sum, published.input_sum);
    EXPECT_EQ(stats.input_tokens.min, published.input_min);
    EXPECT_EQ(stats.input_tokens.max, published.input_max);
    EXPECT_EQ(decimals(stats.input_tokens.mean, 2), published.input_mean);
    EXPECT_EQ(stats.output_tokens.sum, published.output_sum);
    EXPECT_EQ(stats.output_tokens.min, 1);
    EXPECT_EQ(stats.output_tokens.max, published.output_max);
    EXPECT_EQ(decimals(stats.output_tokens.mean, 2), published.output_mean);
    EXPECT_EQ(stats.blocks.sum, published.ids);
    EXPECT_EQ(stats.blocks.min, published.ids_min);
    EXPECT_EQ(stats.blocks.max, published.ids_max);
    EXPECT_EQ(stats.distinct_blocks, published.distinct);
    EXPECT_EQ(stats.blocks_used_once, published.used_once);
    EXPECT_EQ(stats.max_block_id, published.max_id);
    EXPECT_TRUE(stats.prefix_chained());
    const IdealHits& ideal = stats.ideal;
    EXPECT_EQ(ideal.blocks.hits, published.block_hits);
    EXPECT_EQ(ideal.blocks.total, published.ids);
    EXPECT_EQ(ideal.tokens.hits, published.token_hits);
    EXPECT_EQ(ideal.tokens.total, published.input_sum);
    EXPECT_EQ(ideal.full_blocks.hits, published.full_hits);
    EXPECT_EQ(ideal.full_blocks.total, published.full_total);
    EXPECT_EQ(ideal.whole_requests, published.whole_requests);
    EXPECT_EQ(decimals(ideal.blocks.rate(), 5) + " " + decimals(ideal.tokens.rate(), 5) + " " +
                  decimals(ideal.full_blocks.rate(), 5) + " " +
                  decimals(ideal.mean_request_blocks, 5) + " " +
                  decimals(ideal.mean_request_tokens, 5) + " " +
                  decimals(ideal.servable_tokens.rate(), 5),
              published.rates);
  }
}

TEST(TraceStats, OfTheCommittedTracesAreTheExpectedOnes) {
  const Json expected = Json::parse(slurp(OCTAVO_SOURCE_DIR "/traces/expected.json"));
  ASSERT_EQ(expected.size(), 3U);
  for (const auto& [name, entry] : expected.items()) {
    SCOPED_TRACE(name);
    const auto reader = open_trace(OCTAVO_SOURCE_DIR "/traces/" + name + ".jsonl");
    Json info = Json::parse(to_json(compute_trace_stats(*reader)));
    EXPECT_EQ(info["schema_version"], 1);
    info.erase("schema_version");
    info.erase("trace");
    EXPECT_EQ(info.dump(), entry["info"].dump());
    EXPECT_EQ(entry["gen"]["requests"], entry["info"]["requests"]);
  }
}

TEST(TraceStats, AreOneJsonObjectWhateverTheFileIsCalled) {
  TraceStats stats;
  stats.name = "a\"b\n\xff";
  stats.format = TraceFormat::Mooncake;
  stats.max_block_id = 18446744073709551615U;
  const std::string text = to_json(stats);
  EXPECT_EQ(text.find('\n'), std::string::npos);
  const Json json = Json::parse(text);
  EXPECT_EQ(json["trace"], "a\"b\n\xEF\xBF\xBD");
  EXPECT_EQ(json["max_block_id"], 18446744073709551615U);
}

}  // namespace
}  // namespace octavo::sim
