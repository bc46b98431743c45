// The specified arithmetic of attention once more, as NUMERICS.md states it, one scalar operation
// after the other and sharing nothing with the reference: every bit of every result must agree.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "attend_oracle.h"
#include "attend_world.h"
#include <gtest/gtest.h>

namespace octavo::ops_test {
namespace {

constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

float exp2_of(float x) {
  if (x < -126.0f) {
    return 0.0f;
  }
  const float n = std::nearbyint(x);
  const float f = x - n;
  const std::array<float, 8> c = {
      1.0f,           0x1.62e430p-1f,  0x1.ebfbe0p-3f,  0x1.c6b066p-5f,
      0x1.3b2b46p-7f, 0x1.5df22ep-10f, 0x1.43064ap-13f, 0x1.42585ap-17f};
  float p = c[7];
  for (std::size_t i = 7; i > 0; --i) {
    p = std::fma(p, f, c[i - 1]);
  }
  return std::ldexp(p, static_cast<int>(n));
}

float tree_of(std::vector<float> x) {
  while (x.size() > 1) {
    std::vector<float> next;
    for (std::size_t i = 0; i < x.size(); i += 2) {
      next.push_back(i + 1 < x.size() ? x[i] + x[i + 1] : x[i]);
    }
    x = next;
  }
  return x[0];
}

struct Row {
  std::vector<float> code;
  float scale = 1.0f;
};

Row row_of(const Model& model, Part part, std::int64_t position, std::int64_t kv_head) {
  const std::int64_t dim = part == Part::Key ? model.head_dim : model.v_head_dim;
  std::vector<float> x;
  for (std::int64_t d = 0; d < dim; ++d) {
    x.push_back(element(model, part, 0, position, kv_head, d));
  }
  const StoredRow stored =
      store_row(x, model.kv_dtype, part == Part::Key ? model.k_quant : model.v_quant,
                static_scale(model, part, kv_head));
  return {{stored.code.begin(), stored.code.end()}, static_cast<float>(stored.scale)};
}

bool is_integer(const KVQuantSpec& quant) {
  return quant.codec == KVCodec::Int8 || quant.codec == KVCodec::Int4;
}

// e with x < 2^e <= 2 x.
int exponent_above(float x) {
  return std::max(std::ilogb(x) + 1, -99);
}

float largest_of(const std::vector<float>& x) {
  float largest = 0.0f;
  for (const float value : x) {
    largest = std::max(largest, std::fabs(value));
  }
  return largest;
}

// The score without soft cap; `factor` is scale * log2(e).
float score(const Model& model, const std::vector<float>& q, const Row& key, float factor) {
  float dot = 0.0f;
  if (is_integer(model.k_quant)) {
    const int e = exponent_above(largest_of(q));
    std::int64_t sum = 0;
    for (std::size_t d = 0; d < q.size(); ++d) {
      sum += static_cast<std::int64_t>(std::nearbyint(std::ldexp(q[d], 13 - e))) *
             static_cast<std::int64_t>(key.code[d]);
    }
    dot = static_cast<float>(sum);
    factor = std::ldexp(factor, e - 13);
  } else {
    std::vector<float> units;
    for (std::size_t u = 0; u < q.size(); u += 8) {
      float a = q[u] * key.code[u];
      for (std::size_t e = 1; e < 8; ++e) {
        a = std::fma(q[u + e], key.code[u + e], a);
      }
      units.push_back(a);
    }
    dot = tree_of(units);
  }
  if (model.k_quant.codec != KVCodec::None) {
    dot = dot * key.scale;
  }
  return dot * factor + 0.0f;
}

struct ChunkResult {
  float m = kMinusInfinity;
  float l = 0.0f;
  std::vector<float> o;
};

ChunkResult chunk(const Model& model,
                  const std::vector<float>& q,
                  std::int64_t first,
                  std::int64_t begin,
                  std::int64_t end,
                  std::int64_t kv_head) {
  const auto default_scale =
      static_cast<float>(1.0 / std::sqrt(static_cast<double>(model.head_dim)));
  const auto factor = static_cast<float>(static_cast<double>(default_scale) * 1.4426950408889634);
  ChunkResult result;
  std::vector<float> s(256, kMinusInfinity);
  std::vector<Row> values(256);
  for (std::int64_t t = begin; t < end; ++t) {
    const auto at = static_cast<std::size_t>(t - first);
    s[at] = score(model, q, row_of(model, Part::Key, t, kv_head), factor);
    values[at] = row_of(model, Part::Value, t, kv_head);
    result.m = std::max(result.m, s[at]);
  }
  std::vector<float> w(256);
  std::vector<float> lanes(32);
  for (std::size_t t = 0; t < 256; ++t) {
    w[t] = s[t] == kMinusInfinity ? 0.0f : exp2_of(s[t] - result.m);
    lanes[t % 32] += w[t];
    w[t] = model.v_quant.codec != KVCodec::None ? w[t] * values[t].scale : w[t];
  }
  result.l = tree_of(lanes);
  const auto dim = static_cast<std::size_t>(model.v_head_dim);
  const std::size_t streams = 1024 / std::bit_ceil(dim);
  const int e = exponent_above(largest_of(w));
  for (std::size_t d = 0; d < dim; ++d) {
    std::vector<float> o(streams);
    std::int64_t sum = 0;
    for (std::size_t t = 0; t < 256; ++t) {
      if (values[t].code.empty()) {
        continue;
      }
      o[t % streams] = std::fma(w[t], values[t].code[d], o[t % streams]);
      sum += static_cast<std::int64_t>(std::nearbyint(std::ldexp(w[t], 15 - e))) *
             static_cast<std::int64_t>(values[t].code[d]);
    }
    result.o.push_back(is_integer(model.v_quant) ? std::ldexp(static_cast<float>(sum), e - 15)
                                                 : tree_of(o));
  }
  return result;
}

void check_row(const Model& model,
               std::int64_t position,
               std::int64_t head,
               const TokenResult& actual) {
  std::vector<float> q;
  for (std::int64_t d = 0; d < model.head_dim; ++d) {
    q.push_back(element(model, Part::Query, 0, position, head, d));
  }
  const std::int64_t begin =
      model.window > 0 ? std::max<std::int64_t>(0, position - model.window + 1) : 0;
  std::vector<ChunkResult> chunks;
  float m = kMinusInfinity;
  for (std::int64_t c = begin / 256; c <= position / 256; ++c) {
    chunks.push_back(chunk(model, q, c * 256, std::max(begin, c * 256),
                           std::min(position + 1, c * 256 + 256), head / model.group));
    m = std::max(m, chunks.back().m);
  }
  float l = 0.0f;
  if (model.sinks) {
    const float s = sink(model, head) * 0x1.715476p+0f + 0.0f;
    m = std::max(m, s);
    l = exp2_of(s - m);
  }
  std::vector<float> o(static_cast<std::size_t>(model.v_head_dim));
  for (const ChunkResult& part : chunks) {
    const float x = exp2_of(part.m - m);
    l = std::fma(part.l, x, l);
    for (std::size_t d = 0; d < o.size(); ++d) {
      o[d] = std::fma(part.o[d], x, o[d]);
    }
  }
  const auto at = static_cast<std::size_t>(head);
  EXPECT_EQ(std::bit_cast<std::uint32_t>(actual.max_sum[2 * at]), std::bit_cast<std::uint32_t>(m));
  EXPECT_EQ(std::bit_cast<std::uint32_t>(actual.max_sum[2 * at + 1]),
            std::bit_cast<std::uint32_t>(l));
  for (std::size_t d = 0; d < o.size(); ++d) {
    ASSERT_EQ(std::bit_cast<std::uint32_t>(actual.out[at * o.size() + d]),
              std::bit_cast<std::uint32_t>(o[d] / l))
        << "position " << position << " head " << head << " element " << d;
  }
}

void check(const Model& model) {
  World world(model, {}, 1, 530);
  Results results;
  world.run({{0, 529}}, results);
  for (const std::int64_t position : {0, 1, 31, 255, 256, 400, 528}) {
    for (std::int64_t head = 0; head < model.q_heads(); head += 2) {
      check_row(model, position, head, results.at({0, position}));
    }
  }
}

TEST(AttendBits, FloatRows) {
  check({});
  check({.query_dtype = DType::F32, .input_dtype = DType::F32, .kv_dtype = DType::F32});
  check({.kv_heads = 1, .head_dim = 80, .v_head_dim = 80, .kv_dtype = DType::F16});
}

TEST(AttendBits, Fp8Rows) {
  check({.k_quant = {.codec = KVCodec::E4M3}, .v_quant = {.codec = KVCodec::E5M2}});
  check({.k_quant = {KVCodec::E4M3, KVScale::Static}, .v_quant = {KVCodec::E4M3, KVScale::Static}});
}

TEST(AttendBits, IntegerRows) {
  check({.k_quant = {.codec = KVCodec::Int8}, .v_quant = {.codec = KVCodec::Int8}});
  check({.kv_heads = 1,
         .head_dim = 192,
         .v_head_dim = 192,
         .k_quant = {.codec = KVCodec::Int4},
         .v_quant = {.codec = KVCodec::Int4}});
  check({.k_quant = {.codec = KVCodec::Int8}, .v_quant = {}});
}

TEST(AttendBits, WindowsAndSinks) {
  check({.window = 100, .sinks = true});
  check({.k_quant = {.codec = KVCodec::Int8}, .v_quant = {.codec = KVCodec::Int8}, .window = 300});
}

}  // namespace
}  // namespace octavo::ops_test
