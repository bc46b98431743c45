// The specification of a chunk, spelled out: an Eigen array is a set of lanes that never talk to
// each other, and every sum over lanes is a loop here. Eigen's own reductions have no fixed order
// and are not used.
#include <algorithm>

#include "attend_chunk.h"
#include "attend_int.h"
#include "exact_math.h"
#include "quantize.h"
#include "rows.h"
#include <Eigen/Core>

namespace octavo::ref_cpu {
namespace {

using Eigen::Index;
using Elements = Eigen::Array<float, Eigen::Dynamic, 1, 0, 1024, 1>;  // Of a head.
using Units = Eigen::Array<float, Eigen::Dynamic, 1, 0, 128, 1>;      // Of eight elements each.
using Warp = Eigen::Array<float, 32, 1>;                              // Of the softmax.
using ElementsMap = Eigen::Map<Elements>;
using ConstElementsMap = Eigen::Map<const Elements>;

// One fused multiply-add a lane; Eigen has none.
template <typename Lanes>
Lanes fma_lanes(const Lanes& a, const Lanes& b, const Lanes& c) {
  Lanes sum(c.size());
  for (Index i = 0; i < c.size(); ++i) {
    sum[i] = fma_rn(a[i], b[i], c[i]);
  }
  return sum;
}

// The pairwise tree, neighbours first; an odd last element passes up unchanged.
template <typename Lanes>
float tree(Lanes lanes) {
  for (Index n = lanes.size(); n > 1; n = (n + 1) / 2) {
    for (Index i = 0; i < n / 2; ++i) {
      lanes[i] = lanes[2 * i] + lanes[2 * i + 1];
    }
    if (n % 2 != 0) {
      lanes[n / 2] = lanes[n - 1];
    }
  }
  return lanes[0];
}

// Element e of every unit.
Units elements(const float* row, std::int64_t head_dim, Index e) {
  return Eigen::Map<const Units, 0, Eigen::InnerStride<8>>(row + e, head_dim / 8);
}

float dot(const float* query, const float* key, std::int64_t head_dim) {
  Units sum = elements(query, head_dim, 0) * elements(key, head_dim, 0);
  for (Index e = 1; e < 8; ++e) {
    sum = fma_lanes<Units>(elements(query, head_dim, e), elements(key, head_dim, e), sum);
  }
  return tree(sum);
}

void decode(const KVRowsArg& rows, const std::uint8_t* row, float* values) {
  if (rows.codec == KVCodec::None) {
    decode_row(rows.dtype, row, 0, rows.head_dim, values);
  } else {
    decode_codes(rows.codec, row, rows.head_dim, values);
  }
}

// Dots of one row over its range, to be multiplied by the returned factor.
float dots_float(const ChunkTask& task, const float* query, ChunkRange range, float* scores) {
  const KVRowsArg& keys = task.arg->keys;
  Elements key(keys.head_dim);
  for (int t = range.begin; t < range.end; ++t) {
    decode(keys, task.key_rows[static_cast<std::size_t>(t)], key.data());
    scores[t] = dot(query, key.data(), keys.head_dim);
  }
  return task.arg->score_factor;
}

float dots_integer(const ChunkTask& task, const float* query, ChunkRange range, float* scores) {
  const KVRowsArg& keys = task.arg->keys;
  Eigen::Array<std::int16_t, Eigen::Dynamic, 1, 0, 1024, 1> integers(keys.head_dim);
  Eigen::Array<std::int8_t, Eigen::Dynamic, 1, 0, 1024, 1> key(keys.head_dim);
  const FixedPoint scale = to_fixed_point<kQueryBits>(query, keys.head_dim, integers.data());
  for (int t = range.begin; t < range.end; ++t) {
    unpack_codes(keys.codec, task.key_rows[static_cast<std::size_t>(t)], keys.head_dim, key.data());
    scores[t] =
        static_cast<float>((integers.cast<std::int32_t>() * key.cast<std::int32_t>()).sum());
  }
  return task.arg->score_factor * scale.from_integer;
}

// Dots become weights p = 2^(s - m); what the row does not see gets 0. Returns {m, l}.
std::array<float, 2> softmax(const ChunkTask& task, ChunkRange range, float factor, float* scores) {
  const AttendArg& arg = *task.arg;
  float m = kMinusInfinity;
  for (int t = range.begin; t < range.end; ++t) {
    float s = scores[t];
    if (arg.keys.scales != nullptr) {
      s = s * task.key_scales[static_cast<std::size_t>(t)];
    }
    s = s * factor;
    if (arg.cap_factor > 0.0f) {
      s = tanh_spec(s) * arg.cap_factor;
    }
    s = s + 0.0f;
    scores[t] = s;
    m = s > m ? s : m;  // A NaN is passed over.
  }
  std::fill(scores, scores + range.begin, 0.0f);
  std::fill(scores + range.end, scores + kChunk, 0.0f);
  for (int t = range.begin; t < range.end; ++t) {
    scores[t] = exp2_spec(scores[t] - m);
  }
  Warp sums = Warp::Zero();
  for (int t = 0; t < kChunk; t += 32) {
    sums += Eigen::Map<const Warp>(scores + t);
  }
  return {m, tree(sums)};
}

// `sums` is room for the streams, [streams, head_dim].
void weigh_float(
    const ChunkTask& task, ChunkRange range, const float* weights, float* sums, float* out) {
  const KVRowsArg& values = task.arg->values;
  const std::int64_t head_dim = values.head_dim;
  const int streams = num_streams(head_dim);
  const auto stream = [&](int r) { return ElementsMap(sums + r * head_dim, head_dim); };
  for (int r = 0; r < streams; ++r) {
    stream(r).setZero();
  }
  Elements value(head_dim);
  for (int t = range.begin; t < range.end; ++t) {
    decode(values, task.value_rows[static_cast<std::size_t>(t)], value.data());
    stream(t % streams) =
        fma_lanes<Elements>(Elements::Constant(head_dim, weights[t]), value, stream(t % streams));
  }
  for (int n = streams; n > 1; n /= 2) {
    for (int r = 0; r < n / 2; ++r) {
      stream(r) = (stream(2 * r) + stream(2 * r + 1)).eval();
    }
  }
  ElementsMap(out, head_dim) = stream(0);
}

void weigh_integer(const ChunkTask& task, ChunkRange range, const float* weights, float* out) {
  const KVRowsArg& values = task.arg->values;
  std::array<std::int32_t, kChunk> integers;
  const FixedPoint scale =
      to_fixed_point<kWeightBits>(weights + range.begin, range.end - range.begin, integers.data());
  Eigen::Array<std::int8_t, Eigen::Dynamic, 1, 0, 1024, 1> value(values.head_dim);
  Eigen::Array<std::int32_t, Eigen::Dynamic, 1, 0, 1024, 1> sum =
      Eigen::Array<std::int32_t, Eigen::Dynamic, 1, 0, 1024, 1>::Zero(values.head_dim);
  for (int t = range.begin; t < range.end; ++t) {
    unpack_codes(values.codec, task.value_rows[static_cast<std::size_t>(t)], values.head_dim,
                 value.data());
    sum += value.cast<std::int32_t>() * integers[static_cast<std::size_t>(t - range.begin)];
  }
  ElementsMap(out, values.head_dim) = sum.cast<float>() * scale.from_integer;
}

void attend_row(const ChunkTask& task, int row, ChunkScratch& scratch) {
  const AttendArg& arg = *task.arg;
  const auto at = static_cast<std::size_t>(row);
  const ChunkRange range = task.row_range[at];
  float* const max_sum = task.max_sum + 2 * row;
  float* const out = task.out + row * arg.values.head_dim;
  if (range.empty()) {
    max_sum[0] = kMinusInfinity;
    max_sum[1] = 0.0f;
    std::fill(out, out + arg.values.head_dim, 0.0f);
    return;
  }
  float* const query = scratch.queries;
  float* const scores = scratch.scores;
  decode_row(
      arg.query.dtype, arg.query.data,
      task.row_token[at] * arg.query.token_stride + task.row_head[at] * arg.query.head_stride,
      arg.keys.head_dim, query);
  const float factor = is_integer(arg.keys.codec) ? dots_integer(task, query, range, scores)
                                                  : dots_float(task, query, range, scores);
  const auto [m, l] = softmax(task, range, factor, scores);
  max_sum[0] = m;
  max_sum[1] = l;
  if (arg.values.scales != nullptr) {
    for (int t = range.begin; t < range.end; ++t) {
      scores[t] = scores[t] * task.value_scales[static_cast<std::size_t>(t)];
    }
  }
  if (is_integer(arg.values.codec)) {
    weigh_integer(task, range, scores, out);
  } else {
    weigh_float(task, range, scores, scratch.sums, out);
  }
}

}  // namespace

void attend_chunk_spec(const ChunkTask& task, ChunkScratch& scratch) noexcept {
  for (int row = 0; row < task.num_rows; ++row) {
    attend_row(task, row, scratch);
  }
}

}  // namespace octavo::ref_cpu
