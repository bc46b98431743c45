// Who of the replicas gets a request.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "octavo/sim/rng.h"
#include "octavo/sim/serve/serving_config.h"

namespace octavo::sim {

class Router {
 public:
  Router(RouterKind kind, std::int64_t prefix_weight, Rng rng)
      : kind_(kind), prefix_weight_(prefix_weight), rng_(rng) {}

  /// Whether `choose` wants to know what each replica has cached.
  bool wants_prefixes() const noexcept { return kind_ == RouterKind::LongestPrefix; }

  /// `loads`: prompt tokens of the requests that each replica has not ended. `uncached`: tokens of
  /// the prompt that it would have to compute; only looked at when wanted.
  int choose(std::span<const std::int64_t> loads, std::span<const std::int64_t> uncached);

  Rng& rng() noexcept { return rng_; }

 private:
  int least(std::span<const std::int64_t> costs);

  RouterKind kind_;
  std::int64_t prefix_weight_;
  Rng rng_;
  std::size_t turn_ = 0;             ///< The replica next in turn.
  std::vector<std::int64_t> costs_;  ///< Kept for its capacity.
};

}  // namespace octavo::sim
