// How a checkpoint stores its matrices, as the config names it: the dtype, and what a
// quantization_config changes for which modules. Plain data.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "json_fields.h"

namespace octavo::sim {

/// What is too large, where the product or the sum of a count is.
inline constexpr std::string_view kParameterCount = "the parameter count";
inline constexpr std::string_view kWeightBytes = "the bytes of the weights";

enum class Packing {
  Plain,
  Fp8,     ///< A byte an element; scales as the other members say.
  Mxfp4,   ///< 32 inputs of a row in 16 bytes and a scale byte.
  Nvfp4,   ///< 16 inputs of a row in 8 bytes and a scale byte; one or two F32 a matrix.
  Integer  ///< `bits` an element in 32-bit words, scales (and zeros) by group of inputs.
};

/// The storage of one matrix of `rows` outputs and `columns` inputs.
struct MatrixFormat {
  Packing packing = Packing::Plain;
  std::int64_t block_rows = 0;  ///< Fp8: one scale a block; 0: one for all rows.
  std::int64_t block_columns = 0;
  std::int64_t scale_bytes = 4;
  std::int64_t bits = 0;           ///< Integer only, as are the following.
  std::int64_t group_columns = 0;  ///< Inputs that share a scale; 0: all of them.
  bool packs_rows = false;         ///< Words hold neighbouring outputs, not inputs.
  bool zero_points = false;
  bool input_index = false;       ///< A 32-bit group number an input.
  std::int64_t matrix_bytes = 0;  ///< Beside all that: scalars of the matrix.

  /// Of one matrix; `plain_bytes` is the size of an element that is not packed.
  std::int64_t bytes(std::int64_t rows, std::int64_t columns, std::int64_t plain_bytes) const;
};

/// Modules that a list treats differently from the rest.
struct ListedModules {
  MatrixFormat format;
  std::int64_t number = 0;  ///< How many the list names; kAllModules for a pattern of every layer.
};
inline constexpr std::int64_t kAllModules = -1;

struct WeightFormat {
  std::int64_t plain_bytes = 2;
  MatrixFormat linear;   ///< Of the layers' linear modules.
  MatrixFormat experts;  ///< Of the routed experts.
  /// By the module's path below its layer, without expert numbers: "mlp.experts.down_proj"; an
  /// entry "mlp" stands for all below. "lm_head" is plain unless it is here.
  std::map<std::string, ListedModules> listed;
  std::string name;     ///< For people: "bfloat16".
  std::string unknown;  ///< Why the bytes are not settled; empty when they are.
};

/// The dtype of `text` or else `outer`, and the quantization_config of either. `family_default` is
/// the dtype of families whose configs name none, or empty. Raises InputError for fields of a wrong
/// type; a format that cannot be settled comes back with `unknown`.
WeightFormat read_weight_format(const JsonFields& text,
                                const JsonFields& outer,
                                std::string_view family_default);

/// Applies a quantization_config.
void read_quantization(const JsonFields& quantization, WeightFormat& format);

}  // namespace octavo::sim
