// StateCount: how many different states, by their 64-bit digests, were seen.
//
// An open-addressed set that grows by doubling up to a limit (128 MiB); beyond it nothing new is
// counted, and `saturated` says so. Single-threaded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace octavo::sim {

class StateCount {
 public:
  static constexpr std::size_t kSlotsMax = std::size_t{1} << 24;

  void add(std::uint64_t digest) {
    const std::uint64_t value = digest == 0 ? 1 : digest;  // 0 marks an empty place.
    if (2 * count_ >= places_.size()) {
      if (places_.size() >= kSlotsMax && 4 * count_ >= 3 * places_.size()) {
        saturated_ = true;
        return;
      }
      if (places_.size() < kSlotsMax) {
        grow();
      }
    }
    count_ += insert(places_, value) ? std::size_t{1} : 0;
  }

  std::int64_t count() const noexcept { return static_cast<std::int64_t>(count_); }
  bool saturated() const noexcept { return saturated_; }

 private:
  static bool insert(std::vector<std::uint64_t>& places, std::uint64_t value) {
    std::size_t at = value & (places.size() - 1);
    while (places[at] != 0) {
      if (places[at] == value) {
        return false;
      }
      at = (at + 1) & (places.size() - 1);
    }
    places[at] = value;
    return true;
  }

  void grow() {
    std::vector<std::uint64_t> larger(places_.empty() ? 1024 : 2 * places_.size(), 0);
    for (const std::uint64_t value : places_) {
      if (value != 0) {
        insert(larger, value);
      }
    }
    places_.swap(larger);
  }

  std::vector<std::uint64_t> places_;
  std::size_t count_ = 0;
  bool saturated_ = false;
};

}  // namespace octavo::sim
