#include "attend_world.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <span>
#include <string>

#include "float_bits.h"
#include "octavo/kv_row_info.h"
#include "octavo/ref_cpu/cpu_device.h"
#include "rows.h"

namespace octavo::ops_test {
namespace {

std::uint64_t mixed(std::uint64_t z) {
  z += 0x9E3779B97F4A7C15ULL;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31);
}

// Roughly normal, in (-4, 4): the sum of four uniforms, scaled.
float bell(std::uint64_t hash) {
  float sum = 0.0f;
  for (int i = 0; i < 4; ++i) {
    sum += static_cast<float>(hash >> (16 * i) & 0xFFFF) * 0x1p-16f - 0.5f;
  }
  return sum * 1.7f;
}

std::vector<float> floats_of(const Tensor& tensor) {
  std::vector<float> values(static_cast<std::size_t>(tensor.num_elements()));
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(tensor.size_bytes()));
  tensor.device()->copy_to_host(bytes.data(), tensor.address(), tensor.size_bytes());
  ref_cpu::decode_row(tensor.dtype(), bytes.data(), 0, tensor.num_elements(), values.data());
  return values;
}

std::shared_ptr<Device> make_device(const Placement& placement) {
  return placement.device ? placement.device() : make_cpu_device(placement.threads);
}

std::vector<float> slice(const std::vector<float>& values, std::int64_t row, std::int64_t size) {
  const auto begin = values.begin() + row * size;
  return {begin, begin + size};
}

}  // namespace

float element(const Model& model,
              Part part,
              int sequence,
              std::int64_t position,
              std::int64_t head,
              std::int64_t d) {
  if (sequence == 0 && position == model.nan_position && static_cast<int>(part) == model.nan_part) {
    return std::numeric_limits<float>::quiet_NaN();
  }
  if (part == Part::Value && model.constant_value != 0.0f) {
    return model.constant_value;
  }
  std::uint64_t hash = mixed(model.seed * 3 + static_cast<std::uint64_t>(part));
  hash = mixed(hash ^ static_cast<std::uint64_t>(sequence));
  hash = mixed(hash ^ static_cast<std::uint64_t>(position));
  hash = mixed(hash ^ static_cast<std::uint64_t>(head));
  hash = mixed(hash ^ static_cast<std::uint64_t>(d));
  const float x = bell(hash) * (part == Part::Query ? model.magnitude : 1.0f);
  const DType dtype = part == Part::Query ? model.query_dtype : model.input_dtype;
  float rounded = 0.0f;
  std::uint32_t code = 0;
  ref_cpu::encode_row(dtype, &x, 1, &code, 0);
  ref_cpu::decode_row(dtype, &code, 0, 1, &rounded);
  return rounded;
}

float sink(const Model& model, std::int64_t q_head) {
  return bell(mixed(model.seed * 3 + 77 + static_cast<std::uint64_t>(q_head))) * 2.0f;
}

float static_scale(const Model& model, Part part, std::int64_t kv_head) {
  return (part == Part::Key ? model.k_static_scale : model.v_static_scale) *
         static_cast<float>(kv_head + 1);
}

World::World(const Model& model,
             const Placement& placement,
             int num_sequences,
             std::int64_t max_len)
    : model_(model), placement_(placement), device_(make_device(placement)) {
  lengths_.resize(static_cast<std::size_t>(num_sequences));
  if (placement.paged) {
    columns_ = (max_len + placement.block_size - 1) / placement.block_size;
    capacity_ = columns_ * placement.block_size;
    blocks_ = columns_ * num_sequences + placement.spare_blocks;
  } else {
    columns_ = 1;
    capacity_ =
        model.window > 0 ? std::min(max_len, model.window - 1 + placement.max_step) : max_len;
    blocks_ = num_sequences + placement.spare_blocks;
  }
  std::vector<std::int32_t> ids(static_cast<std::size_t>(blocks_));
  std::iota(ids.begin(), ids.end(), 0);
  if (placement.last_blocks) {
    std::reverse(ids.begin(), ids.end());
  }
  for (std::size_t i = ids.size(); i > 1 && !placement.last_blocks; --i) {
    std::swap(ids[i - 1], ids[mixed(placement.block_seed * 1000003 + i) % i]);
  }
  table_.assign(ids.begin(), ids.begin() + columns_ * num_sequences);
  keys_ = make_row(Part::Key, model.head_dim);
  values_ = make_row(Part::Value, model.v_head_dim);
}

