// A decode step of a small model, captured once in a graph and replayed for every later token, as a
// server does it: only what the persistent buffers hold changes.
#include <cstdint>
#include <memory>
#include <vector>

#include "octavo/kv_cache.h"
#include "octavo/kv_ops.h"
#include "octavo/ref_cpu/cpu_device.h"

#include "cuda/emulation/random.h"
#include "tests/cuda/attend_case.h"
#include "tests/cuda/simulated_gpu/device/device_testing.h"
#include "tests/cuda/simulated_gpu/device/machine_runner.h"

namespace octavo::simulated_gpu {
namespace {

constexpr std::int64_t kBatch = 2;
constexpr std::int64_t kHeads = 2;
constexpr std::int64_t kDim = 64;
constexpr std::int64_t kLengthMax = 272;
constexpr std::int32_t kPrompt[] = {250, 3};  // The first crosses a chunk of 256 positions soon.

std::vector<float> numbers(std::int64_t count, std::uint64_t seed) {
  emulation::Random random(seed);
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) {
    value = static_cast<float>(random.below(2001)) / 1000.0f - 1.0f;
  }
  return values;
}

// An attention row and a state row, with the tensors of a decode step at fixed addresses.
class Model {
 public:
  explicit Model(const std::shared_ptr<Device>& device)
      : device_(device),
        cache_(KVCache::make(
            {.num_layers = 2,
             .max_seqs = 2,
             .max_tokens_per_seq = kLengthMax,
             .kv_heads = kHeads,
             .head_dim = kDim,
             .mode = KVCacheMode::Paged,
             .paged = PagedParams{.num_blocks = 40, .block_size = 16},
             .device = device},
            std::vector<KVLayerSpec>{
                {.k_quant = KVQuantSpec{KVCodec::Int8}, .v_quant = KVQuantSpec{KVCodec::Int8}},
                {.kind = KVLayerKind::State, .conv = {{8, 3}}, .conv_dtype = DType::F32}})),
        query_(input(kBatch, 2 * kHeads)),
        key_(input(kBatch, kHeads)),
        value_(input(kBatch, kHeads)),
        attended_(input(kBatch, 2 * kHeads)),
        x_(Tensor::zeros(DType::F32, {kBatch, 8}, device)),
        weight_(Tensor::from_values<float>(DType::F32, {8, 4}, numbers(32, 5), device)),
        convolved_(Tensor::zeros(DType::F32, {kBatch, 8}, device)) {}

  /// All of the prompts at once.
  void prefill() {
    const std::int64_t tokens = kPrompt[0] + kPrompt[1];
    const auto indices =
        cache_.prepare_step(std::vector<std::int32_t>{0, kPrompt[0], 253},
                            std::vector<std::int32_t>{0, 0}, std::vector<std::int32_t>{0, 1});
    const Tensor key = input(tokens, kHeads);
    const Tensor value = input(tokens, kHeads);
    put(key, 101);
    put(value, 102);
    append_varlen({.key = key,
                   .value = value,
                   .key_cache = cache_.keys(0),
                   .value_cache = cache_.values(0),
                   .step = tensors(indices, kPrompt[0])});
  }

  /// What changes from step to step.
  void prepare(std::int32_t step) {
    indices_ = cache_.prepare_step(std::vector<std::int32_t>{0, 1, 2},
                                   std::vector<std::int32_t>{kPrompt[0] + step, kPrompt[1] + step},
                                   std::vector<std::int32_t>{0, 1});
    const auto seed = static_cast<std::uint64_t>(step) * 10;
    put(query_, seed + 1);
    put(key_, seed + 2);
    put(value_, seed + 3);
    put(x_, seed + 4);
  }

