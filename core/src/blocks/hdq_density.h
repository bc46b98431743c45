// HDQ: how many hits a block of some class and age promises for each session it stays.
//
// Two counters a class and bucket are all that is ever measured: how many blocks *entered* the age
// bucket untouched, and how many were *hit* in it, resident or only remembered. From them:
//
//   p[b]      = (hits[*][b] + m) / (entered[*][b] + 10 m), m the mean blocks of a session
//   lambda[b] = p[b] / ((1 - p[b] / 2) width[b]), the hits of a block and session in the bucket,
//               then made non-increasing in b by pooling adjacent violators
//   rho[c]    = (hits[c][*] + 10 m rho[family]) / (sum_b entered[c][b] p[b] + 10 m): how much more
//               often than the average block of its age a block of the class is hit; rho[family] is
//               made the same way from all its classes and shrunk to 1
//
// density(c, b) = lambda[b] rho[c]: a block's age and its class act independently.
//
// The counters are integers; what is computed of them uses only + - * / of doubles, in a fixed
// order and without contraction, so every build gives the same bits.
#pragma once

#include <array>
#include <cstdint>

#include "blocks/hdq_classes.h"

namespace octavo::blocks::hdq {

/// Counts of blocks.
class Counters {
 public:
  void enter(std::size_t class_id, std::size_t bucket, std::uint64_t blocks) noexcept {
    classes_[class_id].entered[bucket] += blocks;
    seen_[class_id] = true;
  }
  void hit(std::size_t class_id, std::size_t bucket, std::uint64_t blocks = 1) noexcept {
    classes_[class_id].hits[bucket] += blocks;
    seen_[class_id] = true;
  }
  std::uint64_t entered(std::size_t class_id, std::size_t bucket) const noexcept {
    return classes_[class_id].entered[bucket];
  }
  std::uint64_t hits(std::size_t class_id, std::size_t bucket) const noexcept {
    return classes_[class_id].hits[bucket];
  }
  /// Whether any block of the class was counted: few classes occur in a workload.
  bool seen(std::size_t class_id) const noexcept { return seen_[class_id]; }

  std::uint64_t sessions = 0;        ///< With at least one shareable block.
  std::uint64_t session_blocks = 0;  ///< Theirs together.

  /// Everything counts half from now on.
  void halve() noexcept;

 private:
  struct Class {
    std::uint64_t entered[kBuckets] = {};
    std::uint64_t hits[kBuckets] = {};
  };
  std::array<Class, kClasses> classes_;
  std::array<bool, kClasses> seen_{};
};

class Density {
 public:
  /// Reads the counters anew. O(classes seen x buckets).
  void learn(const Counters& counters) noexcept;

  double at(std::size_t class_id, std::size_t bucket) const noexcept {
    return lambda_[bucket] * rho_[class_id];
  }
  const std::array<double, kBuckets>& lambda() const noexcept { return lambda_; }
  const std::array<double, kClasses>& rho() const noexcept { return rho_; }

 private:
  std::array<double, kBuckets> lambda_{};
  std::array<double, kClasses> rho_{};
};

/// Replaces the rates hits[b] / exposure[b] by the closest non-increasing ones: neighbours that are
/// out of order are pooled. Exposures are positive.
std::array<double, kBuckets> pool_adjacent_violators(const std::array<double, kBuckets>& hits,
                                                     const std::array<double, kBuckets>& exposure);

}  // namespace octavo::blocks::hdq
