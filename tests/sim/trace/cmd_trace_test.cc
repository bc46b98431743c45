// `octavo trace` as a user runs it, and the tables it prints.

#include "table.h"
#include "trace_testing.h"
#include <nlohmann/json.hpp>

#include "tests/support/run_command.h"

namespace octavo::tools {
namespace {

using Result = testing::CommandResult;

Result run(const std::vector<std::string>& args) {
  return testing::run_command(args);
}

constexpr char kTrace[] =
    "{\"octavo_trace\":1,\"block_size\":10}\n"
    "{\"time_ns\":1500000000,\"input_tokens\":25,\"output_tokens\":1200,\"block_ids\":[1,2,3]}\n"
    "{\"time_ns\":1000000000,\"input_tokens\":25,\"output_tokens\":0,\"block_ids\":[1,2,3]}\n";

TEST(TraceInfo, PrintsTables) {
  const sim::TempFile file(kTrace);
  const Result result = run({"trace", "info", file.path()});
  EXPECT_EQ(result.status, kExitOk);
  EXPECT_EQ(result.err, "");
  EXPECT_EQ(
      result.out,
      file.path() +
          ": octavo trace, 10 tokens a block\n"
          "\n"
          "requests                    2\n"
          "sessions                    -  the trace names none\n"
          "duration                0.500  s, from 1.000 s to 1.500 s\n"
          "distinct arrival times      2\n"
          "sorted by arrival          no  1 requests arrive before the one on the line above\n"
          "empty outputs               1  requests of which nothing was generated\n"
          "\n"
          "block ids                   6  of 10 tokens, partial tails included\n"
          "distinct                    3  the largest is 3\n"
          "used once                   0\n"
          "prefix-chained            yes\n"
          "\n"
          "per request      sum    mean  p50    p90    p99  min    max\n"
          "input tokens      50   25.00   25     25     25   25     25\n"
          "output tokens  1,200  600.00    0  1,200  1,200    0  1,200\n"
          "block ids          6    3.00    3      3      3    3      3\n"
          "\n"
          "ideal hits (nothing is ever evicted)          hits  of     rate  mean of requests\n"
          "blocks, partial tails included                   3   6  0.50000           0.50000\n"
          "whole blocks                                     2   4  0.50000\n"
          "tokens, partial tails included                  25  50  0.50000           0.50000\n"
          "tokens of whole blocks, never a whole prompt    20  50  0.40000\n"
          "requests with every block hit                    1   2  0.50000\n");
}

TEST(TraceInfo, PrintsOneJsonObject) {
  const sim::TempFile file(kTrace);
  const Result result = run({"trace", "info", file.path(), "--json", "--limit", "1"});
  EXPECT_EQ(result.status, kExitOk);
  EXPECT_EQ(result.err, "");
  ASSERT_EQ(result.out.find('\n'), result.out.size() - 1);
  const auto json = nlohmann::json::parse(result.out);
  EXPECT_EQ(json["schema_version"], 1);
  EXPECT_EQ(json["trace"], file.path());
  EXPECT_EQ(json["requests"], 1);
  EXPECT_EQ(json["ideal"]["blocks"]["total"], 3);
}

TEST(TraceInfo, TakesFormatAndTraceBlock) {
  const sim::TempFile file(
      R"({"timestamp":0,"input_length":25,"output_length":1,"hash_ids":[1,2,3]})");
  EXPECT_EQ(run({"trace", "info", file.path(), "--trace-block", "10"}).status, kExitOk);
  EXPECT_EQ(run({"trace", "info", file.path()}).status, kExitBadInput);
  EXPECT_EQ(
      run({"trace", "info", file.path(), "--trace-block", "10", "--format", "mooncake"}).status,
      kExitOk);
  EXPECT_EQ(run({"trace", "info", file.path(), "--format", "octavo"}).status, kExitBadInput);
}

TEST(TraceInfo, ReportsBadFilesOnOneLine) {
  const sim::TempFile file(std::string(kTrace) + "{\"time_ns\":-1}\n");
  const Result result = run({"trace", "info", file.path()});
  EXPECT_EQ(result.status, kExitBadInput);
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(result.err, "octavo trace info: " + file.path() +
                            ":4: time_ns: is negative (-1), expected an integer in [0, "
                            "9223372036854775807]\n");
  const sim::TempFolder folder{};
  for (const std::string& path : {std::string("/no/such/file"), folder.path()}) {
    EXPECT_EQ(run({"trace", "info", path}).status, kExitBadInput);
  }
}

TEST(TraceInfo, SaysWhatATraceOfLengthsDoesNotKnow) {
  const sim::TempFile file("num_prefill_tokens,num_decode_tokens\n10,2\n30,4\n");
  EXPECT_EQ(run({"trace", "info", file.path()}).out,
            file.path() +
                ": vidur trace, lengths only\n"
                "\n"
                "requests   2\n"
                "sessions   -  the trace names none\n"
                "duration   -  the trace has no times\n"
                "\n"
                "block ids  -  the trace does not say what prompts share\n"
                "\n"
                "per request    sum   mean  p50  p90  p99  min  max\n"
                "input tokens    40  20.00   10   30   30   10   30\n"
                "output tokens    6   3.00    2    4    4    2    4\n"
                "\n"
                "ideal hits: not known, since the trace does not say what prompts share\n");
  const auto json = nlohmann::json::parse(run({"trace", "info", "--json", file.path()}).out);
  EXPECT_EQ(json["input_tokens"]["sum"], 40);
  EXPECT_EQ(json["traits"]["prefix_ids"], false);
  for (const char* unknown : {"ideal", "blocks", "block_size", "first_arrival_ns", "sorted"}) {
    EXPECT_TRUE(json.at(unknown).is_null()) << unknown;
  }
}

TEST(TraceInfo, ShowsSessionsAloneAndWhatTheEngineRecorded) {
  const sim::TempFile file(
      "{\"octavo_trace\":1,\"block_size\":10}\n"
      "{\"time_ns\":0,\"input_tokens\":20,\"output_tokens\":1,\"session\":1,\"block_ids\":[1,2]}\n"
      "{\"time_ns\":1,\"input_tokens\":20,\"output_tokens\":1,\"session\":1,\"delay_ns\":5,"
      "\"cached_tokens\":15,\"media\":2,\"block_ids\":[1,2]}\n"
      "{\"time_ns\":2,\"input_tokens\":20,\"output_tokens\":1,\"session\":2,\"parent_session\":1,"
      "\"block_ids\":[1,2]}\n");
  const std::string out = run({"trace", "info", file.path()}).out;
  for (const char* row : {"requests of sub-agents      1\n",
                          "delayed requests            1  wait for the end of others\n",
                          "media                       2  images and the like in prompts\n",
                          "tokens, as the recorded engine counted          15  20  0.75000\n",
                          "  1  0.50000  0.50000  0.50000  0.50000  0.50000  0.50000\n"}) {
    EXPECT_NE(out.find(row), std::string::npos) << row << out;
  }
}

TEST(TraceCommand, RefusesAWrongCommandLine) {
  for (const std::vector<std::string>& args :
       std::vector<std::vector<std::string>>{{"trace"},
                                             {"trace", "info"},
                                             {"trace", "info", "x", "--limit", "0"},
                                             {"trace", "info", "x", "--trace-block", "0"},
                                             {"trace", "info", "x", "--format", "csv"},
                                             {"trace", "gen"},
                                             {"trace", "gen", "poem"},
                                             {"trace", "gen", "chat", "--requests", "0"},
                                             {"trace", "gen", "chat", "--block", "65537"},
                                             {"trace", "gen", "chat", "--seed", "-1"},
                                             {"trace", "gen", "chat", "--pool-blocks", "7"},
                                             {"trace", "gen", "chat", "-o", "/no/such/folder/x"}}) {
    const Result result = run(args);
    EXPECT_EQ(result.status, kExitUsage) << args.back();
    EXPECT_EQ(result.out, "");
    EXPECT_NE(result.err, "");
  }
}

TEST(TraceGen, WritesTheSameToAFileAndToStdout) {
  const std::vector<std::string> args = {"trace",      "gen", "adversarial", "--seed", "5",
                                         "--requests", "120", "--block",     "8"};
  const Result printed = run(args);
  EXPECT_EQ(printed.status, kExitOk);
  EXPECT_EQ(printed.out.substr(0, printed.out.find('\n')),
            R"({"octavo_trace":1,"block_size":8,"workload":"adversarial","seed":5,"requests":120,)"
            R"("pool_blocks":256})");
  const sim::TempFile file("");
  std::vector<std::string> to_file = args;
  to_file.insert(to_file.end(), {"-o", file.path()});
  EXPECT_EQ(run(to_file).status, kExitOk);
  EXPECT_EQ(sim::slurp(file.path()), printed.out);
}

TEST(TraceGen, DefaultsAreThoseOfTheLibrary) {
  const sim::TempFile file("");
  ASSERT_EQ(run({"trace", "gen", "chat", "-o", file.path()}).status, kExitOk);
  const auto json = nlohmann::json::parse(run({"trace", "info", "--json", file.path()}).out);
  EXPECT_EQ(json["requests"], 1000);
  EXPECT_EQ(json["block_size"], 64);
}

TEST(Table, GroupsDigits) {
  EXPECT_EQ(grouped(std::int64_t{0}), "0");
  EXPECT_EQ(grouped(std::int64_t{999}), "999");
  EXPECT_EQ(grouped(std::int64_t{1000}), "1,000");
  EXPECT_EQ(grouped(std::int64_t{-123456}), "-123,456");
  EXPECT_EQ(grouped(std::int64_t{-1234567}), "-1,234,567");
  EXPECT_EQ(grouped(std::numeric_limits<std::int64_t>::min()), "-9,223,372,036,854,775,808");
  EXPECT_EQ(grouped(std::uint64_t{18446744073709551615U}), "18,446,744,073,709,551,615");
}

TEST(Table, FixesDecimals) {
  EXPECT_EQ(fixed(0.366412, 5), "0.36641");
  EXPECT_EQ(fixed(12035.06, 2), "12,035.06");
  EXPECT_EQ(fixed(999.999, 2), "1,000.00");
  EXPECT_EQ(fixed(-1234.5, 1), "-1,234.5");
  EXPECT_EQ(fixed(1234567.0, 0), "1,234,567");
}

TEST(Table, AlignsColumnsWithoutTrailingBlanks) {
  Table table({{"name", Table::Align::Left}, {"n"}, {"note", Table::Align::Left}});
  table.add_row({"a", "1,000", "long note"});
  table.add_gap();
  table.add_row({"longer", "7"});
  std::ostringstream out;
  out << table;
  EXPECT_EQ(out.str(),
            "name        n  note\n"
            "a       1,000  long note\n"
            "\n"
            "longer      7\n");
  EXPECT_THROW(table.add_row({"1", "2", "3", "4"}), Error);
}

}  // namespace
}  // namespace octavo::tools
