// The reference's attention and append beside what the memory gives in the same run.
//
// Decode attention streams every key and value once: `kv_token_heads` is tokens times KV heads a
// CPU second, `bytes_per_second` what is read of the cache. The working set is far beyond the last
// level cache, in blocks of 16 tokens in random order. Ratios within one run count; times belong to
// the machine.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <numeric>
#include <span>
#include <vector>

#include "octavo/device.h"
#include "octavo/kv_ops.h"
#include "octavo/kv_row_info.h"
#include "octavo/ref_cpu/cpu_device.h"
#include <benchmark/benchmark.h>

namespace octavo {
namespace {

constexpr std::int64_t kKvHeads = 8;
constexpr std::int64_t kHeadDim = 128;
constexpr std::int64_t kBatch = 8;
constexpr std::int64_t kTokens = 4096;  // Of each sequence.
constexpr std::int64_t kBlockSize = 16;
constexpr std::int64_t kColumns = kTokens / kBlockSize;

class Rows {
 public:
  Rows(KVCodec codec, std::int64_t group) : device_(make_cpu_device(1)), group_(group) {
    keys_ = make_row(codec);
    values_ = make_row(codec);
    std::vector<std::int32_t> ids(static_cast<std::size_t>(kBatch * kColumns));
    std::iota(ids.begin(), ids.end(), 0);
    std::uint64_t state = 1;
    for (std::size_t i = ids.size(); i > 1; --i) {
      state = state * 6364136223846793005ULL + 1442695040888963407ULL;
      std::swap(ids[i - 1], ids[(state >> 33) % i]);
    }
    table_ = Tensor::from_values<std::int32_t>(DType::Int32, {kBatch, kColumns}, ids, device_);
  }

  // A step of `step_tokens` tokens of every sequence, the last ones of kTokens.
  GroupQueryAttentionArgs step(std::int64_t step_tokens) const {
    std::vector<std::int32_t> queries{0};
    std::vector<std::int32_t> lens;
    for (std::int64_t i = 0; i < kBatch; ++i) {
      queries.push_back(queries.back() + static_cast<std::int32_t>(step_tokens));
      lens.push_back(kTokens);
    }
    GroupQueryAttentionArgs args;
    args.query = numbers({kBatch * step_tokens, kKvHeads * group_, kHeadDim});
    args.key = numbers({kBatch * step_tokens, kKvHeads, kHeadDim});
    args.value = numbers({kBatch * step_tokens, kKvHeads, kHeadDim});
    args.key_cache = keys_;
    args.value_cache = values_;
    args.step.cu_seqlens_q =
        Tensor::from_values<std::int32_t>(DType::Int32, {kBatch + 1}, queries, device_);
    args.step.cu_seqlens_k =
        Tensor::from_values<std::int32_t>(DType::Int32, {kBatch}, lens, device_);
    args.step.kvcache_start = table_;
    args.out = Tensor::zeros(DType::BF16, args.query.shape(), device_);
    return args;
  }

  // Bytes of one token and head, scales included.
  std::int64_t bytes_per_token_head() const {
    const std::int64_t scale = keys_.row_info()->codec == KVCodec::None ? 0 : 8;
    return 2 * keys_.size(3) * bytes_per_element(keys_.dtype()) + scale;
  }

  // Writes all positions, so that the decode reads numbers.
  void fill() {
    GroupQueryAttentionArgs args = step(kTokens);
    append_varlen({args.key, args.value, args.key_cache, args.value_cache, args.step});
  }

 private:
  Tensor make_row(KVCodec codec) const {
    DType dtype = DType::BF16;
    std::int64_t row = kHeadDim;
    if (codec == KVCodec::Int8) {
      dtype = DType::Int8;
    } else if (codec == KVCodec::Int4) {
      dtype = DType::UInt8;
      row /= 2;
    } else if (codec == KVCodec::E4M3) {
      dtype = DType::E4M3;
    }
    auto info = std::make_shared<KVRowInfo>();
    info->layout = Layout::Paged;
    info->capacity = kTokens;
    info->block_size = kBlockSize;
    info->codec = codec;
    if (codec != KVCodec::None) {
      info->scales = Tensor::zeros(DType::F32, {kBatch * kColumns, kKvHeads, kBlockSize}, device_);
    }
    return Tensor::zeros(dtype, {kBatch * kColumns, kKvHeads, kBlockSize, row}, device_)
        .with_row_info(std::move(info));
  }

