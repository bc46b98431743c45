#include "attend_oracle.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace octavo::ops_test {
namespace {

constexpr double kUnit = 0x1p-24;           // Half a place of a float: the error of one rounding.
constexpr double kExp2Error = 1.4 * kUnit;  // NUMERICS.md, "exp2".
constexpr double kTanhError = 3.6 * kUnit;  // NUMERICS.md, "tanh".
constexpr double kLn2 = 0.6931471805599453;
constexpr double kLog2E = 1.4426950408889634;
constexpr double kSlack = 1.001;  // Terms of second order.

bool is_integer(KVCodec codec) {
  return codec == KVCodec::Int8 || codec == KVCodec::Int4;
}

double log2_ceil(double n) {
  return std::ceil(std::log2(n));
}

struct Query {
  std::vector<double> q;
  double largest = 0.0;
};

// The score of one token in powers of two, and the bound of its error.
std::pair<double, double> score_of(const Model& model, const Query& query, const StoredRow& key) {
  double dot = 0.0;
  double magnitudes = 0.0;
  double codes = 0.0;
  for (std::size_t d = 0; d < query.q.size(); ++d) {
    dot += query.q[d] * key.code[d];
    magnitudes += std::fabs(query.q[d] * key.code[d]);
    codes += std::fabs(key.code[d]);
  }
  const double scale = model.scale != 0.0f
                           ? static_cast<double>(model.scale)
                           : static_cast<double>(static_cast<float>(
                                 1.0 / std::sqrt(static_cast<double>(model.head_dim))));
  const double factor = std::fabs(scale) * key.scale;
  double error = 0.0;  // Of the natural logit.
  if (is_integer(model.k_quant.codec)) {
    // The query to 13 bits, then roundings of the product alone.
    const double step =
        std::exp2(std::floor(std::log2(std::max(query.largest, 0x1p-100))) + 1 - 14);
    error = factor * (step * codes + 4 * kUnit * (std::fabs(dot) + step * codes));
  } else {
    const double roundings = 8 + log2_ceil(static_cast<double>(model.head_dim) / 8) + 3;
    error = factor * roundings * kUnit * magnitudes;
  }
  double logit = dot * key.scale * scale;
  const auto cap = static_cast<double>(model.soft_cap);
  if (cap > 0.0) {
    error += (kTanhError + 3 * kUnit) * std::fabs(logit);
    logit = cap * std::tanh(logit / cap);
  }
  return {logit * kLog2E, kSlack * error * kLog2E};
}

}  // namespace

double round_to_format(double x, int mantissa, int min_exponent, double largest) {
  if (x == 0.0) {
    return x;
  }
  const int exponent = std::max(std::ilogb(x), min_exponent);
  const double place = std::ldexp(1.0, exponent - mantissa);
  return std::clamp(std::nearbyint(x / place) * place, -largest, largest);
}

StoredRow store_row(const std::vector<float>& x,
                    DType kv_dtype,
                    KVQuantSpec quant,
                    float static_scale) {
  StoredRow row;
  float scale = 1.0f;
  float largest = 0.0f;
  for (const float value : x) {
    largest = std::max(largest, std::fabs(value));
  }
  if (quant.codec != KVCodec::None) {
    const std::map<KVCodec, float> tops{{KVCodec::Int8, 127.0f},
                                        {KVCodec::Int4, 7.0f},
                                        {KVCodec::E4M3, 448.0f},
                                        {KVCodec::E5M2, 57344.0f}};
    scale = quant.scale == KVScale::Static ? static_scale : largest / tops.at(quant.codec);
    row.scale = static_cast<double>(scale);
  }
  for (const float value : x) {
    const auto y = static_cast<double>(scale > 0.0f ? value / scale : 0.0f);
    switch (quant.codec) {
      case KVCodec::Int8:
        row.code.push_back(std::clamp(std::nearbyint(y), -127.0, 127.0));
        break;
      case KVCodec::Int4:
        row.code.push_back(std::clamp(std::nearbyint(y), -7.0, 7.0));
        break;
      case KVCodec::E4M3:
        row.code.push_back(round_to_format(y, 3, -6, 448.0));
        break;
      case KVCodec::E5M2:
        row.code.push_back(round_to_format(y, 2, -14, 57344.0));
        break;
      case KVCodec::None:
        row.code.push_back(kv_dtype == DType::F16    ? round_to_format(y, 10, -14, 65504.0)
                           : kv_dtype == DType::BF16 ? round_to_format(y, 7, -126, 0x1.FEp127)
                                                     : y);
        break;
    }
  }
  return row;
}

const StoredRow& Oracle::row(Part part, int sequence, std::int64_t position, std::int64_t kv_head) {
  StoredRow& stored = rows_[{{static_cast<int>(part), kv_head}, {sequence, position}}];
  if (stored.code.empty()) {
    const std::int64_t dim = part == Part::Key ? model_.head_dim : model_.v_head_dim;
    std::vector<float> x;
    for (std::int64_t d = 0; d < dim; ++d) {
      x.push_back(element(model_, part, sequence, position, kv_head, d));
    }
    stored = store_row(x, model_.kv_dtype, part == Part::Key ? model_.k_quant : model_.v_quant,
                       static_scale(model_, part, kv_head));
  }
  return stored;
}

