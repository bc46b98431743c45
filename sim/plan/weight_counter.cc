#include "weight_counter.h"

#include "checked.h"

namespace octavo::sim {
namespace {

std::int64_t elements_of(std::int64_t count, std::int64_t rows, std::int64_t columns) {
  return checked_mul(checked_mul(rows, columns, kParameterCount), count, kParameterCount);
}

}  // namespace

void WeightCounter::plain(std::int64_t count, std::int64_t rows, std::int64_t columns) {
  const std::int64_t elements = elements_of(count, rows, columns);
  add(elements, checked_mul(elements, format_.plain_bytes, kWeightBytes));
}

void WeightCounter::linear(std::string_view module,
                           std::int64_t count,
                           std::int64_t rows,
                           std::int64_t columns) {
  matrices(format_.linear, module, count, rows, columns);
}

void WeightCounter::expert(std::string_view module,
                           std::int64_t count,
                           std::int64_t rows,
                           std::int64_t columns) {
  matrices(format_.experts, module, count, rows, columns);
}

void WeightCounter::head(std::int64_t rows, std::int64_t columns) {
  matrices({}, "lm_head", 1, rows, columns);
}

void WeightCounter::gated_mlp(std::string_view module,
                              std::int64_t count,
                              std::int64_t hidden,
                              std::int64_t width) {
  const std::string path(module);
  linear(path + ".gate_proj", count, width, hidden);
  linear(path + ".up_proj", count, width, hidden);
  linear(path + ".down_proj", count, hidden, width);
}

void WeightCounter::gated_experts(std::int64_t count, std::int64_t hidden, std::int64_t width) {
  expert("mlp.experts.gate_proj", count, width, hidden);
  expert("mlp.experts.up_proj", count, width, hidden);
  expert("mlp.experts.down_proj", count, hidden, width);
}

void WeightCounter::finish(std::string_view name) {
  if (part_.parameters > 0) {
    part_.name = name;
    parts_.push_back(part_);
  }
  part_ = {};
}

void WeightCounter::matrices(const MatrixFormat& by_default,
                             std::string_view module,
                             std::int64_t count,
                             std::int64_t rows,
                             std::int64_t columns) {
  if (count == 0) {
    return;
  }
  const ListedModules* listed = find_listed(module);
  const MatrixFormat* matrix = listed != nullptr ? &listed->format : &by_default;
  std::int64_t& number = modules_[std::string(module)];
  number = checked_add(number, count, kParameterCount);
  const std::int64_t each = matrix->bytes(rows, columns, format_.plain_bytes);
  add(elements_of(count, rows, columns), checked_mul(each, count, kWeightBytes));
}

const ListedModules* WeightCounter::find_listed(std::string_view module) const {
  const ListedModules* found = nullptr;
  for (const auto& [path, listed] : format_.listed) {
    const bool below = path.empty() || (module.size() > path.size() && module.starts_with(path) &&
                                        module[path.size()] == '.');
    if (module == path || below) {
      found = &listed;
    }
  }
  return found;
}

std::string WeightCounter::unknown() const {
  if (!format_.unknown.empty()) {
    return format_.unknown;
  }
  for (const auto& [module, number] : modules_) {
    const ListedModules* listed = find_listed(module);
    if (listed != nullptr && listed->number != kAllModules && listed->number != number) {
      return "quantization treats " + module + " in its own way in " +
             std::to_string(listed->number) + " of " + std::to_string(number) + " places";
    }
  }
  return {};
}

void WeightCounter::add(std::int64_t parameters, std::int64_t bytes) {
  part_.parameters = checked_add(part_.parameters, parameters, kParameterCount);
  part_.bytes = checked_add(part_.bytes, bytes, kWeightBytes);
}

}  // namespace octavo::sim
