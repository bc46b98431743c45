// Fast attention against binary64, element for element, within the bound of NUMERICS.md section 9.
#include <algorithm>
#include <bit>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "attend_case.h"
#include "device_under_test.h"
#include "octavo/error.h"
#include "octavo/ref_cpu/cpu_device.h"
#include "quantize.h"
#include "rows.h"
#include <gtest/gtest.h>

namespace octavo::cuda_test {
namespace {

constexpr double kUnit = 0x1p-24;
constexpr double kLn2 = 0.6931471805599453;
constexpr double kLog2E = 1.4426950408889634;
constexpr double kProduct = 17 * 0x1p-25 + 0x1p-23;  // Of one m16n8k16, relative to its magnitudes.
constexpr double kSlack = 1.001;                     // Terms of second order.

// What is done wrong on purpose.
enum class Mistake { None, LastProductDropped, WeightsInThreeBits };

struct Token {
  std::vector<double> key, value;  // Codes.
  double key_scale = 1.0, value_scale = 1.0;
};

struct Expected {
  std::vector<double> out, bound;
  double m = 0.0, m_bound = 0.0;
  double lse = 0.0, lse_bound = 0.0;
};

std::vector<double> codes_of(const CaseRows& rows, const std::uint8_t* bytes, std::int64_t dim) {
  std::vector<float> codes(static_cast<std::size_t>(dim));
  if (rows.codec == KVCodec::None) {
    ref_cpu::decode_row(rows.dtype, bytes, 0, dim, codes.data());
  } else {
    ref_cpu::decode_codes(rows.codec, bytes, dim, codes.data());
  }
  return {codes.begin(), codes.end()};
}

Token token_of(const AttendCase& self,
               const CaseData& data,
               std::size_t sequence,
               std::int64_t position,
               std::int64_t kv_head) {
  const std::int64_t at = self.place(data, sequence, position, kv_head);
  Token token;
  token.key = codes_of(self.keys, data.rows[0].data() + at * data.row_bytes[0], self.head_dim);
  token.value = codes_of(self.values, data.rows[1].data() + at * data.row_bytes[1], self.head_dim);
  const auto scale = [&](int part, const CaseRows& rows) {
    const bool is_static = rows.scale == KVScale::Static;
    return rows.codec == KVCodec::None
               ? 1.0
               : static_cast<double>(
                     data.scales[part][static_cast<std::size_t>(is_static ? kv_head : at)]);
  };
  token.key_scale = scale(0, self.keys);
  token.value_scale = scale(1, self.values);
  return token;
}

struct Score {
  double s = 0.0;      // In powers of two.
  double error = 0.0;  // Of it.
};

Score score_of(const AttendCase& self,
               const std::vector<double>& query,
               const Token& token,
               Mistake mistake) {
  const std::size_t used = query.size() - (mistake == Mistake::LastProductDropped ? 16 : 0);
  double dot = 0.0;
  double magnitudes = 0.0;
  double keys = 0.0;
  double largest = 0.0;
  for (std::size_t d = 0; d < query.size(); ++d) {
    dot += d < used ? query[d] * token.key[d] : 0.0;
    magnitudes += std::fabs(query[d] * token.key[d]);
    keys += std::fabs(token.key[d]);
    largest = std::max(largest, std::fabs(query[d]));
  }
  const auto scale =
      static_cast<double>(static_cast<float>(1.0 / std::sqrt(static_cast<double>(self.head_dim))));
  const auto products = static_cast<double>(self.head_dim) / 16;
  double logit = dot * token.key_scale * scale;
  double error =
      token.key_scale * scale * (products * kProduct * magnitudes + 0x1p-39 * largest * keys) +
      3 * kUnit * std::fabs(logit);
  const auto cap = static_cast<double>(self.soft_cap);
  if (cap > 0.0) {
    error += 6.6 * kUnit * std::fabs(logit);
    logit = cap * std::tanh(logit / cap);
  }
  return {logit * kLog2E, error * kLog2E};
}

double in_three_bits(double x) {
  if (x == 0.0) {
    return 0.0;
  }
  const double place = std::ldexp(1.0, std::ilogb(x) - 3);
  return std::nearbyint(x / place) * place;
}

// A row's result in binary64. Its bound does not know of the mistake.
class Oracle {
 public:
  Oracle(const AttendCase& self, const CaseData& data) : self_(self), data_(data) {}

