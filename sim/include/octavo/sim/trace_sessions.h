// What the session workloads (synthetic, sessions, tools, media, mix) are made of: when sessions
// begin, and what a session does.
//
// Aggregates without behaviour; make_workload checks them. Every figure is an integer in the unit
// its name ends with, so that nothing about a workload depends on floating point.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace octavo::sim {

/// When sessions begin.
enum class ArrivalProcess {
  Poisson,  ///< Independent exponential gaps.
  Gamma,    ///< Independent Gamma gaps: bursty for a shape below 1, regular above.
  Diurnal,  ///< Poisson with a rate that follows a day: least at its beginning, most at noon.
};

/// "poisson", "gamma", "diurnal".
std::string_view to_string(ArrivalProcess process) noexcept;

/// The inverse of `to_string`. Raises InvalidArgument for another name.
ArrivalProcess parse_arrival_process(std::string_view name);

struct ArrivalOptions {
  ArrivalProcess process = ArrivalProcess::Poisson;

  /// Mean rate, sessions per 10^6 seconds (2.5 a second are 2,500,000), [1, 10^12].
  std::int64_t rate_micro = 1'000'000;

  /// Gamma only: the shape of the gaps in hundredths, [1, 10000]. Their coefficient of variation is
  /// 1 / sqrt(shape): 2 for 25, 1 (a Poisson process) for 100.
  std::int64_t burstiness_percent = 25;

  /// Diurnal only: the length of a day, [1 s, 1000 days], and how far the rate swings around its
  /// mean, in thousandths of it, [0, 1000].
  std::int64_t day_ns = 86'400'000'000'000;
  std::int64_t swing_permille = 800;
};

/// One kind of session: a shared system prompt, images, and turns that send the whole history.
struct SessionProfile {
  std::int64_t input_tokens = 0;     ///< New text a turn, mean, [1, 2^20].
  std::int64_t output_tokens = 0;    ///< Answer a turn, mean, [0, 2^20].
  std::int64_t range_permille = 0;   ///< Both are uniform within this of their mean, [0, 1000].
  std::int64_t turns_percent = 100;  ///< Turns a session, mean of a geometric one, [100, 10^6].
  std::int64_t think_ns = 0;  ///< Between an answer and the next turn, exponential, [0, 10^15].
  std::int64_t systems = 0;   ///< System prompts that sessions choose from, [0, 10000].
  std::int64_t system_tokens = 0;  ///< Of each, [1, 2^20] when there are any.
  std::int64_t images = 0;         ///< In front of the first turn's text, [0, 1000].
  std::int64_t image_tokens = 0;   ///< Of each, [1, 2^20] when there are any.
  std::int64_t image_pool = 0;     ///< Images that there are, [1, 2^20] when any are sent.
};

struct SessionOptions {
  ArrivalOptions arrivals;

  /// Popularity of system prompts and of images: the one of rank r is chosen with a probability
  /// proportional to r^-s; s in thousandths, [0, 10000].
  std::int64_t zipf_permille = 1000;

  /// What an arrival time assumes that a token takes to write, [0, 10^12].
  std::int64_t output_token_ns = 20'000'000;

  /// A session ends when its history has this many tokens, [1, 2^30].
  std::int64_t context_tokens = 32768;

  /// Later turns carry a delay behind the end of the one before; false: arrival times only.
  bool closed_loop = true;

  /// What sessions there are: profile i with a probability proportional to shares[i], [0, 10^6]
  /// each, not all 0.
  std::array<SessionProfile, 3> profiles{};
  std::array<std::uint32_t, 3> shares{1, 0, 0};
};

}  // namespace octavo::sim