Tensor World::make_row(Part part, std::int64_t row_dim) const {
  const KVQuantSpec& quant = part == Part::Key ? model_.k_quant : model_.v_quant;
  DType dtype = model_.kv_dtype;
  switch (quant.codec) {
    case KVCodec::None:
      break;
    case KVCodec::Int8:
      dtype = DType::Int8;
      break;
    case KVCodec::Int4:
      dtype = DType::UInt8;
      row_dim /= 2;
      break;
    case KVCodec::E4M3:
      dtype = DType::E4M3;
      break;
    case KVCodec::E5M2:
      dtype = DType::E5M2;
      break;
  }
  const std::int64_t rows = placement_.paged ? placement_.block_size : capacity_;
  const Tensor data = Tensor::zeros(dtype, {blocks_, model_.kv_heads, rows, row_dim}, device_);
  if (!placement_.last_blocks) {
    device_->fill(data.address(), placement_.poison, data.size_bytes());
  }
  auto info = std::make_shared<KVRowInfo>();
  info->layout = placement_.paged ? Layout::Paged : Layout::Continuous;
  info->capacity = capacity_;
  info->block_size = placement_.paged ? placement_.block_size : 0;
  info->window = model_.window;
  info->codec = quant.codec;
  info->scale = quant.scale;
  if (quant.codec != KVCodec::None && quant.scale == KVScale::PerTokenHead) {
    info->scales = Tensor::zeros(DType::F32, {blocks_, model_.kv_heads, rows}, device_);
    if (!placement_.last_blocks) {
      device_->fill(info->scales.address(), placement_.poison, info->scales.size_bytes());
    }
  } else if (quant.codec != KVCodec::None) {
    std::vector<float> scales;
    for (std::int64_t head = 0; head < model_.kv_heads; ++head) {
      scales.push_back(static_scale(model_, part, head));
    }
    info->scales = Tensor::from_values<float>(DType::F32, {model_.kv_heads}, scales, device_);
  }
  return data.with_row_info(std::move(info));
}

Tensor World::operand(Part part, const Step& step) const {
  const bool query = part == Part::Query;
  const std::int64_t heads = query ? model_.q_heads() : model_.kv_heads;
  const std::int64_t dim = part == Part::Value ? model_.v_head_dim : model_.head_dim;
  std::vector<float> values;
  for (const auto& [sequence, tokens] : step) {
    for (int i = 0; i < tokens; ++i) {
      const std::int64_t position = length(sequence) + i;
      for (std::int64_t head = 0; head < heads; ++head) {
        for (std::int64_t d = 0; d < dim; ++d) {
          values.push_back(element(model_, part, sequence, position, head, d));
        }
      }
    }
  }
  const auto count = static_cast<std::int64_t>(values.size());
  const Tensor tensor = Tensor::zeros(query ? model_.query_dtype : model_.input_dtype,
                                      {count / (heads * dim), heads, dim}, device_);
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(tensor.size_bytes()));
  ref_cpu::encode_row(tensor.dtype(), values.data(), count, bytes.data(), 0);
  device_->copy_from_host(tensor.address(), bytes.data(), tensor.size_bytes());
  return tensor;
}

