#include "octavo/sim/footprint_report.h"

#include <string>

#include "configs.h"
#include "octavo/error.h"
#include <gtest/gtest.h>

namespace octavo::sim {
namespace {

using testing::gemma2;
using testing::Json;
using testing::llama;
using testing::mistral;

FootprintRequest request_of(const Json& json) {
  FootprintRequest request;
  request.model = parse_model_config(json.dump(), "model.json");
  request.rows.max_seqs = 4;
  request.rows.max_step_tokens = 512;
  return request;
}

template <typename Request>
std::string error_of(const Request& request, ErrorCode code = ErrorCode::InvalidArgument) {
  try {
    report_footprint(request);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code);
    return error.what();
  }
  return "no error";
}

TEST(FootprintReport, APagedCacheIsItsBlocks) {
  FootprintRequest request = request_of(llama());
  request.num_blocks = 1000;
  const FootprintReport report = report_footprint(request);
  EXPECT_EQ(report.bytes.paged_pools, 1000 * 16 * 131072);
  EXPECT_EQ(report.bytes.bytes_per_block, 16 * 131072);
  EXPECT_EQ(report.bytes_per_token, 131072);
  EXPECT_EQ(report.bytes.bytes_per_slot, 0);
  ASSERT_EQ(report.groups.size(), 1U);
  EXPECT_EQ(report.groups[0].layers_text(), "0-31");
  EXPECT_EQ(report.groups[0].bytes_per_layer, 1000 * 16 * 4096);
}

TEST(FootprintReport, WithoutASizeOneRequestFits) {
  FootprintRequest request = request_of(llama());
  request.rows.max_len = 1000;
  EXPECT_EQ(report_footprint(request).request.rows.num_blocks, 63);
  request.rows.max_len = 0;
  EXPECT_EQ(report_footprint(request).request.rows.num_blocks, 8192);
}

TEST(FootprintReport, FillsGivenBytesWithBlocks) {
  FootprintRequest request = request_of(llama());
  request.budget_bytes = std::int64_t{1} << 32;
  const FootprintReport report = report_footprint(request);
  EXPECT_LE(report.bytes.total(), *request.budget_bytes);
  EXPECT_GT(report.bytes.total() + report.bytes.bytes_per_block, *request.budget_bytes);
  request.budget_bytes = 1000;
  EXPECT_NE(error_of(request, ErrorCode::ResourceExhausted), "no error");
}

TEST(FootprintReport, AContinuousCacheIsItsSlots) {
  FootprintRequest request = request_of(llama());
  request.rows.mode = KVCacheMode::Continuous;
  request.rows.max_len = 2048;
  const FootprintReport report = report_footprint(request);
  EXPECT_EQ(report.bytes.continuous_kv, 4 * 2048 * 131072L);
  EXPECT_EQ(report.bytes.bytes_per_slot, 2048 * 131072L);
  EXPECT_EQ(report.bytes_per_token, 131072);
  EXPECT_EQ(report.bytes.bytes_per_block, 0);
  request.budget_bytes = 10 * 2048 * 131072L + 100000;
  EXPECT_EQ(report_footprint(request).request.rows.max_seqs, 10);
  request.budget_bytes.reset();
  request.num_blocks = 5;
  EXPECT_NE(error_of(request).find("a continuous cache has none"), std::string::npos);
}

TEST(FootprintReport, AContinuousWindowKeepsTheWindowAndOneStep) {
  FootprintRequest request = request_of(mistral());
  request.rows.mode = KVCacheMode::Continuous;
  const FootprintReport report = report_footprint(request);
  EXPECT_EQ(report.bytes.bytes_per_slot, (4096 - 1 + 512) * 131072L);
  EXPECT_EQ(report.bytes_per_token, 0);
}

TEST(FootprintReport, ScalesAreAClassOfTheirOwn) {
  FootprintRequest request = request_of(llama());
  request.num_blocks = 10;
  request.rows.format = parse_kv_format("int4");
  const FootprintReport report = report_footprint(request);
  EXPECT_EQ(report.bytes.paged_pools, 10 * 16 * 131072 / 4);
  EXPECT_EQ(report.bytes.quant_scales, 10 * 16 * 32 * 2 * 8 * 4);
  EXPECT_EQ(report.bytes_per_token, 131072 / 4 + 32 * 2 * 8 * 4);
}

TEST(FootprintReport, EqualLayersAreGrouped) {
  FootprintRequest request = request_of(gemma2());
  request.num_blocks = 10;
  request.rows.tp = 2;
  const FootprintReport report = report_footprint(request);
  ASSERT_EQ(report.groups.size(), 2U);
  EXPECT_EQ(report.groups[0].layers_text(), "0-40 by 2");
  EXPECT_EQ(report.groups[1].layers_text(), "1-41 by 2");
  EXPECT_EQ(report.groups[0].layer, (CacheLayer{4, 256, 4096}));
  std::int64_t sum = report.bytes.tables;
  for (const LayerGroup& group : report.groups) {
    sum += group.bytes_per_layer * static_cast<std::int64_t>(group.layers.size());
  }
  EXPECT_EQ(sum, report.bytes.total());
}

TEST(LayerGroup, ShowsRunsOfLayers) {
  const auto text = [](std::vector<std::int64_t> layers) {
    LayerGroup group;
    group.layers = std::move(layers);
    return group.layers_text();
  };
  EXPECT_EQ(text({}), "");
  EXPECT_EQ(text({5}), "5");
  EXPECT_EQ(text({3, 5}), "3, 5");
  EXPECT_EQ(text({0, 1, 2, 3, 4, 6, 7, 9}), "0-4, 6-7, 9");
  EXPECT_EQ(text({5, 11, 17}), "5-17 by 6");
}

TEST(FootprintReport, ValuesOutOfRangeAreNamed) {
  FootprintRequest request = request_of(llama());
  request.rows.block_size = 24;
  EXPECT_NE(error_of(request).find("block size is 24, expected a power of two"), std::string::npos);
  request = request_of(llama());
  request.rows.max_len = 200000;
  EXPECT_NE(error_of(request).find("max_position_embeddings 131,072"), std::string::npos);
  request = request_of(llama());
  request.rows.max_seqs = 0;
  EXPECT_NE(error_of(request).find("number of sequences is 0"), std::string::npos);
  request = request_of(llama());
  request.num_blocks = 0;
  EXPECT_NE(error_of(request).find("number of blocks is 0"), std::string::npos);
  request = request_of(llama());
  request.num_blocks = 1;
  request.budget_bytes = 1;
  EXPECT_NE(error_of(request).find("expected one"), std::string::npos);
}

TEST(FootprintJson, HasTheClassesAndTheLayers) {
  FootprintRequest request = request_of(gemma2());
  request.num_blocks = 10;
  const Json json = Json::parse(to_json(report_footprint(request)));
  EXPECT_EQ(json.at("schema_version"), 1);
  EXPECT_EQ(json.at("bytes").at("paged_pools"), 10 * 16 * 344064);
  EXPECT_EQ(json.at("config").at("num_blocks"), 10);
  EXPECT_EQ(json.at("layer_groups").size(), 2U);
  EXPECT_EQ(json.at("layer_groups")[1].at("layers")[0], 1);
  EXPECT_EQ(json.at("per_token_bytes"), 344064);
}

}  // namespace
}  // namespace octavo::sim
