// The recorded traces beside the checkout give the figures that are published of them, to the
// digit. (Those of Mooncake are in stats_test.cc.)

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "octavo/sim/trace_stats.h"
#include "trace_testing.h"

namespace octavo::sim {
namespace {

const std::string kTraces = OCTAVO_SOURCE_DIR "/../shared/traces/";

class RecordedTraces : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(kTraces)) {
      GTEST_SKIP() << kTraces << " is not there";
    }
  }
};

// Passes on the requests that are not of sub-agents.
class TopLevelOnly final : public TraceReader {
 public:
  explicit TopLevelOnly(TraceReader& reader)
      : TraceReader(reader.name(), reader.format(), reader.block_size(), reader.traits()),
        reader_(reader) {}

 private:
  bool read(TraceRequest& request) override {
    while (reader_.next(request)) {
      if (!request.parent_session) {
        return true;
      }
    }
    return false;
  }

  TraceReader& reader_;
};

std::string decimals(double value, int count) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", count, value);
  return text;
}

TraceStats stats_of(const std::string& file, const TraceOptions& options = {}) {
  return compute_trace_stats(*open_trace(kTraces + file, options));
}

// sum mean p50 p90 p99 max
std::string summary_of(const Summary& summary) {
  return std::to_string(summary.sum) + " " + decimals(summary.mean, 2) + " " +
         std::to_string(summary.p50) + " " + std::to_string(summary.p90) + " " +
         std::to_string(summary.p99) + " " + std::to_string(summary.max);
}