OracleRow Oracle::attend(int sequence, std::int64_t position, std::int64_t q_head) {
  const std::int64_t begin =
      model_.window > 0 ? std::max<std::int64_t>(0, position - model_.window + 1) : 0;
  return attend_range(sequence, position, {begin, position + 1}, q_head);
}

OracleRow Oracle::attend_all(int sequence,
                             std::int64_t position,
                             std::int64_t len,
                             std::int64_t q_head) {
  return attend_range(sequence, position, {0, len}, q_head);
}

double Oracle::scores(int sequence,
                      std::int64_t position,
                      Seen seen,
                      std::int64_t q_head,
                      std::vector<Score>& scores) {
  Query query;
  for (std::int64_t d = 0; d < model_.head_dim; ++d) {
    query.q.push_back(
        static_cast<double>(element(model_, Part::Query, sequence, position, q_head, d)));
    query.largest = std::max(query.largest, std::fabs(query.q.back()));
  }
  double m = -HUGE_VAL;
  for (std::int64_t t = seen.begin; t < seen.end; ++t) {
    const StoredRow& key = row(Part::Key, sequence, t, q_head / model_.group);
    const auto [s, error] = score_of(model_, query, key);
    scores.push_back({s, error});
    m = std::max(m, s);
  }
  return m;
}

OracleRow Oracle::attend_range(int sequence,
                               std::int64_t position,
                               Seen seen,
                               std::int64_t q_head) {
  std::vector<Score> tokens;
  const double largest = scores(sequence, position, seen, q_head, tokens);
  const double sink_score =
      model_.sinks ? static_cast<double>(sink(model_, q_head)) * kLog2E : -HUGE_VAL;
  const double m = std::max(largest, sink_score);
  // Of a weight: its argument's error and roundings (of s - m_c and of m_c - M), two exponentials.
  const auto weight_error = [&](double s, double error) {
    return kLn2 * (error + 2 * kUnit * (m - s)) + 2 * kExp2Error + kUnit;
  };
  const auto dim = static_cast<std::size_t>(model_.v_head_dim);
  Sums sums{.out = std::vector<double>(dim),
            .magnitude = std::vector<double>(dim),
            .error = std::vector<double>(dim)};
  if (model_.sinks) {
    sums.sum = std::exp2(sink_score - m);
    sums.sum_error = sums.sum * weight_error(sink_score, 2 * kUnit * std::fabs(sink_score));
  }
  std::vector<double> chunk_largest(static_cast<std::size_t>(seen.end / kAttentionChunk + 1));
  for (std::int64_t t = seen.begin; t < seen.end; ++t) {
    const Score& score = tokens[static_cast<std::size_t>(t - seen.begin)];
    const StoredRow& value = row(Part::Value, sequence, t, q_head / model_.group);
    const double p = std::exp2(score.s - m);
    const double relative = weight_error(score.s, score.error);
    sums.sum += p;
    sums.sum_error += p * relative;
    double& top = chunk_largest[static_cast<std::size_t>(t / kAttentionChunk)];
    top = std::max(top, p * value.scale * (1 + relative));
    for (std::size_t d = 0; d < dim; ++d) {
      const double v = value.code[d] * value.scale;
      sums.out[d] += p * v;
      sums.magnitude[d] += p * std::fabs(v);
      sums.error[d] += p * std::fabs(v) * relative;
    }
  }
  for (std::int64_t t = seen.begin; is_integer(model_.v_quant.codec) && t < seen.end; ++t) {
    // 15 bits of the chunk's largest weight: half of 2^(ew - 15), and 2^ew <= 2 * largest.
    const double half_place =
        chunk_largest[static_cast<std::size_t>(t / kAttentionChunk)] * 0x1p-15 + 0x1p-116;
    const StoredRow& value = row(Part::Value, sequence, t, q_head / model_.group);
    for (std::size_t d = 0; d < dim; ++d) {
      sums.error[d] += half_place * std::fabs(value.code[d]);
    }
  }
  const std::int64_t chunks = seen.end / kAttentionChunk - seen.begin / kAttentionChunk + 1;
  return finish(sums, m, static_cast<double>(chunks));
}

OracleRow Oracle::finish(const Sums& sums, double m, double chunks) const {
  const std::size_t dim = sums.out.size();
  const double streams =
      1024.0 / static_cast<double>(std::bit_ceil(static_cast<std::uint64_t>(dim)));
  const double value_roundings =
      (is_integer(model_.v_quant.codec) ? 2 : 1 + 256 / streams + log2_ceil(streams)) + chunks;
  const double sum_roundings = 13 + chunks;
  OracleRow result;
  for (std::size_t d = 0; d < dim; ++d) {
    const double o = sums.out[d] / sums.sum;
    result.out.push_back(o);
    result.bound.push_back(
        kSlack * ((sums.error[d] + value_roundings * kUnit * sums.magnitude[d]) / sums.sum +
                  std::fabs(o) * (sums.sum_error / sums.sum + (sum_roundings + 1) * kUnit)) +
        0x1p-100);  // Weights below 2^-126 count as 0.
  }
  result.lse = (m + std::log2(sums.sum)) * kLn2;
  result.lse_bound = kSlack * (sums.sum_error / sums.sum + sum_roundings * kUnit) +
                     4 * kUnit * (std::fabs(m) + std::fabs(result.lse) + 1);
  return result;
}

}  // namespace octavo::ops_test
