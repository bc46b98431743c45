// The one order in which the reference sums products: units of eight consecutive terms, each a
// multiplication and then fused multiply-adds, and a pairwise tree over the units, neighbours
// first, where an odd last element passes up unchanged. The last unit may be short.
//
// LaneTree does it for kLanes independent sums at once. Not thread safe; lives on the stack.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "simd.h"

namespace octavo::ref_cpu {

inline constexpr std::int64_t kDotUnit = 8;

/// The pairwise tree over pushed units. Level i holds the sum of a whole subtree or nothing, like
/// the bits of a binary counter: this is the neighbours-first tree, without knowing the number of
/// units beforehand.
template <std::size_t kLanes>
class LaneTree {
 public:
  /// Adds the next unit. Destroys `unit`.
  OCTAVO_LANES void push(float (&unit)[kLanes]) noexcept {
    for (std::uint64_t carry = count_; (carry & 1u) != 0; carry >>= 1) {
      --depth_;
      add_left(unit);
    }
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      stack_[depth_][lane] = unit[lane];
    }
    ++depth_;
    ++count_;
  }

  /// The sums, 0 without units. The tree is used up.
  OCTAVO_LANES void finish(float (&sums)[kLanes]) noexcept {
    if (depth_ > 0) {
      --depth_;
    } else {
      std::fill(stack_[0], stack_[0] + kLanes, 0.0f);
    }
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      sums[lane] = stack_[depth_][lane];
    }
    while (depth_ > 0) {
      --depth_;
      add_left(sums);
    }
  }

 private:
  OCTAVO_LANES void add_left(float (&right)[kLanes]) noexcept {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      right[lane] = stack_[depth_][lane] + right[lane];
    }
  }

  static constexpr int kMaxDepth = 32;  // 2^32 units.

  float stack_[kMaxDepth][kLanes];
  int depth_ = 0;
  std::uint64_t count_ = 0;
};

/// Sum of a[i] * b[i] over [0, n).
OCTAVO_LANES float dot_spec(const float* a, const float* b, std::int64_t n) noexcept {
  LaneTree<1> tree;
  for (std::int64_t begin = 0; begin < n; begin += kDotUnit) {
    const std::int64_t end = begin + kDotUnit < n ? begin + kDotUnit : n;
    float unit[1] = {a[begin] * b[begin]};
    for (std::int64_t i = begin + 1; i < end; ++i) {
      unit[0] = fma_rn(a[i], b[i], unit[0]);
    }
    tree.push(unit);
  }
  float sum[1];
  tree.finish(sum);
  return sum[0];
}

}  // namespace octavo::ref_cpu