TEST_F(RecordedTraces, WekaSessionsOfTopLevelRequests) {
  const auto reader = open_trace(kTraces + "weka-agentic");
  TopLevelOnly top(*reader);
  const TraceStats stats = compute_trace_stats(top);
  EXPECT_EQ(stats.requests, 2'093);
  EXPECT_EQ(stats.sessions, 49);
  EXPECT_EQ(stats.input_tokens.sum, 205'550'463);
  EXPECT_EQ(stats.output_tokens.sum, 908'435);
  EXPECT_EQ(stats.blocks.sum, 3'210'694);
  EXPECT_EQ(stats.distinct_blocks, 156'007);
  EXPECT_EQ(stats.empty_outputs, 1);
  EXPECT_TRUE(stats.prefix_chained());
  EXPECT_EQ(decimals(stats.ideal.blocks.rate(), 5), "0.95141");
}

TEST_F(RecordedTraces, WekaSessionsWithTheirSubAgents) {
  const TraceStats stats = stats_of("weka-agentic");
  EXPECT_EQ(stats.requests, 2'093 + 158);
  EXPECT_EQ(stats.sub_requests, 158);
  EXPECT_EQ(stats.sessions, 49 + 12);
  EXPECT_EQ(stats.block_size, 64);
  const SessionHits& hits = stats.session_hits;
  EXPECT_EQ(hits.sessions, 49);
  EXPECT_EQ(decimals(hits.min, 4) + " " + decimals(hits.p25, 4) + " " + decimals(hits.p50, 4) +
                " " + decimals(hits.p75, 4) + " " + decimals(hits.max, 4) + " " +
                decimals(hits.mean, 4),
            "0.6265 0.8861 0.9397 0.9654 0.9841 0.9091");  // From 483/771 to 177,337/180,194.
}

TEST_F(RecordedTraces, DynamoLogWithTheEnginesOwnCounts) {
  const TraceStats stats = stats_of("dynamo/pi_request_trace.jsonl");
  EXPECT_EQ(stats.format, TraceFormat::DynamoTrace);
  EXPECT_EQ(stats.requests, 17);
  EXPECT_EQ(stats.skipped, 22 + 20 + 2);
  EXPECT_EQ(stats.sessions, 5);
  EXPECT_EQ(stats.block_size, 16);
  EXPECT_EQ(stats.input_tokens.sum, 66'520);
  EXPECT_EQ(stats.blocks.sum, 4'163);
  EXPECT_GT(stats.max_block_id, std::uint64_t{1} << 63);
  EXPECT_EQ(stats.recorded_requests, 17);
  EXPECT_EQ(stats.recorded_tokens.hits, 50'256);
  EXPECT_EQ(decimals(100 * stats.recorded_tokens.rate(), 2), "75.55");
  EXPECT_TRUE(stats.sorted());
  std::vector<std::uint64_t> workers;
  for (const TraceRequest& request :
       read_all(*open_trace(kTraces + "dynamo/pi_request_trace.jsonl"))) {
    workers.push_back(request.worker.value());
  }
  EXPECT_EQ(*std::max_element(workers.begin(), workers.end()), 1U);
}

TEST_F(RecordedTraces, AzureCodeAndConversation) {
  const TraceStats code = stats_of("azure/AzureLLMInferenceTrace_code.csv");
  EXPECT_EQ(code.requests, 8'819);
  EXPECT_EQ(decimals(static_cast<double>(code.duration_ns()) / 1e9, 3), "3435.948");
  EXPECT_EQ(summary_of(code.input_tokens), "18059974 2047.85 1469 5194 7436 7437");
  EXPECT_EQ(summary_of(code.output_tokens), "245896 27.88 13 55 252 1899");
  EXPECT_EQ(code.distinct_arrivals, code.requests);
  EXPECT_TRUE(code.sorted());
  const TraceStats conv = stats_of("azure/AzureLLMInferenceTrace_conv.csv");
  EXPECT_EQ(conv.requests, 19'366);
  EXPECT_EQ(decimals(static_cast<double>(conv.duration_ns()) / 1e9, 3), "3501.722");
  EXPECT_EQ(summary_of(conv.input_tokens), "22361870 1154.70 1020 2735 4142 14050");
  EXPECT_EQ(summary_of(conv.output_tokens), "4088665 211.13 129 424 601 1000");
  EXPECT_EQ(conv.distinct_arrivals, conv.requests);
  EXPECT_TRUE(conv.sorted());
}

TEST_F(RecordedTraces, VidurIsAzureRowForRow) {
  for (const auto& [azure, vidur] :
       {std::pair{"AzureLLMInferenceTrace_code.csv", "splitwise_code.csv"},
        std::pair{"AzureLLMInferenceTrace_conv.csv", "splitwise_conv.csv"}}) {
    const auto a = read_all(*open_trace(kTraces + "azure/" + azure));
    const auto b = read_all(*open_trace(kTraces + "vidur/" + vidur));
    ASSERT_EQ(a.size(), b.size());
    std::int64_t deviation_ns = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
      ASSERT_EQ(a[i].input_tokens, b[i].input_tokens) << i;
      ASSERT_EQ(a[i].output_tokens, b[i].output_tokens) << i;
      deviation_ns = std::max(deviation_ns, std::abs(a[i].arrival_ns - b[i].arrival_ns));
    }
    EXPECT_LE(deviation_ns, 200);
  }
}

TEST_F(RecordedTraces, VidurLengthsOnly) {
  const TraceStats stats =
      stats_of("vidur/arxiv_summarization_stats_llama2_tokenizer_filtered_v2.csv");
  EXPECT_FALSE(stats.traits.arrivals);
  EXPECT_EQ(stats.requests, 28'257);
  EXPECT_EQ(stats.input_tokens.sum, 73'131'321);
  EXPECT_EQ(stats.input_tokens.p50, 2'730);
  EXPECT_EQ(stats.input_tokens.max, 4'054);
  EXPECT_EQ(stats.output_tokens.sum, 8'234'948);
  EXPECT_EQ(stats.output_tokens.p50, 167);
  EXPECT_EQ(stats.output_tokens.max, 4'056);
}

TEST_F(RecordedTraces, ShareGptTokensInBlocksOf16And64) {
  const std::string file = "sharegpt-tokens/sharegpt-llama-3.1-8b-300-sps10.jsonl";
  const TraceStats small = stats_of(file);
  EXPECT_EQ(small.requests, 300);
  EXPECT_EQ(small.last_arrival_ns, 29'183'763'203);
  EXPECT_EQ(small.input_tokens.sum, 257'239);
  EXPECT_EQ(small.output_tokens.sum, 195'753);
  EXPECT_EQ(small.blocks.sum, 15'942);
  EXPECT_EQ(small.ideal.blocks.hits, 1'220);
  EXPECT_EQ(small.distinct_blocks, 14'722);
  EXPECT_EQ(decimals(small.ideal.blocks.rate(), 4), "0.0765");
  const TraceStats large = stats_of(file, {.trace_block = 64});
  EXPECT_EQ(large.blocks.sum, 3'873);
  EXPECT_EQ(large.ideal.blocks.hits, 295);
  EXPECT_EQ(large.distinct_blocks, 3'578);
  EXPECT_EQ(decimals(large.ideal.blocks.rate(), 4), "0.0762");
}

TEST_F(RecordedTraces, TairExample) {
  const TraceStats stats = stats_of("tair/optimizer_trace_example.jsonl");
  EXPECT_EQ(stats.format, TraceFormat::Tair);
  EXPECT_EQ(stats.requests, 5);
  EXPECT_EQ(stats.blocks.sum, 8);
  EXPECT_EQ(stats.last_arrival_ns, 20'000'000'000);
}

}  // namespace
}  // namespace octavo::sim
