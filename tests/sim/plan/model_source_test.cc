// Models from folders, safetensors files and GGUF files: the weights to the byte, and damaged files
// of every kind.
#include "octavo/sim/model_source.h"

#include <cstdlib>
#include <functional>
#include <string>

#include "configs.h"
#include "model_writers.h"
#include "octavo/sim/input_error.h"
#include "octavo/sim/memory_budget.h"
#include <gtest/gtest.h>

namespace octavo::sim {
namespace {

using testing::GgufWriter;
using testing::Json;
using testing::safetensors;
using testing::TemporaryFolder;

std::string source_error(const std::string& where) {
  try {
    load_model(where);
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

Json tensor(const std::string& type, const std::vector<int>& shape, int begin, int end) {
  return {{"dtype", type}, {"shape", shape}, {"data_offsets", {begin, end}}};
}

std::int64_t bytes_of(const ModelConfig& model, const std::string& part) {
  for (const WeightPart& one : model.weights.parts) {
    if (one.name == part) {
      return one.bytes;
    }
  }
  return 0;
}

Json small_header() {
  return {{"__metadata__", {{"format", "pt"}}},
          {"model.embed_tokens.weight", tensor("BF16", {8, 4}, 0, 64)},
          {"model.layers.0.self_attn.q_proj.weight", tensor("F8_E4M3", {4, 4}, 64, 80)},
          {"model.layers.0.mlp.down_proj.weight", tensor("F32", {2, 2}, 80, 96)},
          {"model.layers.0.input_layernorm.weight", tensor("BF16", {4}, 96, 104)},
          {"model.layers.32.eh_proj.weight", tensor("BF16", {4}, 104, 112)}};
}

class ModelSource : public ::testing::Test {
 protected:
  TemporaryFolder folder_{"model_source"};
};

TEST_F(ModelSource, AFolderGivesTheWeightsOfItsFilesByPart) {
  folder_.write("tiny/config.json", testing::llama().dump());
  folder_.write("tiny/model.safetensors", safetensors(small_header().dump(), 112));
  folder_.write("tiny/consolidated.safetensors", safetensors("{}", 0));
  const ModelConfig model = load_model((folder_.path() / "tiny").string());
  EXPECT_EQ(model.name, "tiny");
  EXPECT_EQ(model.layers.size(), 32U);
  EXPECT_TRUE(model.weights.from_file);
  EXPECT_EQ(model.weights.unknown, "");
  EXPECT_EQ(model.weights.bytes(), 104);  // without the layer for multi-token prediction
  EXPECT_EQ(bytes_of(model, "embedding (also the output head)"), 64);
  EXPECT_EQ(bytes_of(model, "attention"), 16);
  EXPECT_EQ(bytes_of(model, "MLP"), 16);
  EXPECT_EQ(bytes_of(model, "norms"), 8);
  EXPECT_EQ(model.weights.format, "safetensors, mostly BF16");
  ASSERT_EQ(model.notes.size(), 1U);
  EXPECT_NE(model.notes[0].find("multi-token"), std::string::npos);
  EXPECT_GT(estimate_weights(model, 1).expected, 0);
}

TEST_F(ModelSource, TheFilesOfAnIndexAreAddedUpOnce) {
  folder_.write("config.json", testing::llama().dump());
  folder_.write("a.safetensors", safetensors(Json{{"lm_head.weight", tensor("BF16", {8}, 0, 16)},
                                                  {"not.in.the.index", tensor("U8", {4}, 16, 20)}}
                                                 .dump(),
                                             20));
  folder_.write(
      "b.safetensors",
      safetensors(Json{{"model.embed_tokens.weight", tensor("F16", {8}, 0, 16)}}.dump(), 16));
  folder_.write("stray.safetensors", "not read");
  Json index = {
      {"weight_map",
       {{"lm_head.weight", "a.safetensors"}, {"model.embed_tokens.weight", "b.safetensors"}}}};
  folder_.write("model.safetensors.index.json", index.dump());
  const ModelConfig model = load_model(folder_.path().string());
  EXPECT_EQ(model.weights.bytes(), 32);
  EXPECT_EQ(bytes_of(model, "output head"), 16);
  EXPECT_EQ(bytes_of(model, "embedding"), 16);
  index["weight_map"]["missing"] = "b.safetensors";
  folder_.write("model.safetensors.index.json", index.dump());
  EXPECT_NE(source_error(folder_.path().string()).find("missing: is missing, but the index"),
            std::string::npos);
  index["weight_map"]["missing"] = "../b.safetensors";
  folder_.write("model.safetensors.index.json", index.dump());
  EXPECT_NE(source_error(folder_.path().string()).find("expected a file beside"),
            std::string::npos);
}

TEST_F(ModelSource, ASingleFileNeedsAConfigBesideIt) {
  const std::string file =
      folder_.write("model.safetensors", safetensors(small_header().dump(), 112));
  EXPECT_NE(source_error(file).find("has no config.json beside it"), std::string::npos);
  folder_.write("config.json", testing::llama().dump());
  EXPECT_EQ(load_model(file).weights.bytes(), 104);
  const std::string part = folder_.write("model-00001-of-00002.safetensors", "");
  EXPECT_NE(source_error(part).find("one of several parts"), std::string::npos);
}

TEST_F(ModelSource, AConfigAloneCountsFromTheConfig) {
  folder_.write("config.json", testing::llama().dump());
  const ModelConfig model = load_model(folder_.path().string());
  EXPECT_FALSE(model.weights.from_file);
  EXPECT_EQ(model.weights.parameters(), 8030261248);
}

TEST_F(ModelSource, AFolderWithoutAModelIsRefused) {
  EXPECT_NE(source_error(folder_.path().string()).find("without a config.json"), std::string::npos);
}

TEST_F(ModelSource, InconsistentOffsetsAreRefused) {
  folder_.write("config.json", testing::llama().dump());
  const auto error = [&](const Json& header, std::size_t data) {
    return source_error(folder_.write("model.safetensors", safetensors(header.dump(), data)));
  };
  const auto two = [](const Json& a, const Json& b) { return Json{{"a", a}, {"b", b}}; };
  const Json good = tensor("U8", {4}, 0, 4);
  EXPECT_NE(error(two(good, tensor("U8", {4}, 2, 6)), 6).find("b: begins at byte 2"),
            std::string::npos);
  EXPECT_NE(error(two(good, tensor("U8", {4}, 6, 10)), 10).find("b: begins at byte 6"),
            std::string::npos);
  EXPECT_NE(error(two(good, tensor("U8", {4}, 4, 9)), 9).find("span 5 bytes"), std::string::npos);
  EXPECT_NE(error(two(good, tensor("U8", {4}, 8, 4)), 8).find("no pair"), std::string::npos);
  EXPECT_NE(error(two(good, tensor("Q7", {4}, 4, 8)), 8).find("Q7, which is not known"),
            std::string::npos);
  EXPECT_NE(error(two(good, tensor("U8", {4}, 4, 8)), 7).find("holds 7 bytes of data"),
            std::string::npos);
  EXPECT_NE(error(two(good, tensor("U8", {1 << 30, 1 << 30}, 4, 8)), 8).find("more elements"),
            std::string::npos);
  const std::string path = folder_.write("model.safetensors", std::string(8, '\x7f') + "{}");
  EXPECT_NE(source_error(path).find("expected at most 100000000"), std::string::npos);
}

/// A tiny Llama: 2 layers, 4 heads of 16, 2 KV heads.
GgufWriter tiny_gguf(const std::string& architecture = "llama") {
  GgufWriter writer;
  const std::string prefix = architecture + ".";
  writer.text("general.architecture", architecture)
      .number(prefix + "block_count", 2)
      .number(prefix + "embedding_length", 64)
      .number(prefix + "feed_forward_length", 128)
      .number(prefix + "attention.head_count", 4)
      .number(prefix + "attention.head_count_kv", 2)
      .number(prefix + "context_length", 4096)
      .texts("tokenizer.ggml.tokens", 10);
  return writer;
}

GgufWriter& add_tensors(GgufWriter& writer) {
  return writer.tensor("token_embd.weight", {64, 10}, 1, 1280)
      .tensor("blk.0.attn_q.weight", {256, 1}, 12, 144)
      .tensor("blk.1.ffn_down.weight", {64, 1}, 8, 68)
      .tensor("blk.1.ffn_norm.weight", {64}, 0, 256);
}

TEST_F(ModelSource, AGgufFileGivesLayersAndTheBytesOfItsTensors) {
  GgufWriter writer = tiny_gguf();
  add_tensors(writer);
  for (const std::uint32_t version : {2U, 3U}) {
    const ModelConfig model = load_model(folder_.write("tiny.gguf", writer.bytes(version)));
    EXPECT_EQ(model.name, "tiny");
    EXPECT_EQ(model.model_type, "llama");
    ASSERT_EQ(model.layers.size(), 2U);
    EXPECT_EQ(model.layers[0], (CacheLayer{2, 16, 0}));
    EXPECT_EQ(model.vocab_size, 10);
    EXPECT_EQ(model.max_positions, 4096);
    EXPECT_EQ(model.weights.bytes(), 1280 + 144 + 68 + 256);
    EXPECT_EQ(model.weights.parameters(), 640 + 256 + 64 + 64);
    EXPECT_EQ(bytes_of(model, "embedding (also the output head)"), 1280);
    EXPECT_EQ(bytes_of(model, "attention"), 144);
    EXPECT_EQ(bytes_of(model, "MLP"), 68);
    EXPECT_EQ(bytes_of(model, "norms"), 256);
    EXPECT_EQ(model.weights.unknown, "");
  }
  std::filesystem::create_directories(folder_.path() / "alone");
  folder_.write("alone/any.gguf", writer.bytes());
  EXPECT_EQ(load_model((folder_.path() / "alone").string()).layers.size(), 2U);
}

TEST_F(ModelSource, GgufFamiliesKeepTheirWindowsLatentsAndHeads) {
  const auto load = [&](const GgufWriter& writer) {
    return load_model(folder_.write("model.gguf", writer.bytes()));
  };
  GgufWriter gemma = tiny_gguf("gemma2");
  gemma.number("gemma2.attention.key_length", 32)
      .number("gemma2.attention.value_length", 32)
      .number("gemma2.attention.sliding_window", 512);
  EXPECT_EQ(load(gemma).layers[0], (CacheLayer{2, 32, 512}));
  EXPECT_EQ(load(gemma).layers[1], (CacheLayer{2, 32, 0}));
  GgufWriter latent = tiny_gguf("deepseek2");
  latent.number("deepseek2.attention.kv_lora_rank", 512)
      .number("deepseek2.rope.dimension_count", 64);
  EXPECT_EQ(load(latent).layers[0].kind, CacheKind::Latent);
  EXPECT_EQ(load(latent).layers[0].head_dim, 576);
  GgufWriter oss = tiny_gguf("gpt-oss");
  oss.number("gpt-oss.expert_count", 4)
      .number("gpt-oss.expert_used_count", 2)
      .number("gpt-oss.expert_feed_forward_length", 128)
      .number("gpt-oss.attention.sliding_window", 128);
  EXPECT_EQ(load(oss).layers[0].window, 128);
  EXPECT_EQ(load(oss).layers[1].window, 0);
  EXPECT_EQ(load(oss).experts, 4);
  GgufWriter moe = tiny_gguf("qwen3moe");
  moe.number("qwen3moe.expert_count", 8)
      .number("qwen3moe.expert_used_count", 2)
      .number("qwen3moe.expert_feed_forward_length", 32)
      .number("qwen3moe.attention.key_length", 16);
  EXPECT_EQ(load(moe).model_type, "qwen3_moe");
  EXPECT_EQ(load(moe).mlp_width, 64);
}

TEST_F(ModelSource, GgufHeadsMayBeListedByLayer) {
  GgufWriter writer;
  writer.text("general.architecture", "deci")
      .number("deci.block_count", 3)
      .number("deci.embedding_length", 64)
      .number("deci.context_length", 4096)
      .number("deci.vocab_size", 10)
      .number("deci.rope.dimension_count", 16)
      .numbers("deci.attention.head_count", {4, 0, 4})
      .numbers("deci.attention.head_count_kv", {2, 0, 1})
      .numbers("deci.feed_forward_length", {128, 128, 0});
  const ModelConfig model = load_model(folder_.write("deci.gguf", writer.bytes()));
  EXPECT_EQ(model.layers[0].kv_heads, 2);
  EXPECT_EQ(model.layers[1].kind, CacheKind::None);
  EXPECT_EQ(model.layers[2].kv_heads, 1);
  GgufWriter uneven = tiny_gguf();
  uneven.numbers("llama.attention.value_length", {16, 8}).number("llama.attention.key_length", 16);
  EXPECT_NE(source_error(folder_.write("uneven.gguf", uneven.bytes())).find("differs from layer"),
            std::string::npos);
}

TEST_F(ModelSource, GgufJambaAttendsWhereItHasKvHeads) {
  GgufWriter writer;
  writer.text("general.architecture", "jamba")
      .number("jamba.block_count", 8)
      .number("jamba.embedding_length", 64)
      .number("jamba.feed_forward_length", 128)
      .number("jamba.context_length", 4096)
      .number("jamba.vocab_size", 10)
      .number("jamba.attention.head_count", 4)
      .numbers("jamba.attention.head_count_kv", {0, 2, 0, 0, 0, 2, 0, 0})
      .number("jamba.ssm.inner_size", 128)
      .number("jamba.ssm.state_size", 16)
      .number("jamba.ssm.conv_kernel", 4);
  const ModelConfig model = load_model(folder_.write("jamba.gguf", writer.bytes()));
  EXPECT_EQ(model.layers[0].kind, CacheKind::State);
  EXPECT_EQ(model.layers[1], (CacheLayer{2, 16, 0}));
  EXPECT_EQ(model.layers[5], (CacheLayer{2, 16, 0}));
}

TEST_F(ModelSource, GgufFilesThatAreNotReadAreRefusedByName) {
  const auto error = [&](const std::string& bytes) {
    return source_error(folder_.write("model.gguf", bytes));
  };
  EXPECT_NE(error(tiny_gguf("rwkv6").bytes()).find("rwkv6 is not read from GGUF files"),
            std::string::npos);
  EXPECT_NE(error(tiny_gguf().bytes(1)).find("the version: is 1"), std::string::npos);
  EXPECT_NE(error("GGML").find("is no GGUF"), std::string::npos);
  EXPECT_NE(error("").find("ends after 0 of 4"), std::string::npos);
  EXPECT_NE(error(tiny_gguf().number("split.count", 3).bytes()).find("one of several parts"),
            std::string::npos);
  EXPECT_NE(error(tiny_gguf().tensor("a", {64}, 4, 0).bytes()).find("type 4, which is not known"),
            std::string::npos);
  EXPECT_NE(error(tiny_gguf().tensor("a", {33}, 8, 34).bytes()).find("multiple of 32"),
            std::string::npos);
  EXPECT_NE(error(tiny_gguf().tensor("a", {64}, 0, 128).bytes()).find("ends at byte 256"),
            std::string::npos);
  EXPECT_NE(
      error(tiny_gguf().tensor("a", {64}, 0, 0).tensor("b", {64}, 0, 256).bytes()).find("lies at"),
      std::string::npos);
}

/// Calls `read`; an InputError is as good as an answer, anything else fails the test.
void read_or_refuse(const std::function<void()>& read, const std::string& what) {
  try {
    read();
  } catch (const InputError&) {
  } catch (const std::exception& error) {
    ADD_FAILURE() << what << ": " << error.what();
  }
}

/// Every truncation is refused or, inside padding, read; every single damaged byte likewise.
void damage(const TemporaryFolder& folder, const std::string& name, const std::string& bytes) {
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    const std::string path = folder.write(name, bytes.substr(0, length));
    EXPECT_THROW(load_model(path), InputError) << name << " cut to " << length;
  }
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    for (const int flip : {0x01, 0x10, 0x80, 0xff}) {
      std::string damaged = bytes;
      damaged[i] = static_cast<char>(damaged[i] ^ flip);
      const std::string path = folder.write(name, damaged);
      read_or_refuse([&] { load_model(path); }, name + " byte " + std::to_string(i));
    }
  }
}

TEST_F(ModelSource, EveryTruncationAndDamagedByteOfAGgufFileIsRefusedOrRead) {
  GgufWriter writer = tiny_gguf();
  writer.tensor("token_embd.weight", {32}, 0, 128).tensor("blk.0.attn_q.weight", {32}, 8, 34);
  std::string bytes = writer.bytes();
  bytes.resize(bytes.size() - 30);  // the padding behind the last tensor
  EXPECT_EQ(load_model(folder_.write("whole.gguf", bytes)).weights.bytes(), 162);
  damage(folder_, "damaged.gguf", bytes);
}

TEST_F(ModelSource, EveryTruncationAndDamagedByteOfASafetensorsFileIsRefusedOrRead) {
  folder_.write("config.json", testing::llama().dump());
  const Json header = {{"model.embed_tokens.weight", tensor("BF16", {2, 2}, 0, 8)},
                       {"lm_head.weight", tensor("F32", {2}, 8, 16)}};
  const std::string bytes = safetensors(header.dump(), 16);
  EXPECT_EQ(load_model(folder_.write("whole.safetensors", bytes)).weights.bytes(), 16);
  damage(folder_, "damaged.safetensors", bytes);
}

}  // namespace
}  // namespace octavo::sim