KVStepTensors World::make_step(const Step& step, bool appends) const {
  std::vector<std::int32_t> queries{0};
  std::vector<std::int32_t> lens;
  std::vector<std::int32_t> cells;
  if (placement_.cumulative_k) {
    lens.push_back(0);
  }
  for (const auto& [sequence, tokens] : step) {
    queries.push_back(queries.back() + tokens);
    const auto len = static_cast<std::int32_t>(length(sequence) + (appends ? tokens : 0));
    lens.push_back(placement_.cumulative_k ? lens.back() + len : len);
    // Cells that no query of the step sees name no block: they must never be looked at.
    std::int64_t first = 0;
    std::int64_t end = columns_;
    if (placement_.paged) {
      const std::int64_t oldest = len - tokens - model_.window + 1;
      first = model_.window > 0 && oldest > 0 ? oldest / placement_.block_size : 0;
      end = (len + placement_.block_size - 1) / placement_.block_size;
    }
    for (std::int64_t cell = 0; cell < columns_; ++cell) {
      const bool seen = cell >= first && cell < end;
      cells.push_back(seen ? table_[static_cast<std::size_t>(sequence * columns_ + cell)] : -1);
    }
  }
  const auto batch = static_cast<std::int64_t>(step.size());
  const auto ints = [&](const std::vector<std::int32_t>& values, const Dims& shape) {
    return Tensor::from_values<std::int32_t>(DType::Int32, shape, values, device_);
  };
  return {.cu_seqlens_q = ints(queries, {batch + 1}),
          .cu_seqlens_k = ints(lens, {static_cast<std::int64_t>(lens.size())}),
          .kvcache_start = placement_.paged ? ints(cells, {batch, columns_}) : ints(cells, {batch}),
          .slot_ids = {}};
}

GroupQueryAttentionArgs World::make_args(const Step& step, bool appends) const {
  GroupQueryAttentionArgs args{.query = {},
                               .key = {},
                               .value = {},
                               .key_cache = keys_,
                               .value_cache = values_,
                               .step = make_step(step, appends),
                               .soft_cap = model_.soft_cap,
                               .sinks = {},
                               .out = {},
                               .out_dtype = model_.out_dtype,
                               .lse = {},
                               .max_sum = {},
                               .partial_max_sum = {},
                               .partial_out = {}};
  if (appends) {
    args.query = operand(Part::Query, step);
    args.key = operand(Part::Key, step);
    args.value = operand(Part::Value, step);
  } else {
    World before = *this;
    for (const auto& [sequence, tokens] : step) {
      before.lengths_[static_cast<std::size_t>(sequence)] -= tokens;
    }
    args.query = before.operand(Part::Query, step);
  }
  if (model_.scale != 0.0f) {
    args.scale = model_.scale;
  }
  if (model_.sinks) {
    std::vector<float> sinks;
    for (std::int64_t head = 0; head < model_.q_heads(); ++head) {
      sinks.push_back(sink(model_, head));
    }
    args.sinks = Tensor::from_values<float>(DType::F32, {model_.q_heads()}, sinks, device_);
  }
  const std::int64_t tokens = args.query.size(0);
  args.lse = Tensor::zeros(DType::F32, {tokens, model_.q_heads()}, device_);
  args.max_sum = Tensor::zeros(DType::F32, {tokens, model_.q_heads(), 2}, device_);
  if (placement_.partials) {
    const std::int64_t longest = *std::max_element(lengths_.begin(), lengths_.end());
    const std::int64_t chunks = (longest + tokens) / kAttentionChunk + 1;
    args.partial_max_sum =
        Tensor::zeros(DType::F32, {tokens, model_.q_heads(), chunks, 2}, device_);
    args.partial_out =
        Tensor::zeros(DType::F32, {tokens, model_.q_heads(), chunks, model_.v_head_dim}, device_);
  }
  return args;
}