  /// What does not.
  void compute() {
    GroupQueryAttentionArgs attention;
    attention.query = query_;
    attention.key = key_;
    attention.value = value_;
    attention.key_cache = cache_.keys(0);
    attention.value_cache = cache_.values(0);
    attention.step = tensors(indices_, 1);
    attention.out = attended_;
    group_query_attention_varlen(attention);
    CausalConvArgs convolution;
    convolution.x = x_;
    convolution.weight = weight_;
    convolution.conv_state = cache_.conv_state(1);
    convolution.cu_seqlens_q = indices_.cu_seqlens_q;
    convolution.slot_ids = indices_.slot_ids;
    convolution.out = convolved_;
    convolution.max_query_len = 1;
    causal_conv_update(convolution);
  }

  std::vector<float> results() const {
    std::vector<float> all = attended_.to_vector<float>();
    const std::vector<float> more = convolved_.to_vector<float>();
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }

 private:
  Tensor input(std::int64_t tokens, std::int64_t heads) const {
    return Tensor::zeros(DType::F32, {tokens, heads, kDim}, device_);
  }

  void put(const Tensor& tensor, std::uint64_t seed) const {
    const std::vector<float> values = numbers(tensor.num_elements(), seed);
    device_->copy_from_host(tensor.address(), values.data(), tensor.size_bytes());
  }

  static KVStepTensors tensors(const KVCache::StepIndices& indices, std::int64_t query_len) {
    return {.cu_seqlens_q = indices.cu_seqlens_q,
            .cu_seqlens_k = indices.cu_seqlens_k,
            .kvcache_start = indices.kvcache_start,
            .slot_ids = indices.slot_ids,
            .max_query_len = query_len,
            .max_kv_len = kLengthMax};
  }

  std::shared_ptr<Device> device_;
  KVCache cache_;
  Tensor query_, key_, value_, attended_, x_, weight_, convolved_;
  KVCache::StepIndices indices_;
};

constexpr std::int32_t kSteps = 20;

std::vector<std::vector<float>> expected_results() {
  Model model(make_cpu_device(1));
  model.prefill();
  std::vector<std::vector<float>> all;
  for (std::int32_t step = 0; step < kSteps; ++step) {
    model.prepare(step);
    model.compute();
    all.push_back(model.results());
  }
  return all;
}

// Attention that needs more of a workspace than the model does.
void grow_workspace(Device& device) {
  cuda_test::AttendCase test;
  test.lengths = {900};
  test.queries = {40};
  test.partials = false;
  run_case(test, make_data(test), device);
}

// Step 0 as it is, so that the workspace grows; step 1 captured; all others replays of it, half of
// them when the workspace has grown again.
std::vector<std::vector<float>> replayed_results(cudaStream_t stream) {
  const CudaStreamGuard guard(stream);
  const auto device = make_small_device();
  Model model(device);
  model.prefill();
  model.prepare(0);
  model.compute();
  std::vector<std::vector<float>> all = {model.results()};
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  for (std::int32_t step = 1; step < kSteps; ++step) {
    model.prepare(step);
    if (step == 1) {
      EXPECT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), cudaSuccess);
      model.compute();
      EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
      EXPECT_EQ(cudaGraphInstantiate(&executable, graph, 0), cudaSuccess);
    }
    if (step == kSteps / 2) {
      const std::int64_t before = live().device_allocations;
      grow_workspace(*device);
      EXPECT_EQ(live().device_allocations, before + 1) << "it has grown";
    }
    EXPECT_EQ(cudaGraphLaunch(executable, stream), cudaSuccess);
    all.push_back(model.results());
  }
  EXPECT_EQ(cudaGraphExecDestroy(executable), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  return all;
}

TEST(GraphStep, ReplaysAreTheStepsThatTheyStandFor) {
  const std::vector<std::vector<float>> expected = expected_results();
  for (const int capability : {80, 90}) {
    for (const WorkTime time : {WorkTime::Lazy, WorkTime::Random}) {
      reset({.capability = capability, .time = time, .kernels = built_kernels(capability)});
      EXPECT_EQ(replayed_results(make_stream()), expected);
      EXPECT_EQ(last_fault(), "");
    }
  }
}

}  // namespace
}  // namespace octavo::simulated_gpu
