// Start-up logs: what is read from them, what follows, and what is refused. The lines have the
// engines' wording; the figures are those of real starts.
#include "octavo/sim/boot_log.h"

#include <string>

#include "configs.h"
#include "octavo/sim/input_error.h"
#include <gtest/gtest.h>

namespace octavo::sim {
namespace {

constexpr const char* kVllm =
    "(APIServer pid=1) INFO [api_server.py:1] vLLM API server version 0.11.0\n"
    "(EngineCore_DP0 pid=2) INFO [gpu_model_runner.py:1] Model loading took 14.9900 GiB and 3 s\n"
    "(EngineCore_DP0 pid=2) INFO [gpu_worker.py:1] Available KV cache memory: 51.38 GiB\n"
    "(EngineCore_DP0 pid=2) INFO [kv_cache_utils.py:1] GPU KV cache size: 420,896 tokens\r\n"
    "(EngineCore_DP0 pid=2) INFO [kv_cache_utils.py:2] Maximum concurrency for 8,192 tokens per "
    "request: 51.38x\n";

constexpr const char* kVllmV0 =
    "INFO [worker.py:1] the current vLLM instance can use total_gpu_memory (23.58GiB) x "
    "gpu_memory_utilization (0.90) = 21.22GiB\n"
    "INFO [worker.py:2] model weights take 14.99GiB; non_torch_memory takes 0.35GiB; PyTorch "
    "activation peak memory takes 2.07GiB; the rest of the memory reserved for KV Cache is "
    "3.81GiB.\n"
    "INFO [executor_base.py:1] # cuda blocks: 1952, # CPU blocks: 2048\n"
    "INFO [executor_base.py:2] Maximum concurrency for 20000 tokens per request: 1.56x\n";

constexpr const char* kSglang =
    "[TP0] Load weight begin. avail mem=22.93 GB\n"
    "[TP0] server_args=ServerArgs(model_path='m', mem_fraction_static=0.8, tp_size=2)\n"
    "[TP0] Load weight end. type=Qwen3_5ForConditionalGeneration, dtype=torch.bfloat16, avail "
    "mem=14.08 GB, mem usage=8.85 GB.\n"
    "[TP0] Mamba Cache is allocated. max_mamba_cache_size: 186, conv_state size: 0.10GB, "
    "ssm_state size: 4.38GB\n"
    "[TP0] KV Cache is allocated. #tokens: 327310, K size: 2.50 GB, V size: 2.50 GB\n"
    "max_total_num_tokens=327310, chunked_prefill_size=8192, context_len=262144\n";

constexpr const char* kTensorRt =
    "[TensorRT-LLM][INFO] Number of tokens per block: 64.\n"
    "[TensorRT-LLM][INFO] [MemUsageChange] Allocated 26.91 GiB for max tokens in paged KV cache "
    "(220480).\n";

PlanRequest llama(const char* gpu) {
  PlanRequest request;
  request.model = parse_model_config(testing::llama().dump(), "llama.json");
  request.gpu = find_gpu(gpu);
  return request;
}

TEST(BootLog, VllmTellsWeightsPoolAndConcurrency) {
  const BootLog log = parse_boot_log(kVllm, "boot.log");
  EXPECT_EQ(log.engine, Engine::VllmOld);  // 0.11 prints the old size
  EXPECT_EQ(log.version, "0.11.0");
  EXPECT_EQ(log.weights_gib, 14.99);
  EXPECT_EQ(log.kv_gib, 51.38);
  EXPECT_EQ(log.tokens, 420896);
  EXPECT_EQ(log.max_len, 8192);
  EXPECT_EQ(log.concurrency, 51.38);
  EXPECT_EQ(log.found.at(1), "line 3: KV cache, GiB 51.38");
}

TEST(BootLog, TheOldVllmTellsEveryTermOfTheBudget) {
  const BootLog log = parse_boot_log(kVllmV0, "boot.log");
  EXPECT_EQ(log.total_gib, 23.58);
  EXPECT_EQ(log.utilization, 0.9);
  EXPECT_EQ(log.activation_gib, 2.07);
  EXPECT_EQ(log.non_torch_gib, 0.35);
  EXPECT_EQ(log.blocks, 1952);
  const Calibrated calibrated = calibrate(llama("rtx 3090"), log);
  const CapacityPlan plan = plan_capacity(calibrated.request);
  // Terms rounded to two decimals each: within a hundredth and a half.
  EXPECT_NEAR(static_cast<double>(plan.expected.budget_bytes) / (1 << 30), 3.81, 0.015);
}

TEST(BootLog, WhatTheLogDoesNotTellIsSolvedFromWhatItDoes) {
  const BootLog log = parse_boot_log(kVllm, "boot.log");
  const Calibrated calibrated = calibrate(llama("h100"), log);
  // 79.18 x 0.9 - 14.99 - 51.38 = 4.892
  EXPECT_NEAR(*calibrated.request.activation_gib + *calibrated.request.non_torch_gib, 4.892, 1e-9);
  const CapacityPlan plan = plan_capacity(calibrated.request);
  EXPECT_NEAR(static_cast<double>(plan.expected.budget_bytes) / (1 << 30), 51.38, 1e-6);
  EXPECT_NE(calibrated.inferred.back().find("79.18 GiB x 0.900 - 14.99 GiB - 51.38 GiB = 4.89"),
            std::string::npos)
      << calibrated.inferred.back();
  // Another share of the memory keeps the solved terms.
  PlanRequest other = calibrated.request;
  other.utilization = 0.95;
  EXPECT_NEAR(static_cast<double>(plan_capacity(other).expected.budget_bytes) / (1 << 30),
              51.38 + 0.05 * 79.18, 1e-6);
}

TEST(BootLog, WhatIsGivenStands) {
  PlanRequest request = llama("h100");
  request.weights_gib = 15.5;
  request.max_len = 4096;
  request.activation_gib = 4;
  const PlanRequest result = calibrate(request, parse_boot_log(kVllm, "boot.log")).request;
  EXPECT_EQ(result.weights_gib, 15.5);
  EXPECT_EQ(result.max_len, 4096);
  EXPECT_EQ(result.activation_gib, 4);
  EXPECT_NEAR(*result.non_torch_gib, 79.18 * 0.9 - 15.5 - 51.38 - 4, 1e-9);
}

TEST(BootLog, SglangsPoolsAreSolvedFromItsFreeMemory) {
  const BootLog log = parse_boot_log(kSglang, "boot.log");
  EXPECT_EQ(log.engine, Engine::Sglang);
  EXPECT_EQ(log.tokens, 327310);
  EXPECT_EQ(log.state_slots, 186);
  EXPECT_NEAR(*log.state_gib, 4.48, 1e-9);
  const Calibrated calibrated = calibrate(llama("rtx 3090"), log);
  EXPECT_NEAR(*calibrated.request.kv_budget_gib, 14.08 - 22.93 * 0.2, 1e-9);
}

TEST(BootLog, AHybridsPoolsComeOutAsSglangPrintedThem) {
  testing::Json json = {{"model_type", "qwen3_next"},   {"num_hidden_layers", 32},
                        {"hidden_size", 4096},          {"num_attention_heads", 16},
                        {"num_key_value_heads", 4},     {"head_dim", 256},
                        {"vocab_size", 248320},         {"max_position_embeddings", 262144},
                        {"intermediate_size", 12288},   {"full_attention_interval", 4},
                        {"linear_num_value_heads", 32}, {"linear_num_key_heads", 16},
                        {"linear_key_head_dim", 128},   {"linear_value_head_dim", 128},
                        {"linear_conv_kernel_dim", 4}};
  PlanRequest request = llama("rtx 3090");
  request.model = parse_model_config(json.dump(), "hybrid.json");
  request.tp = 2;
  request.block_size = 1;
  const BootLog log = parse_boot_log(kSglang, "boot.log");
  const CapacityPlan plan = plan_capacity(calibrate(request, log).request);
  EXPECT_EQ(plan.engine, Engine::Sglang);
  EXPECT_NEAR(static_cast<double>(plan.expected.tokens), 327310, 327310 * 0.001);
  EXPECT_EQ(plan.expected.state_slots, 186);
  EXPECT_EQ(plan.limited_by, LimitedBy::TokenPool);
}

TEST(BootLog, TensorRtLlmTellsItsPool) {
  const BootLog log = parse_boot_log(kTensorRt, "boot.log");
  EXPECT_EQ(log.engine, Engine::TensorRtLlm);
  EXPECT_EQ(log.kv_gib, 26.91);
  EXPECT_EQ(log.tokens, 220480);
  EXPECT_EQ(log.block_size, 64);
  const BootLog old = parse_boot_log(
      "[TensorRT-LLM][INFO] Allocate 69524783104 bytes for k/v cache. \n"
      "[TensorRT-LLM][INFO] Using 132608 tokens in paged KV cache.\n",
      "boot.log");
  EXPECT_EQ(old.tokens, 132608);
  EXPECT_NEAR(*old.kv_gib, 64.75, 0.001);
}

TEST(BootLog, OfSeveralRanksTheOneWithTheLeastRoomCounts) {
  const BootLog log = parse_boot_log(
      "(Worker_TP0 pid=1) Model loading took 12.66 GiB\n(Worker_TP1 pid=2) Model loading took "
      "12.70 GiB\n(Worker_TP0 pid=1) Available KV cache memory: 6.90 GiB\n(Worker_TP1 pid=2) "
      "Available KV cache memory: 6.87 GiB\n",
      "boot.log");
  EXPECT_EQ(log.weights_gib, 12.70);
  EXPECT_EQ(log.kv_gib, 6.87);
}

TEST(BootLog, ThePlanIsComparedWithWhatTheLogPrinted) {
  PlanRequest request = llama("h100");
  const BootLog log = parse_boot_log(kVllm, "boot.log");
  for (const std::string& line : compare_with_log(request, log)) {
    EXPECT_EQ(line.find("they differ"), std::string::npos) << line;
  }
  request.format = parse_kv_format("fp8");
  EXPECT_NE(compare_with_log(request, log).front().find("they differ"), std::string::npos);
}

TEST(BootLog, ALogOfSomethingElseIsRefused) {
  EXPECT_THROW(parse_boot_log("hello\nworld\n", "boot.log"), InputError);
  EXPECT_THROW(parse_boot_log("", "boot.log"), InputError);
  EXPECT_THROW(read_boot_log("/nonexistent/boot.log"), InputError);
  PlanRequest request = llama("l4");  // 22 GiB cannot have held 51 of KV cache
  EXPECT_THROW(calibrate(request, parse_boot_log(kVllm, "boot.log")), Error);
}

}  // namespace
}  // namespace octavo::sim