void World::attend(const Step& step, bool appends, Results& results) {
  const GroupQueryAttentionArgs args = make_args(step, appends);
  const std::vector<float> out = floats_of(group_query_attention_varlen(args));
  const std::vector<float> lse = floats_of(args.lse);
  const std::vector<float> max_sum = floats_of(args.max_sum);
  const std::int64_t heads = model_.q_heads();
  const std::int64_t chunks = placement_.partials ? args.partial_out.size(2) : 0;
  const auto partial_max_sum =
      placement_.partials ? floats_of(args.partial_max_sum) : std::vector<float>();
  const auto partial_out = placement_.partials ? floats_of(args.partial_out) : std::vector<float>();
  std::int64_t token = 0;
  for (const auto& [sequence, tokens] : step) {
    std::int64_t& len = lengths_[static_cast<std::size_t>(sequence)];
    len += appends ? tokens : 0;
    for (int i = 0; i < tokens; ++i, ++token) {
      const std::int64_t position = len - tokens + i;
      TokenResult result{.out = slice(out, token, heads * model_.v_head_dim),
                         .lse = slice(lse, token, heads),
                         .max_sum = slice(max_sum, token, heads * 2),
                         .partial_max_sum = {},
                         .partial_out = {}};
      const std::int64_t seen = position / kAttentionChunk + 1;
      for (std::int64_t head = 0; placement_.partials && head < heads; ++head) {
        for (std::int64_t chunk = 0; chunk < seen; ++chunk) {
          const std::int64_t at = (token * heads + head) * chunks + chunk;
          const auto ml = slice(partial_max_sum, at, 2);
          const auto o = slice(partial_out, at, model_.v_head_dim);
          result.partial_max_sum.insert(result.partial_max_sum.end(), ml.begin(), ml.end());
          result.partial_out.insert(result.partial_out.end(), o.begin(), o.end());
        }
      }
      results[{sequence, position}] = std::move(result);
    }
  }
}

void World::run(const Step& step, Results& results) {
  attend(step, true, results);
}

void World::fill(const Step& step) {
  append_varlen({.key = operand(Part::Key, step),
                 .value = operand(Part::Value, step),
                 .key_cache = keys_,
                 .value_cache = values_,
                 .step = make_step(step, true)});
  for (const auto& [sequence, tokens] : step) {
    lengths_[static_cast<std::size_t>(sequence)] += tokens;
  }
}

void World::run_read_only(const Step& step, Results& results) {
  attend(step, false, results);
}

void World::rewind(int sequence, std::int64_t position) {
  lengths_[static_cast<std::size_t>(sequence)] = position;
}

Results run(const Model& model, const Placement& placement, const std::vector<Step>& steps) {
  std::map<int, std::int64_t> lengths;
  for (const Step& step : steps) {
    for (const auto& [sequence, tokens] : step) {
      lengths[sequence] += tokens;
    }
  }
  std::int64_t longest = 0;
  for (const auto& [sequence, len] : lengths) {
    longest = std::max(longest, len);
  }
  World world(model, placement, lengths.rbegin()->first + 1, longest);
  Results results;
  for (const Step& step : steps) {
    world.run(step, results);
  }
  return results;
}

namespace {

std::string first_difference(const char* what,
                             const std::vector<float>& a,
                             const std::vector<float>& b) {
  if (a.size() != b.size()) {
    return std::string(what) + " has " + std::to_string(a.size()) + " and " +
           std::to_string(b.size()) + " elements";
  }
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::bit_cast<std::uint32_t>(a[i]) != std::bit_cast<std::uint32_t>(b[i])) {
      return std::string(what) + "[" + std::to_string(i) + "] is " + std::to_string(a[i]) +
             " and " + std::to_string(b[i]);
    }
  }
  return {};
}

std::string token_difference(const TokenResult& a, const TokenResult& b) {
  std::string text = first_difference("out", a.out, b.out);
  for (const auto& [what, member] :
       {std::pair{"lse", &TokenResult::lse}, std::pair{"max_sum", &TokenResult::max_sum},
        std::pair{"partial_max_sum", &TokenResult::partial_max_sum},
        std::pair{"partial_out", &TokenResult::partial_out}}) {
    if (text.empty()) {
      text = first_difference(what, a.*member, b.*member);
    }
  }
  return text;
}

}  // namespace

std::string difference(const Results& a, const Results& b, bool common_only) {
  if (!common_only && a.size() != b.size()) {
    return std::to_string(a.size()) + " and " + std::to_string(b.size()) + " tokens";
  }
  for (const auto& [key, result] : a) {
    const auto other = b.find(key);
    if (other == b.end()) {
      if (common_only) {
        continue;
      }
      return "a token is missing";
    }
    const std::string text = token_difference(result, other->second);
    if (!text.empty()) {
      return "sequence " + std::to_string(key.first) + " position " + std::to_string(key.second) +
             ": " + text;
    }
  }
  return {};
}

}  // namespace octavo::ops_test
