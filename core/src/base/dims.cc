#include "octavo/dims.h"

#include "octavo/error.h"

namespace octavo {

Dims::Dims(std::initializer_list<std::int64_t> values)
    : Dims(std::span<const std::int64_t>(values.begin(), values.size())) {}

Dims::Dims(std::span<const std::int64_t> values) {
  if (values.size() > kMaxRank) {
    throw Error(ErrorCode::InvalidArgument, "Dims: " + std::to_string(values.size()) +
                                                " dimensions; the most is " +
                                                std::to_string(kMaxRank));
  }
  std::copy(values.begin(), values.end(), values_.begin());
  size_ = values.size();
}

Dims Dims::without(std::size_t i) const {
  Dims rest;
  for (std::size_t j = 0; j < size_; ++j) {
    if (j != i) {
      rest.values_[rest.size_++] = values_[j];
    }
  }
  return rest;
}

std::string to_string(const Dims& dims) {
  std::string text = "[";
  for (std::size_t i = 0; i < dims.size(); ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(dims[i]);
  }
  return text + "]";
}

}  // namespace octavo
