// The collectives of one warp: shuffles, votes, __syncwarp and matrix products.
//
// Each lane of a mask comes to the same place with the same mask; the last one computes for all.
// Collectives of disjoint masks can be under way at the same time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "operation.h"
#include "sanitizers.h"
#include "site.h"

namespace octavo::emulation {

struct Thread;

/// Computes a product, or what else takes all 32 lanes, from the addresses that they brought.
using WarpFunction = void (*)(const std::uint64_t* fragments);

/// What all lanes of a collective must agree on.
struct Collective {
  Operation operation;
  std::uint32_t mask;
  int width;  ///< Of the groups that a shuffle stays in.
  Site site;
  WarpFunction function = nullptr;
};

class Warp {
 public:
  /// A warp whose lanes are `lanes`: all but in the last one of a block.
  void reset(std::uint32_t lanes);

  /// Takes part with `value`; `argument` is the lane or distance of a shuffle. What the collective
  /// gives this lane.
  std::uint64_t take_part(Thread& thread,
                          const Collective& call,
                          std::uint64_t value,
                          std::int32_t argument);

  /// The lane ends. Raises if others wait for it.
  void end_lane(Quiet& quiet, Thread& thread);

 private:
  // A collective that some lanes of it have come to.
  struct Open {
    Collective call;
    std::uint32_t lanes;  // The mask without lanes that the warp does not have.
    std::uint32_t arrived;
    char* order;
  };

  Open& join(Quiet& quiet, Thread& thread, const Collective& call);
  [[noreturn]] void raise_divergent(Quiet& quiet,
                                    Thread& thread,
                                    const Collective& call,
                                    const Open& open);
  void complete(Quiet& quiet, Thread& thread, const Open& open);
  void vote(const Open& open);
  void shuffle(Quiet& quiet, Thread& thread, const Open& open);
  void wake_others(Thread& thread, const Open& open);

  static constexpr std::size_t kLanes = 32;
  std::array<std::uint64_t, kLanes> values_;
  std::array<std::uint64_t, kLanes> results_;
  std::array<std::int32_t, kLanes> arguments_;
  std::array<Open, kLanes> open_;
  std::size_t open_count_ = 0;
  std::uint32_t lanes_ = 0;
  std::uint32_t ended_ = 0;
  // Addresses to order by. A lane may be some collectives ahead of another, so each has its own.
  std::array<char, 64> orders_;
  std::size_t next_order_ = 0;
};

}  // namespace octavo::emulation
