#include "gpu_cases.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>
#include <utility>

#include "octavo/block_manager.h"
#include "octavo/device_ops.h"
#include "octavo/kv_ops.h"
#include "octavo/kv_row_info.h"

namespace octavo::bench {
namespace {

using Run = std::function<void(const GpuCase&)>;

constexpr std::int64_t kBlock = 16;

struct Shape {
  std::int64_t batch = 32;
  std::int64_t context = 4096;  ///< Tokens of every sequence, the step's own included.
  std::int64_t query = 1;
  std::int64_t kv_heads = 8;
  std::int64_t group = 1;
  std::int64_t head_dim = 128;
  KVCodec codec = KVCodec::None;
};

constexpr std::int64_t shrunk(std::int64_t count, std::int64_t shrink) {
  return std::max<std::int64_t>(count / shrink, 1);
}

Shape shrunk(Shape shape, std::int64_t shrink) {
  shape.batch = shrunk(shape.batch, shrink);
  shape.context = shrunk(shape.context, shrink);
  shape.query = shrunk(shape.query, shrink);
  return shape;
}

DType stored_dtype(KVCodec codec) {
  switch (codec) {
    case KVCodec::Int8:
      return DType::Int8;
    case KVCodec::Int4:
      return DType::UInt8;
    case KVCodec::E4M3:
      return DType::E4M3;
    case KVCodec::E5M2:
      return DType::E5M2;
    case KVCodec::None:
      break;
  }
  return DType::BF16;
}

std::string name_of(KVCodec codec) {
  return codec == KVCodec::None ? "bf16" : std::string(to_string(codec));
}

// Bytes of one token's row of one head with its scale.
std::int64_t row_bytes(const Shape& shape) {
  switch (shape.codec) {
    case KVCodec::None:
      return shape.head_dim * 2;
    case KVCodec::Int4:
      return shape.head_dim / 2 + 4;
    default:
      return shape.head_dim + 4;
  }
}

/// One layer of a paged cache, every sequence full; blocks of a sequence lie scattered.
class Layer {
 public:
  Layer(const Shape& shape, const std::shared_ptr<Device>& device) : shape_(shape) {
    const std::int64_t columns = (shape.context + kBlock - 1) / kBlock;
    const std::int64_t blocks = columns * shape.batch;
    keys_ = rows(blocks, columns, device);
    values_ = rows(blocks, columns, device);
    std::vector<std::int32_t> table(static_cast<std::size_t>(blocks));
    for (std::int64_t i = 0; i < blocks; ++i) {
      constexpr std::int64_t kStep = 7919;  // A prime: every block once.
      table[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(i * kStep % blocks);
    }
    const auto ints = [&](const std::vector<std::int32_t>& values, const Dims& dims) {
      return Tensor::from_values<std::int32_t>(DType::Int32, dims, values, device);
    };
    std::vector<std::int32_t> queries(static_cast<std::size_t>(shape.batch + 1));
    for (std::size_t i = 1; i < queries.size(); ++i) {
      queries[i] = queries[i - 1] + static_cast<std::int32_t>(shape.query);
    }
    const std::vector<std::int32_t> lengths(static_cast<std::size_t>(shape.batch),
                                            static_cast<std::int32_t>(shape.context));
    step_ = {.cu_seqlens_q = ints(queries, {shape.batch + 1}),
             .cu_seqlens_k = ints(lengths, {shape.batch}),
             .kvcache_start = ints(table, {shape.batch, columns}),
             .slot_ids = {},
             .max_query_len = shape.query,
             .max_kv_len = shape.context};
    const std::int64_t tokens = shape.batch * shape.query;
    const std::int64_t heads = shape.kv_heads * shape.group;
    query_ = Tensor::zeros(DType::BF16, {tokens, heads, shape.head_dim}, device);
    out_ = Tensor::zeros(DType::BF16, {tokens, heads, shape.head_dim}, device);
    key_ = Tensor::zeros(DType::BF16, {tokens, shape.kv_heads, shape.head_dim}, device);
    value_ = Tensor::zeros(DType::BF16, {tokens, shape.kv_heads, shape.head_dim}, device);
  }

  void attend() const {
    group_query_attention_varlen({.query = query_,
                                  .key = {},
                                  .value = {},
                                  .key_cache = keys_,
                                  .value_cache = values_,
                                  .step = step_,
                                  .sinks = {},
                                  .out = out_,
                                  .lse = {},
                                  .max_sum = {},
                                  .partial_max_sum = {},
                                  .partial_out = {}});
  }

  void append() const {
    append_varlen(
        {.key = key_, .value = value_, .key_cache = keys_, .value_cache = values_, .step = step_});
  }

 private:
  Tensor rows(std::int64_t blocks, std::int64_t columns, const std::shared_ptr<Device>& device) {
    const std::int64_t width = shape_.head_dim / (shape_.codec == KVCodec::Int4 ? 2 : 1);
    auto info = std::make_shared<KVRowInfo>();
    info->layout = Layout::Paged;
    info->capacity = columns * kBlock;
    info->block_size = kBlock;
    info->codec = shape_.codec;
    if (shape_.codec != KVCodec::None) {
      info->scales = Tensor::zeros(DType::F32, {blocks, shape_.kv_heads, kBlock}, device);
    }
    return Tensor::zeros(stored_dtype(shape_.codec), {blocks, shape_.kv_heads, kBlock, width},
                         device)
        .with_row_info(std::move(info));
  }

  Shape shape_;
  Tensor keys_;
  Tensor values_;
  KVStepTensors step_;
  Tensor query_;
  Tensor out_;
  Tensor key_;
  Tensor value_;
};

void decode_case(const Shape& shape,
                 const std::string& kind,
                 double goal,
                 const std::shared_ptr<Device>& device,
                 const Run& run) {
  const Layer layer(shape, device);
  const std::int64_t rows = shape.batch * shape.context * shape.kv_heads;
  const std::int64_t queries = shape.batch * shape.kv_heads * shape.group * shape.head_dim * 2;
  run({.name = kind + " " + name_of(shape.codec) + " group " + std::to_string(shape.group),
       .bytes = 2 * (rows * row_bytes(shape) + queries),
       .goal = goal,
       .work = [&] { layer.attend(); }});
}

void decode_cases(const std::shared_ptr<Device>& device,
                  const std::shared_ptr<Device>& fast,
                  const Run& run,
                  std::int64_t shrink) {
  struct Goal {
    KVCodec codec;
    std::int64_t group;
    double fraction;
  };
  for (const Goal& goal : {Goal{KVCodec::None, 1, 0.85},
                           {KVCodec::None, 4, 0.85},
                           {KVCodec::None, 8, 0.75},
                           {KVCodec::E4M3, 1, 0.80},
                           {KVCodec::E4M3, 4, 0.60},
                           {KVCodec::E4M3, 8, 0.45},
                           {KVCodec::Int8, 1, 0.80},
                           {KVCodec::Int8, 4, 0.80},
                           {KVCodec::Int8, 8, 0.80},
                           {KVCodec::Int4, 1, 0.75},
                           {KVCodec::Int4, 4, 0.75},
                           {KVCodec::Int4, 8, 0.75}}) {
    decode_case(shrunk({.group = goal.group, .codec = goal.codec}, shrink), "decode", goal.fraction,
                device, run);
  }
  for (const KVCodec codec : {KVCodec::None, KVCodec::E4M3}) {
    for (const std::int64_t group : {1, 4, 8}) {
      decode_case(shrunk({.group = group, .codec = codec}, shrink), "fast decode", 0.85, fast, run);
    }
  }
}

// One sequence alone: as many layers as there are in a model, so that none is found in a cache.
void latency_cases(const std::shared_ptr<Device>& device, const Run& run, std::int64_t shrink) {
  const auto layers_count = static_cast<int>(shrunk(32, shrink));
  for (const auto& [context, kv_heads, goal_us] :
       {std::tuple{4096, 8, 10.0}, {32768, 8, 25.0}, {32768, 4, 25.0}}) {
    const Shape shape =
        shrunk({.batch = 1, .context = context, .kv_heads = kv_heads, .group = 8}, shrink);
    std::vector<Layer> layers;
    for (int i = 0; i < layers_count; ++i) {
      layers.emplace_back(shape, device);
    }
    run({.name = "one sequence of " + std::to_string(context) + ", " + std::to_string(kv_heads) +
                 " KV heads, bf16 group 8",
         .goal = goal_us,
         .steps = layers_count,
         .work = [&] {
           for (const Layer& layer : layers) {
             layer.attend();
           }
         }});
  }
}

void prefill_cases(const std::shared_ptr<Device>& device,
                   const std::shared_ptr<Device>& fast,
                   const Run& run,
                   std::int64_t shrink) {
  const Shape shape = shrunk({.batch = 1, .context = 4096, .query = 4096, .group = 4}, shrink);
  const double pairs = 0.5 * static_cast<double>(shape.context * shape.context);
  const double operations =
      pairs * 4.0 * static_cast<double>(shape.head_dim * shape.kv_heads * shape.group);
  for (const bool is_fast : {false, true}) {
    const Layer layer(shape, is_fast ? fast : device);
    run({.name = is_fast ? "fast prefill bf16, 4096 tokens" : "prefill bf16, 4096 tokens",
         .operations = operations,
         .goal = is_fast ? 350.0 : 25.0,
         .work = [&] { layer.attend(); }});
  }
}

void append_cases(const std::shared_ptr<Device>& device, const Run& run, std::int64_t shrink) {
  for (const KVCodec codec : {KVCodec::None, KVCodec::E4M3, KVCodec::Int8, KVCodec::Int4}) {
    const Shape shape =
        shrunk({.batch = 8, .context = 4096, .query = 4096, .codec = codec}, shrink);
    const Layer layer(shape, device);
    const std::int64_t rows = shape.batch * shape.query * shape.kv_heads;
    run({.name = "append " + name_of(codec),
         .bytes = 2 * rows * (shape.head_dim * 2 + row_bytes(shape)),
         .goal = 0.85,
         .work = [&] { layer.append(); }});
  }
}

void copy_case(const std::shared_ptr<Device>& device, const Run& run, std::int64_t shrink) {
  const std::int64_t blocks = shrunk(16384, shrink);
  constexpr std::int64_t kHeads = 8;
  constexpr std::int64_t kRowBytes = 256;
  constexpr std::int64_t kBlockBytes = kHeads * kBlock * kRowBytes;
  const Tensor pool = Tensor::zeros(DType::UInt8, {blocks * kBlockBytes}, device);
  const BlockArrayArg array{.data = pool.address(),
                            .members = 1,
                            .heads = kHeads,
                            .row_bytes = kRowBytes,
                            .member_stride_bytes = blocks * kBlockBytes,
                            .block_stride_bytes = kBlockBytes,
                            .head_stride_bytes = kBlock * kRowBytes};
  std::vector<BlockCopy> copies;
  for (std::int32_t i = 0; i < blocks / 2; ++i) {
    copies.push_back({.src = i, .dst = static_cast<std::int32_t>(blocks / 2) + i, .rows = kBlock});
  }
  run({.name = "copy of whole blocks",
       .bytes = std::ssize(copies) * 2 * kBlockBytes,
       .goal = 0.85,
       .work = [&] {
         device->copy_blocks({.arrays = &array,
                              .num_arrays = 1,
                              .copies = copies.data(),
                              .num_copies = std::ssize(copies)});
       }});
}

void recurrent_case(const std::shared_ptr<Device>& device, const Run& run, std::int64_t shrink) {
  const std::int64_t batch = shrunk(64, shrink);
  constexpr std::int64_t kHeads = 32;
  constexpr std::int64_t kDim = 128;
  const auto operand = [&](const Dims& dims) { return Tensor::zeros(DType::BF16, dims, device); };
  std::vector<std::int32_t> tokens(static_cast<std::size_t>(batch + 1));
  std::iota(tokens.begin(), tokens.end(), 0);
  const Tensor ends = Tensor::from_values<std::int32_t>(DType::Int32, {batch + 1}, tokens, device);
  const GatedDeltaArgs args{
      .q = operand({batch, kHeads, kDim}),
      .k = operand({batch, kHeads, kDim}),
      .v = operand({batch, kHeads, kDim}),
      .a = operand({batch, kHeads}),
      .b = operand({batch, kHeads}),
      .a_log = {},
      .dt_bias = {},
      .recurrent_state = Tensor::zeros(DType::F32, {batch, kHeads, kDim, kDim}, device),
      .cu_seqlens_q = ends,
      .slot_ids = ends.slice(0, 0, batch),
      .b_sigmoid = true,
      .qk_l2_norm = true,
      .out = operand({batch, kHeads, kDim}),
      .max_query_len = 1};
  run({.name = "gated delta update, 64 x 32 x 128 x 128",
       .bytes = batch * kHeads * kDim * (2 * kDim * 4 + 4 * 2),
       .goal = 0.85,
       .work = [&] { gated_delta_update(args); }});
}

}  // namespace

void for_each_gpu_case(const std::shared_ptr<Device>& device,
                       const std::shared_ptr<Device>& fast,
                       const Run& run,
                       std::int64_t shrink) {
  append_cases(device, run, shrink);
  decode_cases(device, fast, run, shrink);
  latency_cases(device, run, shrink);
  prefill_cases(device, fast, run, shrink);
  copy_case(device, run, shrink);
  recurrent_case(device, run, shrink);
}

}  // namespace octavo::bench