  Expected row(std::size_t sequence, std::int64_t query, std::int64_t head, Mistake mistake) const {
    const std::int64_t end = self_.causal
                                 ? self_.lengths[sequence] - self_.queries[sequence] + query + 1
                                 : std::int64_t{self_.lengths[sequence]};
    const std::int64_t begin = self_.window > 0 ? std::max<std::int64_t>(0, end - self_.window) : 0;
    const std::vector<double> q = query_of(sequence, query, head);
    std::vector<Token> tokens;
    std::vector<Score> scores;
    double m = -HUGE_VAL;
    for (std::int64_t t = begin; t < end; ++t) {
      tokens.push_back(token_of(self_, data_, sequence, t, head / self_.group));
      scores.push_back(score_of(self_, q, tokens.back(), mistake));
      m = std::max(m, scores.back().s);
    }
    return sum(tokens, scores, m, begin, head, mistake);
  }

 private:
  std::vector<double> query_of(std::size_t sequence, std::int64_t query, std::int64_t head) const {
    std::int64_t token = query;
    for (std::size_t i = 0; i < sequence; ++i) {
      token += self_.queries[i];
    }
    const std::int64_t dim = self_.head_dim;
    std::vector<std::uint8_t> codes(static_cast<std::size_t>(dim) * 4);
    std::vector<float> q(static_cast<std::size_t>(dim));
    ref_cpu::encode_row(self_.query_dtype,
                        data_.queries.data() + (token * self_.q_heads() + head) * dim, dim,
                        codes.data(), 0);
    ref_cpu::decode_row(self_.query_dtype, codes.data(), 0, dim, q.data());
    return {q.begin(), q.end()};
  }

  Expected sum(const std::vector<Token>& tokens,
               const std::vector<Score>& scores,
               double largest,
               std::int64_t begin,
               std::int64_t head,
               Mistake mistake) const {
    const bool half = self_.values.dtype != DType::BF16;
    const double sink =
        self_.sinks ? static_cast<double>(case_sink(self_, head)) * kLog2E : -HUGE_VAL;
    const double m = std::max(largest, sink);
    const auto dim = static_cast<std::size_t>(self_.head_dim);
    std::vector<double> out(dim), magnitude(dim), error(dim), top(1024);
    double total = self_.sinks ? std::exp2(sink - m) : 0.0;
    double total_error = self_.sinks ? total * 4 * kUnit * (1 + std::fabs(sink) + (m - sink)) : 0.0;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      double p = std::exp2(scores[i].s - m);
      const double r =
          kLn2 * (scores[i].error + 2 * kUnit * (m - scores[i].s)) + 0x1p-22 + 2.4 * kUnit;
      total += p;
      total_error += p * r;
      double& w = top[static_cast<std::size_t>(begin + static_cast<std::int64_t>(i)) / 256];
      w = std::max(w, p * (1 + r) * tokens[i].value_scale);
      p = mistake == Mistake::WeightsInThreeBits ? in_three_bits(p) : p;
      for (std::size_t d = 0; d < dim; ++d) {
        const double v = tokens[i].value[d] * tokens[i].value_scale;
        out[d] += p * v;
        magnitude[d] += p * std::fabs(v);
        error[d] += p * std::fabs(v) * r;
      }
    }
    for (std::size_t i = 0; half && i < tokens.size(); ++i) {
      const double w = top[static_cast<std::size_t>(begin + static_cast<std::int64_t>(i)) / 256];
      for (std::size_t d = 0; d < dim; ++d) {
        error[d] += 0x1p-39 * w * std::fabs(tokens[i].value[d]);
      }
    }
    const double folds =
        3.4 * static_cast<double>((begin + static_cast<std::int64_t>(tokens.size())) / 256 + 1);
    const double rounding = (half ? 0x1p-11 : 0x1p-8) + 4 * kProduct + (4 + folds) * kUnit;
    Expected expected;
    expected.m = m;
    for (const Score& score : scores) {
      expected.m_bound = std::max(expected.m_bound, score.error + 4 * kUnit * (1 + std::fabs(m)));
    }
    for (std::size_t d = 0; d < dim; ++d) {
      const double o = out[d] / total;
      expected.out.push_back(o);
      expected.bound.push_back(kSlack *
                                   ((error[d] + rounding * magnitude[d]) / total +
                                    std::fabs(o) * (total_error / total + (14 + folds) * kUnit)) +
                               0x1p-100);
    }
    expected.lse = (m + std::log2(total)) * kLn2;
    expected.lse_bound = kSlack * (total_error / total + (13 + folds) * kUnit) +
                         4 * kUnit * (std::fabs(m) + std::fabs(expected.lse) + 1);
    return expected;
  }