  Tensor numbers(const Dims& shape) const {
    Tensor tensor = Tensor::zeros(DType::BF16, shape, device_);
    std::uint64_t state = 7;
    for (std::uint16_t& x :
         std::span(tensor.data<std::uint16_t>(), static_cast<std::size_t>(tensor.num_elements()))) {
      state = state * 6364136223846793005ULL + 1442695040888963407ULL;
      // Of either sign, magnitudes in [1/8, 2).
      x = static_cast<std::uint16_t>((state >> 63) << 15 | (0x3E00 + (state >> 40) % 0x200));
    }
    return tensor;
  }

  std::shared_ptr<Device> device_;
  std::int64_t group_;
  Tensor keys_;
  Tensor values_;
  Tensor table_;
};

constexpr std::int64_t kTokenHeads = kBatch * kTokens * kKvHeads;

void decode_attend(benchmark::State& state, KVCodec codec) {
  Rows rows(codec, state.range(0));
  rows.fill();
  GroupQueryAttentionArgs args = rows.step(1);
  args.key = {};
  args.value = {};
  for (auto _ : state) {
    group_query_attention_varlen(args);
  }
  state.SetBytesProcessed(state.iterations() * kTokenHeads * rows.bytes_per_token_head());
  state.counters["kv_token_heads"] = benchmark::Counter(
      static_cast<double>(state.iterations() * kTokenHeads), benchmark::Counter::kIsRate);
}
BENCHMARK_CAPTURE(decode_attend, bf16, KVCodec::None)->ArgName("group")->Arg(1)->Arg(4)->Arg(8);
BENCHMARK_CAPTURE(decode_attend, e4m3, KVCodec::E4M3)->ArgName("group")->Arg(1)->Arg(8);
BENCHMARK_CAPTURE(decode_attend, int8, KVCodec::Int8)->ArgName("group")->Arg(1)->Arg(8);
BENCHMARK_CAPTURE(decode_attend, int4, KVCodec::Int4)->ArgName("group")->Arg(1)->Arg(8);

// A prefill of 256 tokens a sequence behind 3840 cached ones.
void prefill_attend(benchmark::State& state, KVCodec codec) {
  constexpr std::int64_t kStep = 256;
  Rows rows(codec, 4);
  rows.fill();
  const GroupQueryAttentionArgs args = rows.step(kStep);
  for (auto _ : state) {
    group_query_attention_varlen(args);
  }
  const std::int64_t pairs = kBatch * kKvHeads * 4 * (kStep * (kTokens - kStep / 2));
  state.counters["flops"] = benchmark::Counter(
      static_cast<double>(state.iterations() * pairs * 4 * kHeadDim), benchmark::Counter::kIsRate);
}
BENCHMARK_CAPTURE(prefill_attend, bf16, KVCodec::None)->Iterations(1);
BENCHMARK_CAPTURE(prefill_attend, int8, KVCodec::Int8)->Iterations(1);

// Bytes of the step's keys and values (bf16) a second.
void append(benchmark::State& state, KVCodec codec) {
  Rows rows(codec, 1);
  const GroupQueryAttentionArgs args = rows.step(kTokens);
  const AppendArgs append_args{args.key, args.value, args.key_cache, args.value_cache, args.step};
  append_varlen(append_args);  // Touches the pages.
  for (auto _ : state) {
    append_varlen(append_args);
  }
  state.SetBytesProcessed(state.iterations() * (args.key.size_bytes() + args.value.size_bytes()));
}
BENCHMARK_CAPTURE(append, bf16, KVCodec::None);
BENCHMARK_CAPTURE(append, e4m3, KVCodec::E4M3);
BENCHMARK_CAPTURE(append, int8, KVCodec::Int8);
BENCHMARK_CAPTURE(append, int4, KVCodec::Int4);

// The ceilings, over as many bytes as the bf16 rows have.
constexpr std::size_t kCeilingBytes = static_cast<std::size_t>(kTokenHeads) * 4 * kHeadDim;

void memory_read(benchmark::State& state) {
  std::vector<std::uint64_t> words(kCeilingBytes / 8, 1);
  for (auto _ : state) {
    std::uint64_t sum = 0;
    for (const std::uint64_t word : words) {
      sum += word;
    }
    benchmark::DoNotOptimize(sum);
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(kCeilingBytes));
}
BENCHMARK(memory_read);

void memory_copy(benchmark::State& state) {
  std::vector<std::uint8_t> from(kCeilingBytes, 1);
  std::vector<std::uint8_t> to(kCeilingBytes, 2);
  for (auto _ : state) {
    std::memcpy(to.data(), from.data(), kCeilingBytes);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(kCeilingBytes));
}
BENCHMARK(memory_copy);

}  // namespace
}  // namespace octavo
