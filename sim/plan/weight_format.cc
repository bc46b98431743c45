#include "weight_format.h"

#include <optional>

#include "checked.h"
#include "text_tower.h"

namespace octavo::sim {
namespace {

std::int64_t times(std::int64_t a, std::int64_t b) {
  return checked_mul(a, b, kWeightBytes);
}

std::int64_t groups_of(std::int64_t whole, std::int64_t group) {
  return group > 0 ? ceil_div(whole, group) : 1;
}

std::int64_t word_bytes(std::int64_t elements, std::int64_t bits) {
  constexpr std::int64_t kWordBits = 32;
  return ceil_div(times(elements, bits), kWordBits) * 4;
}

}  // namespace

std::int64_t MatrixFormat::bytes(std::int64_t rows,
                                 std::int64_t columns,
                                 std::int64_t plain_bytes) const {
  switch (packing) {
    case Packing::Plain:
      return times(times(rows, columns), plain_bytes);
    case Packing::Fp8: {
      const std::int64_t scales = groups_of(rows, block_rows) * groups_of(columns, block_columns);
      return checked_add(times(rows, columns), scales * scale_bytes + matrix_bytes, kWeightBytes);
    }
    case Packing::Mxfp4:
      return times(times(rows, ceil_div(columns, 32)), 17);
    case Packing::Nvfp4:
      return checked_add(times(times(rows, ceil_div(columns, 16)), 9), matrix_bytes, kWeightBytes);
    case Packing::Integer:
      break;
  }
  const std::int64_t groups = groups_of(columns, group_columns);
  std::int64_t sum =
      packs_rows ? times(columns, word_bytes(rows, bits)) : times(rows, word_bytes(columns, bits));
  sum = checked_add(sum, times(groups, rows * scale_bytes), kWeightBytes);
  if (zero_points) {
    sum = checked_add(sum, times(groups, word_bytes(rows, bits)), kWeightBytes);
  }
  if (input_index) {
    sum = checked_add(sum, columns * 4, kWeightBytes);
  }
  return checked_add(sum, matrix_bytes, kWeightBytes);
}

WeightFormat read_weight_format(const JsonFields& text,
                                const JsonFields& outer,
                                std::string_view family_default) {
  WeightFormat format;
  std::optional<std::string> dtype;
  for (const JsonFields* fields : {&text, &outer}) {
    for (const std::string_view name : {"torch_dtype", "dtype"}) {
      if (!dtype) {
        dtype = fields->optional_string(name);
      }
    }
  }
  if (!dtype && !family_default.empty()) {
    dtype = family_default;
  }
  if (!dtype) {
    format.unknown = "the config names no torch_dtype";
    return format;
  }
  format.name = *dtype;
  if (*dtype == "float32") {
    format.plain_bytes = 4;
  } else if (*dtype != "bfloat16" && *dtype != "float16") {
    format.unknown = "torch_dtype " + *dtype + " is none of bfloat16, float16, float32";
  }
  const JsonFields& owner = text.has("quantization_config") ? text : outer;
  if (owner.has("quantization_config")) {
    read_quantization(owner.object("quantization_config"), format);
  }
  return format;
}

}  // namespace octavo::sim