  const AttendCase& self_;
  const CaseData& data_;
};

// The largest error of the results in units of their bounds.
double worst(const AttendCase& self, const CaseData& data, const CaseResult& result) {
  const Oracle oracle(self, data);
  double largest = 0.0;
  std::size_t row = 0;
  for (std::size_t i = 0; i < self.lengths.size(); ++i) {
    for (std::int64_t query = 0; query < self.queries[i]; ++query) {
      for (std::int64_t head = 0; head < self.q_heads(); ++head, ++row) {
        const Expected expected = oracle.row(i, query, head, Mistake::None);
        for (std::size_t d = 0; d < expected.out.size(); ++d) {
          const auto o = static_cast<double>(result.out[row * expected.out.size() + d]);
          const double last = self.out_dtype == DType::BF16 ? 0x1p-8 * std::fabs(o) : 0.0;
          const double ratio = std::fabs(o - expected.out[d]) / (expected.bound[d] + last);
          largest = ratio <= largest ? largest : ratio;  // A NaN is the largest.
        }
        const auto lse = static_cast<double>(result.lse[row]);
        const auto m = static_cast<double>(result.max_sum[2 * row]);
        const double ratio = std::max(std::fabs(lse - expected.lse) / expected.lse_bound,
                                      std::fabs(m - expected.m) / expected.m_bound);
        largest = ratio <= largest ? largest : ratio;
      }
    }
  }
  return largest;
}

AttendCase case_of(DType dtype, std::int64_t head_dim) {
  AttendCase self;
  self.seed = static_cast<std::uint64_t>(head_dim);
  self.keys.dtype = dtype;
  self.keys.codec = dtype == DType::E4M3   ? KVCodec::E4M3
                    : dtype == DType::E5M2 ? KVCodec::E5M2
                                           : KVCodec::None;
  self.values = self.keys;
  self.head_dim = head_dim;
  self.query_dtype = dtype == DType::F16 ? DType::F16 : DType::BF16;
  self.lengths = {300, 17};
  self.queries = {2, 1};
  return self;
}

void expect_bounded(const AttendCase& self, const std::string& what, std::uint64_t seed = 0) {
  const CaseData data = make_data(self);
  const CaseResult fast = run_case(self, data, *fast_device_under_test(seed));
  const CaseResult exact = run_case(self, data, *make_cpu_device(1));
  EXPECT_LE(worst(self, data, fast), 1.0) << what;
  EXPECT_LE(worst(self, data, exact), 1.0) << what << ", exact";
  EXPECT_NE(difference(fast, exact), "") << what << ": not the fast kernel";
}

constexpr DType kDTypes[] = {DType::BF16, DType::F16, DType::E4M3, DType::E5M2};

TEST(AttendFast, EveryDTypeAndHeadDim) {
  for (const DType dtype : kDTypes) {
    for (const std::int64_t head_dim : {64, 80, 96, 128, 192, 256}) {
      AttendCase self = case_of(dtype, head_dim);
      self.kv_heads = 1;
      const std::string what = std::string(to_string(dtype)) + " " + std::to_string(head_dim);
      expect_bounded(self, what);
      // All there is to it: the compiler made each kernel by itself.
      self.lengths = {460, 150};
      self.queries = {3, 1};
      self.window = 440;
      self.soft_cap = 5.0f;
      self.sinks = true;
      self.keys.scale = self.values.scale =
          self.keys.codec == KVCodec::None ? KVScale::PerTokenHead : KVScale::Static;
      expect_bounded(self, "all of " + what);
    }
  }
}

TEST(AttendFast, EveryGroup) {
  for (std::int64_t group = 1; group <= 16; ++group) {
    AttendCase self = case_of(kDTypes[group % 4], 64);
    self.group = group;
    self.kv_heads = 1;
    self.lengths = {50, 3};
    self.queries = {3, 1};
    expect_bounded(self, "group " + std::to_string(group));
  }
}

TEST(AttendFast, LengthsAroundChunks) {
  for (const std::int32_t length : {2, 31, 33, 255, 256, 257, 600}) {
    AttendCase self = case_of(DType::BF16, 128);
    self.kv_heads = 1;
    self.lengths = {length};
    self.queries = {1};
    self.sinks = length % 2 == 0;
    expect_bounded(self, "length " + std::to_string(length));
  }
}

TEST(AttendFast, PrefillWindowsAndRings) {
  AttendCase self = case_of(DType::E4M3, 64);
  self.kv_heads = 1;
  self.group = 3;
  self.lengths = {270, 33};
  self.queries = {20, 33};
  expect_bounded(self, "causal");
  self.causal = false;
  expect_bounded(self, "all of it");
  self.causal = true;
  self.window = 37;
  expect_bounded(self, "window");
  self.paged = false;
  self.block_size = 60;
  expect_bounded(self, "ring");
}

TEST(AttendFast, SoftCapsStaticScalesAndSharpSoftmaxes) {
  for (const DType dtype : kDTypes) {
    AttendCase self = case_of(dtype, 128);
    self.kv_heads = 1;
    self.magnitude = 6.0f;
    expect_bounded(self, "sharp");
    self.soft_cap = 4.0f;
    self.keys.scale = self.values.scale =
        self.keys.codec == KVCodec::None ? KVScale::PerTokenHead : KVScale::Static;
    expect_bounded(self, "capped");
    self.out_dtype = self.query_dtype == DType::BF16 ? DType::BF16 : DType::F32;
    expect_bounded(self, "bf16 results");
  }
}

// BF16 queries reach further than F16: rows of tiny and huge ones, and both in one row.
TEST(AttendFast, QueriesBeyondF16) {
  for (const float magnitude : {1e-30f, 1e-6f, 1e6f, 1e30f}) {
    AttendCase self = case_of(DType::E4M3, 64);
    self.kv_heads = 1;
    self.edit = [&](const AttendCase&, CaseData& data) {
      for (std::size_t i = 0; i < data.queries.size(); ++i) {
        data.queries[i] *= i % 64 < 8 ? magnitude : i % 64 < 16 ? 1e-3f * magnitude : 0.0f;
      }
      const float unit = magnitude > 1.0f ? 1.0f / magnitude : 1.0f;
      for (float& scale : data.scales[0]) {
        scale *= unit;
      }
    };
    expect_bounded(self, "magnitude " + std::to_string(magnitude));
  }
}

// Scales of values make weights that F16 has no numbers for, unless they are scaled back.
TEST(AttendFast, ScalesOfValuesBeyondF16) {
  for (const float magnitude : {1e-9f, 1e-5f, 1e6f}) {
    for (const DType dtype : {DType::E4M3, DType::E5M2}) {
      AttendCase self = case_of(dtype, 64);
      self.kv_heads = 1;
      self.edit = [&](const AttendCase&, CaseData& data) {
        for (float& scale : data.scales[1]) {
          scale *= magnitude;
        }
      };
      expect_bounded(self, "magnitude " + std::to_string(magnitude));
    }
  }
}

TEST(AttendFast, NotFiniteQueriesGiveNaN) {
  for (const DType dtype : kDTypes) {
    AttendCase self = case_of(dtype, 64);
    self.kv_heads = 1;
    self.edit = [](const AttendCase&, CaseData& data) { data.queries[5] = HUGE_VALF; };
    const CaseData data = make_data(self);
    const CaseResult result = run_case(self, data, *fast_device_under_test());
    EXPECT_TRUE(std::isnan(result.out[0]));
    EXPECT_FALSE(std::isnan(result.out[64]));
  }
}

// Nothing in the arithmetic names a batch or a tile.
TEST(AttendFast, BitsDependOnTheRowAlone) {
  AttendCase self = case_of(DType::E4M3, 96);
  self.kv_heads = 1;
  const CaseData data = make_data(self);
  const CaseResult first = run_case(self, data, *fast_device_under_test());
  AttendCase alone = self;  // The first sequence's last query, by itself.
  alone.lengths = {300};
  alone.queries = {1};
  CaseData part = data;
  part.queries.assign(data.queries.begin() + 2 * 96, data.queries.begin() + 4 * 96);
  const CaseResult second = run_case(alone, part, *fast_device_under_test());
  EXPECT_TRUE(std::equal(second.out.begin(), second.out.end(), first.out.begin() + 2 * 96));
}

TEST(AttendFast, AnyOrderOfThreads) {
  for (const DType dtype : {DType::BF16, DType::E5M2}) {
    AttendCase self = case_of(dtype, 256);
    self.kv_heads = 1;
    self.group = 8;
    self.lengths = {90};
    self.queries = {2};
    const CaseData data = make_data(self);
    const CaseResult first = run_case(self, data, *fast_device_under_test());
    for (std::uint64_t seed = 1; seed <= 12; ++seed) {
      EXPECT_EQ(difference(first, run_case(self, data, *fast_device_under_test(seed))), "") << seed;
    }
  }
}

TEST(AttendFast, F32QueriesAreRefused) {
  AttendCase self = case_of(DType::BF16, 64);
  self.query_dtype = DType::F32;
  const CaseData data = make_data(self);
  const auto exact = make_cpu_device(1);
  // The exact kernel takes them: the reference's bits.
  EXPECT_EQ(
      difference(run_case(self, data, *fast_device_under_test()), run_case(self, data, *exact)),
      "");
}

// The bound tells a kernel that does less than it says.
TEST(AttendFast, TheBoundIsNotVacuous) {
  for (const DType dtype : kDTypes) {
    const AttendCase self = case_of(dtype, 128);
    const CaseData data = make_data(self);
    const Oracle oracle(self, data);
    const Expected right = oracle.row(0, 0, 0, Mistake::None);
    for (const Mistake mistake : {Mistake::LastProductDropped, Mistake::WeightsInThreeBits}) {
      const Expected wrong = oracle.row(0, 0, 0, mistake);
      double largest = 0.0;
      for (std::size_t d = 0; d < right.out.size(); ++d) {
        largest = std::max(largest, std::fabs(wrong.out[d] - right.out[d]) / right.bound[d]);
      }
      EXPECT_GT(largest, 1.0) << to_string(dtype) << ", mistake " << static_cast<int>(mistake);
    }
  }
}

}  // namespace
}  // namespace octavo::cuda_test
