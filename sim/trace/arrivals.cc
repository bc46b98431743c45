#include "arrivals.h"

#include <algorithm>
#include <numeric>
#include <string>

#include "octavo/error.h"
#include "wide.h"

namespace octavo::sim {
namespace {

constexpr std::uint64_t kOneGap = std::uint64_t{1} << 32;
constexpr std::int64_t kTimeMax = std::int64_t{1} << 62;

// True with probability e^-(x / 2^32), for x in [0, 2^32]: von Neumann's falling run (1951), whose
// length exceeds k with probability x^k / k!.
bool chance_exp(Rng& rng, std::uint64_t x) {
  std::uint64_t last = x;
  for (bool odd = true;; odd = !odd) {
    const std::uint64_t value = rng.next() >> 32;
    if (value >= last) {
      return odd;
    }
    last = value;
  }
}

// True with probability (x / 2^32)^-((m - 1) / m), for x >= 2^32: whether u (u x)^(m - 1) < 1 for a
// uniform u. With 28 bits behind the point every product fits 64 bits.
bool chance_power(Rng& rng, std::uint64_t x, std::uint64_t m) {
  constexpr std::uint64_t kUnit = std::uint64_t{1} << 28;
  const std::uint64_t u = rng.next() >> 36;
  const std::uint64_t factor = (u * std::min(x >> 4, kUnit << 6)) >> 28;
  if (factor <= kUnit) {
    return true;
  }
  std::uint64_t product = u;
  for (std::uint64_t i = 1; i < m && product <= kUnit; ++i) {
    product = (product * factor) >> 28;
  }
  return product <= kUnit;
}

// Gamma of shape 1 / m and scale 1, m >= 2: the rejection method of Ahrens and Dieter (1974, "GS").
// For such shapes its root is a power and its two acceptance tests are the chances above, so that
// no logarithm is needed; the weight 1/e of its second branch is one more such chance.
std::uint64_t gamma_of_fraction(Rng& rng, std::uint64_t m) {
  for (;;) {
    if (rng.below(m + 1) < m) {  // [0, 1): density x^(1/m - 1), the distribution of u^m
      const std::uint64_t u = rng.next() >> 32;
      std::uint64_t x = u;
      for (std::uint64_t i = 1; i < m; ++i) {
        x = (x * u) >> 32;
      }
      if (chance_exp(rng, x)) {
        return x;
      }
    } else if (chance_exp(rng, kOneGap)) {  // [1, infinity): density e^-x
      const std::uint64_t x = kOneGap + static_cast<std::uint64_t>(rng.exponential(kOneGap));
      if (chance_power(rng, x, m)) {
        return x;
      }
    }
  }
}

}  // namespace

std::uint64_t gamma_unit(Rng& rng, std::uint64_t numerator, std::uint64_t denominator) {
  // Gamma numbers of one scale add up, and so do their shapes.
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < numerator / denominator; ++i) {
    sum += static_cast<std::uint64_t>(rng.exponential(kOneGap));
  }
  for (std::uint64_t i = 0; i < numerator % denominator; ++i) {
    sum += gamma_of_fraction(rng, denominator);
  }
  return sum;
}

std::int64_t day_swing(std::int64_t time_ns, std::int64_t day_ns) {
  // The place in the day in units of 2^-34 days, a quarter of a day back: a wave that starts there
  // with its lower half.
  const auto time = static_cast<std::uint64_t>(time_ns % day_ns);
  const std::uint64_t place =
      mul_div(time, std::uint64_t{1} << 34, static_cast<std::uint64_t>(day_ns));
  const std::uint64_t wave = (place + 3 * kOneGap) % (4 * kOneGap);
  const std::uint64_t y = (wave % (2 * kOneGap)) / 2;  // [0, 2^32) along one half wave
  const auto height = static_cast<std::int64_t>((y * (kOneGap - y)) >> 30);
  return wave < 2 * kOneGap ? height : -height;
}

SessionArrivals::SessionArrivals(const ArrivalOptions& options, const Rng& rng)
    : options_(options), rng_(rng) {
  if (options_.process == ArrivalProcess::Gamma) {
    const auto percent = static_cast<std::uint64_t>(options_.burstiness_percent);
    const std::uint64_t divisor = std::gcd(percent, std::uint64_t{100});
    shape_numerator_ = percent / divisor;
    shape_denominator_ = 100 / divisor;
  }
}

std::uint64_t SessionArrivals::gap_ns(std::uint64_t units) const {
  // mean gap = 10^15 ns / rate_micro; a Gamma number of scale 1 has the shape as its mean; a
  // diurnal process draws at its highest rate.
  Wide scale_up = Wide{1'000'000'000'000'000} * shape_denominator_;
  Wide scale_down = Wide{static_cast<std::uint64_t>(options_.rate_micro)} * shape_numerator_;
  if (options_.process == ArrivalProcess::Diurnal) {
    scale_up *= 1000;
    scale_down *= static_cast<std::uint64_t>(1000 + options_.swing_permille);
  }
  const Wide gap = (units * scale_up / scale_down) >> 32;
  return static_cast<std::uint64_t>(std::min(gap, Wide{kTimeMax}));
}

std::int64_t SessionArrivals::next_ns() {
  for (;;) {
    const std::uint64_t units = gamma_unit(rng_, shape_numerator_, shape_denominator_);
    now_ns_ += static_cast<std::int64_t>(gap_ns(units));
    if (now_ns_ >= kTimeMax) {
      throw Error(ErrorCode::ResourceExhausted,
                  "make_workload: arrival times outgrow 2^62 ns (146 years) at rate_micro " +
                      std::to_string(options_.rate_micro));
    }
    if (options_.process != ArrivalProcess::Diurnal) {
      return now_ns_;
    }
    // Thinning (Lewis and Shedler, 1979): kept in proportion to the rate at that time.
    const auto swing = static_cast<std::uint64_t>(options_.swing_permille);
    const std::int64_t rate =
        (std::int64_t{1000} << 32) + options_.swing_permille * day_swing(now_ns_, options_.day_ns);
    if (rng_.chance(static_cast<std::uint64_t>(rate), (1000 + swing) << 32)) {
      return now_ns_;
    }
  }
}

}  // namespace octavo::sim
