#include "spread_sizes.h"

#include <algorithm>

namespace octavo::sim {
namespace {

// Whether factor^steps >= bound.
bool reaches(double factor, int steps, double bound) {
  double power = 1;
  for (int i = 0; i < steps; ++i) {
    power *= factor;
  }
  return power >= bound;
}

}  // namespace

// The root is found by halving, so that no result depends on a libm.
std::vector<std::int64_t> spread_sizes(std::int64_t least, std::int64_t most, int count) {
  const double ratio = static_cast<double>(most) / static_cast<double>(least);
  double low = 1;
  double high = ratio;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (reaches(middle, count - 1, ratio) ? high : low) = middle;
  }
  std::vector<std::int64_t> sizes{least};
  double size = static_cast<double>(least);
  for (int i = 1; i + 1 < count; ++i) {
    size *= high;
    const auto rounded = std::min(most, static_cast<std::int64_t>(size + 0.5));
    if (rounded > sizes.back()) {
      sizes.push_back(rounded);
    }
  }
  if (most > sizes.back()) {
    sizes.push_back(most);
  }
  return sizes;
}

}  // namespace octavo::sim
