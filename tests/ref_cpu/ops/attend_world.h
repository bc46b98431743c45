// A small world for attention tests: sequences whose queries, keys and values are pure functions of
// (seed, sequence, position, head, element), so that however a run is cut into steps, every token
// has the same numbers; and a run that feeds them to the operations over storage laid out as asked.
//
// Threads: one at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "octavo/device.h"
#include "octavo/kv_config.h"
#include "octavo/kv_ops.h"
#include "octavo/tensor.h"

namespace octavo::ops_test {

/// What is computed: the numbers and the options of the arithmetic.
struct Model {
  std::uint64_t seed = 1;
  std::int64_t kv_heads = 2;
  std::int64_t group = 2;
  std::int64_t head_dim = 64;
  std::int64_t v_head_dim = 64;
  DType query_dtype = DType::BF16;
  DType input_dtype = DType::BF16;  ///< Of the step's keys and values.
  DType kv_dtype = DType::BF16;     ///< Of unquantized rows.
  KVQuantSpec k_quant = {};
  KVQuantSpec v_quant = {};
  float k_static_scale = 0.02f;  ///< Of head h: (h + 1) times that.
  float v_static_scale = 0.03f;
  std::int64_t window = 0;
  float soft_cap = 0.0f;
  bool sinks = false;
  float scale = 0.0f;      ///< 0: the default.
  float magnitude = 1.0f;  ///< Of queries; larger ones make sharper softmaxes.
  DType out_dtype = DType::F32;
  /// >= 0: elements of this part of sequence 0 at this position are NaN.
  std::int64_t nan_position = -1;
  int nan_part = 1;
  float constant_value = 0.0f;  ///< Not 0: what every element of every value is.

  std::int64_t q_heads() const { return kv_heads * group; }
};

/// How it is stored and run: nothing here may change a bit.
struct Placement {
  bool paged = true;
  std::int64_t block_size = 16;
  std::int64_t spare_blocks = 7;  ///< Pool size beyond what is needed.
  std::uint64_t block_seed = 1;   ///< Which blocks, in which order.
  std::int64_t max_step = 1024;   ///< Windowed continuous rows are rings of window - 1 + max_step.
  std::uint8_t poison = 0x7F;     ///< What storage is filled with before the run.
  /// The sequences get the last blocks of the pool, and nothing is poisoned: a pool of any size
  /// costs only what is touched of it.
  bool last_blocks = false;
  int threads = 1;
  /// What makes the device; none: the reference with `threads` threads.
  std::function<std::shared_ptr<Device>()> device = {};
  bool cumulative_k = true;
  bool partials = false;
};

/// One step: (sequence, tokens appended) in batch order.
using Step = std::vector<std::pair<int, int>>;

/// Of one token; what was not asked for is empty. Outputs as floats, exactly.
struct TokenResult {
  std::vector<float> out;              ///< [q_heads, v_head_dim]
  std::vector<float> lse;              ///< [q_heads]
  std::vector<float> max_sum;          ///< [q_heads, 2]
  std::vector<float> partial_max_sum;  ///< [q_heads, chunks of the token, 2]
  std::vector<float> partial_out;      ///< [q_heads, chunks of the token, v_head_dim]
};
using Results = std::map<std::pair<int, std::int64_t>, TokenResult>;  ///< By (sequence, position).

/// Element d of the query, key or value of a token, rounded to the dtype of its tensor.
enum class Part { Query, Key, Value };
float element(const Model& model,
              Part part,
              int sequence,
              std::int64_t position,
              std::int64_t head,
              std::int64_t d);
float sink(const Model& model, std::int64_t q_head);
float static_scale(const Model& model, Part part, std::int64_t kv_head);

/// A cache row in the making: storage for sequences 0 .. num_sequences - 1 up to max_len tokens.
class World {
 public:
  World(const Model& model, const Placement& placement, int num_sequences, std::int64_t max_len);

  /// Appends and attends; results are added to `results`.
  void run(const Step& step, Results& results);
  /// Appends only.
  void fill(const Step& step);
  /// Attends without appending, the last n tokens of each sequence being the queries.
  void run_read_only(const Step& step, Results& results);
  /// Forgets the tokens from `position` on.
  void rewind(int sequence, std::int64_t position);

  std::int64_t length(int sequence) const { return lengths_[static_cast<std::size_t>(sequence)]; }
  const Tensor& keys() const { return keys_; }
  const Tensor& values() const { return values_; }
  const std::shared_ptr<Device>& device() const { return device_; }

  /// The arguments of a step as `run` would pass them, for tests of what is refused.
  GroupQueryAttentionArgs make_args(const Step& step, bool appends) const;

 private:
  Tensor make_row(Part part, std::int64_t row_dim) const;
  Tensor operand(Part part, const Step& step) const;
  KVStepTensors make_step(const Step& step, bool appends) const;
  void attend(const Step& step, bool appends, Results& results);

  Model model_;
  Placement placement_;
  std::shared_ptr<Device> device_;
  std::int64_t capacity_ = 0;
  std::int64_t columns_ = 0;
  std::int64_t blocks_ = 0;
  std::vector<std::int32_t> table_;  // [sequences, columns]
  std::vector<std::int64_t> lengths_;
  Tensor keys_;
  Tensor values_;
};

/// Runs the steps in a fresh world.
Results run(const Model& model, const Placement& placement, const std::vector<Step>& steps);

/// What differs between two results, as text; empty when every bit agrees. Tokens that only one of
/// them has are passed over when `common_only`.
std::string difference(const Results& a, const Results& b, bool common_only = false);

}  // namespace octavo::ops_test
