// HDQ: which class has the queue of the least density.
//
// A class enters with its oldest non-empty bucket, since densities fall with age; the classes then
// meet in a knock-out tree. A change of one class replays its matches, log2(256) of them or as far
// as anything changes. Equal densities: the lower class number wins.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <limits>

#include "blocks/hdq_density.h"

namespace octavo::blocks::hdq {

class Contest {
 public:
  Contest() { clear(); }

  void clear() noexcept {
    filled_.fill(0);
    stake_.fill(kOut);
    for (std::size_t match = kLeaves - 1; match >= 1; --match) {
      play(match);
    }
  }

  /// The queue of the class and bucket became non-empty, or empty.
  void set(std::size_t class_id, std::size_t bucket, bool filled, const Density& density) noexcept {
    const std::size_t before = buckets(class_id);
    const auto bit = static_cast<std::uint16_t>(1U << bucket);
    filled_[class_id] =
        static_cast<std::uint16_t>(filled ? filled_[class_id] | bit : filled_[class_id] & ~bit);
    if (buckets(class_id) != before) {
      stake_[class_id] = stake(class_id, density);
      replay(class_id);
    }
  }

  void set_densities(const Density& density) noexcept {
    for (std::size_t c = 0; c < kClasses; ++c) {
      if (filled_[c] != 0) {
        stake_[c] = stake(c, density);
        replay(c);
      }
    }
  }

  bool filled(std::size_t class_id, std::size_t bucket) const noexcept {
    return (filled_[class_id] >> bucket & 1) != 0;
  }
  /// No queue is filled.
  bool empty() const noexcept { return filled_[winner_[1]] == 0; }
  /// The class of least density and the oldest bucket in which it has a queue. REQUIRES: !empty().
  std::size_t winner() const noexcept { return winner_[1]; }
  std::size_t winner_bucket() const noexcept { return buckets(winner_[1]) - 1; }

 private:
  static constexpr std::size_t kLeaves = 256;
  static constexpr double kOut = std::numeric_limits<double>::infinity();

  // One more than the oldest bucket with a queue; 0 without any.
  std::size_t buckets(std::size_t class_id) const noexcept {
    return static_cast<std::size_t>(std::bit_width(filled_[class_id]));
  }
  double stake(std::size_t class_id, const Density& density) const noexcept {
    const std::size_t count = buckets(class_id);
    return count == 0 ? kOut : density.at(class_id, count - 1);
  }
  void play(std::size_t match) noexcept {
    const std::uint8_t left = entrant(2 * match);
    const std::uint8_t right = entrant(2 * match + 1);
    winner_[match] = stake_[right] < stake_[left] ? right : left;
  }
  std::uint8_t entrant(std::size_t place) const noexcept {
    return place >= kLeaves ? static_cast<std::uint8_t>(place - kLeaves) : winner_[place];
  }
  // The class has another stake. Where it lost and loses again, all beyond is as it was.
  void replay(std::size_t class_id) noexcept {
    for (std::size_t match = (kLeaves + class_id) / 2; match >= 1; match /= 2) {
      const std::uint8_t before = winner_[match];
      play(match);
      if (before == winner_[match] && before != class_id) {
        return;
      }
    }
  }

  std::array<std::uint16_t, kLeaves> filled_;   ///< Bit b: the queue of bucket b is not empty.
  std::array<double, kLeaves> stake_;           ///< Infinite for a class without queues.
  std::array<std::uint8_t, kLeaves> winner_{};  ///< [1]: the final; match m decides 2m and 2m + 1.
};

}  // namespace octavo::blocks::hdq
