// The oracle of attention: softmax(scale q k) v in binary64 over a plain list of tokens, without
// cache, blocks, chunks or steps, and with each result the bound within which NUMERICS.md promises
// the specified arithmetic to lie. Rows are quantized by a model of the formats of its own.
//
// Threads: one at a time.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "attend_world.h"

namespace octavo::ops_test {

/// One row as it is stored: value[d] = code[d] * scale.
struct StoredRow {
  std::vector<double> code;
  double scale = 1.0;
};

struct OracleRow {
  std::vector<double> out;    ///< [v_head_dim]
  std::vector<double> bound;  ///< Of |result - out|, before the output is rounded to its dtype.
  double lse = 0.0;
  double lse_bound = 0.0;
};

class Oracle {
 public:
  explicit Oracle(const Model& model) : model_(model) {}

  /// The row of a query head, over the keys and values as the cache stores them.
  OracleRow attend(int sequence, std::int64_t position, std::int64_t q_head);

  /// The same for a query that sees all of [0, len) (cross-attention).
  OracleRow attend_all(int sequence, std::int64_t position, std::int64_t len, std::int64_t q_head);

 private:
  struct Seen {
    std::int64_t begin;
    std::int64_t end;
  };
  // The score of one token in powers of two, and the bound of its error.
  struct Score {
    double s;
    double error;
  };
  // Over the visible tokens and the sink, in weights relative to the largest one.
  struct Sums {
    double sum = 0.0;
    double sum_error = 0.0;
    std::vector<double> out;
    std::vector<double> magnitude;
    std::vector<double> error;
  };
  const StoredRow& row(Part part, int sequence, std::int64_t position, std::int64_t kv_head);
  double scores(int sequence,
                std::int64_t position,
                Seen seen,
                std::int64_t q_head,
                std::vector<Score>& scores);
  OracleRow finish(const Sums& sums, double m, double chunks) const;
  OracleRow attend_range(int sequence, std::int64_t position, Seen seen, std::int64_t q_head);

  Model model_;
  std::map<std::pair<std::pair<int, std::int64_t>, std::pair<int, std::int64_t>>, StoredRow> rows_;
};

/// x rounded to the nearest number of a format: `mantissa` explicit bits, smallest normal exponent
/// `min_exponent`, saturating at `largest`.
double round_to_format(double x, int mantissa, int min_exponent, double largest);

/// A row through a codec or a storage dtype. `static_scale` 0: by the row.
StoredRow store_row(const std::vector<float>& x,
                    DType kv_dtype,
                    KVQuantSpec quant,
                    float static_scale);

}  // namespace octavo::ops_test
