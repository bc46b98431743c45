// The catalogue: names that find their models, names that do not, and the real configs where they
// are at hand.
#include <map>
#include <set>
#include <string>

#include "configs.h"
#include "octavo/sim/input_error.h"
#include "octavo/sim/model_source.h"
#include <gtest/gtest.h>

namespace octavo::sim {
namespace {

using testing::shared_file;

std::string_view found(std::string_view name) {
  const CatalogueModel* model = find_catalogue_model(name);
  return model == nullptr ? "nothing" : model->name;
}

TEST(ModelCatalogue, EveryModelIsReadAndItsWeightsAreCounted) {
  std::string previous;
  for (const CatalogueModel& entry : model_catalogue()) {
    EXPECT_LT(previous, entry.name);
    previous = entry.name;
    const ModelConfig model = read_catalogue_model(entry);
    EXPECT_EQ(model.name, entry.name);
    EXPECT_FALSE(model.layers.empty()) << entry.name;
    EXPECT_EQ(model.weights.unknown, "") << entry.name;
    EXPECT_EQ(found(entry.name), entry.name);
  }
}

TEST(ModelCatalogue, SpellingsOfOneNameFindOneModel) {
  for (const char* name :
       {"llama-3.1-70b", "Llama 3.1 70B", "meta-llama/Meta-Llama-3.1-70B-Instruct",
        "meta-llama/Llama-3.1-70B", "llama_3_1_70b", "LLAMA3.1-70b-hf"}) {
    EXPECT_EQ(found(name), "llama-3.1-70b") << name;
  }
  const std::map<std::string, std::string> names = {
      {"Qwen/Qwen3-235B-A22B", "qwen3-235b-a22b"},
      {"Qwen/Qwen2.5-72B-Instruct", "qwen2.5-72b"},
      {"google/gemma-3-27b-it", "gemma-3-27b"},
      {"openai/gpt-oss-120b", "gpt-oss-120b"},
      {"deepseek-ai/DeepSeek-V3", "deepseek-v3"},
      {"moonshotai/Kimi-K2-Instruct", "kimi-k2"},
      {"meta-llama/Llama-4-Scout-17B-16E-Instruct", "llama-4-scout-17b-16e"},
      {"mistralai/Mistral-7B-Instruct-v0.3", "mistral-7b-v0.3"},
      {"mistralai/Mistral-Small-3.2-24B-Instruct-2506", "mistral-small-3.2-24b"},
      {"mistralai/Mixtral-8x7B-Instruct-v0.1", "mixtral-8x7b"},
      {"ai21labs/AI21-Jamba-1.5-Mini", "jamba-1.5-mini"},
      {"openai/whisper-large-v3", "whisper-large-v3"},
      {"nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", "nemotron-3-nano-30b-a3b"},
  };
  for (const auto& [name, expected] : names) {
    EXPECT_EQ(found(name), expected) << name;
  }
  for (const char* name : {"llama-3.1-7b", "", "/", "llama"}) {
    EXPECT_EQ(found(name), "nothing") << name;
  }
}

TEST(ModelCatalogue, AnUnknownNameListsTheNearest) {
  try {
    load_model("llama-3.1-71b");
    FAIL() << "read";
  } catch (const InputError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("no model of the catalogue"), std::string::npos) << text;
    EXPECT_NE(text.find("llama-3.1-70b"), std::string::npos) << text;
  }
  EXPECT_THROW(load_model("no/such/config.json"), InputError);
  EXPECT_THROW(load_model(""), InputError);
  EXPECT_EQ(load_model("Llama-3.1-8B").layers.size(), 32U);
}

TEST(ModelCatalogue, BytesATokenAreThoseOfTheStartUpLogs) {
  const std::map<std::string, std::vector<std::int64_t>> expected = {
      // grows, bounded by a window, state
      {"llama-3.1-405b", {516096, 0, 0}},
      {"mistral-7b-v0.1", {0, 131072, 0}},
      {"mixtral-8x7b", {131072, 0, 0}},
      {"qwen2.5-72b", {327680, 0, 0}},
      {"qwen3-next-80b-a3b", {24576, 0, -1}},
      {"gemma-2-9b", {172032, 172032, 0}},
      {"gemma-3-27b", {81920, 425984, 0}},
      {"gpt-oss-20b", {24576, 24576, 0}},
      {"llama-4-scout-17b-16e", {49152, 147456, 0}},
      {"kimi-k2", {70272, 0, 0}},
      {"jamba-1.5-mini", {16384, 0, -1}},
      {"whisper-large-v3", {163840, 0, 245760000}},
  };
  std::size_t seen = 0;
  for (const CatalogueRow& row : catalogue_rows()) {
    const auto entry = expected.find(row.name);
    if (entry == expected.end()) {
      continue;
    }
    ++seen;
    const std::vector<std::int64_t>& bytes = entry->second;
    EXPECT_EQ(row.token_bytes - row.window_token_bytes, bytes[0]) << row.name;
    EXPECT_EQ(row.window_token_bytes, bytes[1]) << row.name;
    if (bytes[2] >= 0) {
      EXPECT_EQ(row.sequence_bytes, bytes[2]) << row.name;
    }
  }
  EXPECT_EQ(seen, expected.size());
}

TEST(ModelCatalogue, AgreesWithTheRealConfigs) {
  if (shared_file("models").empty()) {
    GTEST_SKIP() << "the real configs are not at hand";
  }
  // Quantized checkpoints of models that the catalogue has in bf16, and models it does not have.
  const std::set<std::string> others = {
      "Qwen--Qwen3-32B-FP8", "Qwen--Qwen3-VL-8B-Instruct", "XiaomiMiMo--MiMo-V2-Flash",
      "nvidia--Llama-3_3-Nemotron-Super-49B-v1", "nvidia--Qwen3.6-27B-NVFP4"};
  for (const auto& entry : std::filesystem::directory_iterator(shared_file("models"))) {
    const std::string stem = entry.path().stem().string();
    if (others.count(stem) > 0) {
      continue;
    }
    const CatalogueModel* listed = find_catalogue_model(stem.substr(stem.find("--") + 2));
    ASSERT_NE(listed, nullptr) << stem;
    const ModelConfig ours = read_catalogue_model(*listed);
    const ModelConfig real = read_model_config(entry.path().string());
    EXPECT_EQ(ours.model_type, real.model_type) << stem;
    EXPECT_EQ(ours.layers, real.layers) << stem;
    EXPECT_EQ(ours.hidden_size, real.hidden_size) << stem;
    EXPECT_EQ(ours.attention_heads, real.attention_heads) << stem;
    EXPECT_EQ(ours.vocab_size, real.vocab_size) << stem;
    EXPECT_EQ(ours.max_positions, real.max_positions) << stem;
    EXPECT_EQ(ours.mlp_width, real.mlp_width) << stem;
    EXPECT_EQ(ours.experts, real.experts) << stem;
    EXPECT_EQ(ours.experts_per_token, real.experts_per_token) << stem;
    EXPECT_EQ(ours.weights.parameters(), real.weights.parameters()) << stem;
    EXPECT_EQ(ours.weights.bytes(), real.weights.bytes()) << stem;
    EXPECT_EQ(ours.weights.rotary_bytes, real.weights.rotary_bytes) << stem;
  }
}

}  // namespace
}  // namespace octavo::sim
