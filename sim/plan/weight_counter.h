// Adds up parameters and bytes, part by part. Owned by one count of one model; not shared between
// threads.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "octavo/sim/model_config.h"
#include "weight_format.h"

namespace octavo::sim {

class WeightCounter {
 public:
  /// `format` must outlive the counter.
  explicit WeightCounter(const WeightFormat& format) : format_(format) {}

  /// `count` tensors that no quantization packs.
  void plain(std::int64_t count, std::int64_t rows, std::int64_t columns = 1);
  /// `count` linear modules of the decoder, one or several a layer. `module` is the path below the
  /// layer ("self_attn.q_proj"), by which lists of the quantization_config know it.
  void linear(std::string_view module, std::int64_t count, std::int64_t rows, std::int64_t columns);
  /// The same for matrices of routed experts.
  void expert(std::string_view module, std::int64_t count, std::int64_t rows, std::int64_t columns);
  /// The output head.
  void head(std::int64_t rows, std::int64_t columns);

  /// Gate, up and down of a gated MLP below `module`; and of routed experts.
  void gated_mlp(std::string_view module,
                 std::int64_t count,
                 std::int64_t hidden,
                 std::int64_t width);
  void gated_experts(std::int64_t count, std::int64_t hidden, std::int64_t width);

  /// Closes the part that was counted since the last call; nothing when it is empty.
  void finish(std::string_view name);

  std::vector<WeightPart> parts() const { return parts_; }
  /// Why the bytes are not settled; empty when they are.
  std::string unknown() const;

 private:
  void matrices(const MatrixFormat& by_default,
                std::string_view module,
                std::int64_t count,
                std::int64_t rows,
                std::int64_t columns);
  const ListedModules* find_listed(std::string_view module) const;
  void add(std::int64_t parameters, std::int64_t bytes);

  const WeightFormat& format_;
  /// How many matrices of each module were counted: lists must name all of them or none.
  std::map<std::string, std::int64_t> modules_;
  WeightPart part_;
  std::vector<WeightPart> parts_;
};

}  // namespace octavo::sim
