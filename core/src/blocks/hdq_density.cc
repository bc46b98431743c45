#include "blocks/hdq_density.h"

namespace octavo::blocks::hdq {
namespace {

// Sessions' worth of blocks that the prior weighs, and the mean before there is any.
constexpr double kPriorSessions = 10;
constexpr double kFirstMean = 10;

// Counts stay below 2^63, and a signed word is converted by one instruction.
double number(std::uint64_t count) noexcept {
  return static_cast<double>(static_cast<std::int64_t>(count));
}

}  // namespace

void Counters::halve() noexcept {
  for (Class& each : classes_) {
    for (std::size_t b = 0; b < kBuckets; ++b) {
      each.hits[b] /= 2;
      each.entered[b] /= 2;
    }
  }
  sessions /= 2;
  session_blocks /= 2;
}

// A class that was not seen adds nothing to any sum.
void Density::learn(const Counters& counters) noexcept {
  const double mean = counters.sessions > 0
                          ? number(counters.session_blocks) / number(counters.sessions)
                          : kFirstMean;
  const double prior = kPriorSessions * mean;

  std::array<std::uint64_t, kBuckets> hit_in{};
  std::array<std::uint64_t, kBuckets> entered_in{};
  for (std::size_t c = 0; c < kClasses; ++c) {
    for (std::size_t b = 0; counters.seen(c) && b < kBuckets; ++b) {
      hit_in[b] += counters.hits(c, b);
      entered_in[b] += counters.entered(c, b);
    }
  }
  std::array<double, kBuckets> p{};
  std::array<double, kBuckets> hits{};
  std::array<double, kBuckets> exposure{};
  for (std::size_t b = 0; b < kBuckets; ++b) {
    const double weight = number(entered_in[b]) + prior;
    p[b] = (number(hit_in[b]) + mean) / weight;
    hits[b] = p[b] * weight;
    exposure[b] = weight * (1 - p[b] / 2) * static_cast<double>(bucket_width(b));
  }
  lambda_ = pool_adjacent_violators(hits, exposure);

  std::array<double, kClasses> class_hits{};
  std::array<double, kClasses> class_expected{};
  std::array<double, kFamilies> family_hits{};
  std::array<double, kFamilies> family_expected{};
  for (std::size_t c = 0; c < kClasses; ++c) {
    if (!counters.seen(c)) {
      continue;
    }
    std::uint64_t hit = 0;
    for (std::size_t b = 0; b < kBuckets; ++b) {
      hit += counters.hits(c, b);
      class_expected[c] += number(counters.entered(c, b)) * p[b];
    }
    class_hits[c] = number(hit);
    family_hits[family_of(c)] += class_hits[c];
    family_expected[family_of(c)] += class_expected[c];
  }
  for (std::size_t family = 0; family < kFamilies; ++family) {
    const double rho = (family_hits[family] + prior) / (family_expected[family] + prior);
    const double unseen = prior * rho / prior;  // In the order of the others' rounding.
    for (std::size_t c = family; c < kClasses; c += kFamilies) {
      rho_[c] =
          counters.seen(c) ? (class_hits[c] + prior * rho) / (class_expected[c] + prior) : unseen;
    }
  }
}

std::array<double, kBuckets> pool_adjacent_violators(const std::array<double, kBuckets>& hits,
                                                     const std::array<double, kBuckets>& exposure) {
  struct Pool {
    double hits;
    double exposure;
    std::size_t buckets;
  };
  std::array<Pool, kBuckets> pools;
  std::size_t count = 0;
  for (std::size_t b = 0; b < kBuckets; ++b) {
    pools[count++] = {hits[b], exposure[b], 1};
    while (count > 1) {
      Pool& before = pools[count - 2];
      const Pool& last = pools[count - 1];
      if (last.hits * before.exposure <= before.hits * last.exposure) {
        break;
      }
      before.hits += last.hits;
      before.exposure += last.exposure;
      before.buckets += last.buckets;
      --count;
    }
  }
  std::array<double, kBuckets> rates{};
  std::size_t b = 0;
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t left = pools[i].buckets; left > 0; --left) {
      rates[b++] = pools[i].hits / pools[i].exposure;
    }
  }
  return rates;
}

}  // namespace octavo::blocks::hdq
