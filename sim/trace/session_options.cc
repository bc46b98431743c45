// The options of the session workloads: what they are by default, and what they may be.

#include <array>
#include <string>
#include <vector>

#include "generate.h"
#include "octavo/error.h"

namespace octavo::sim {
namespace {

constexpr std::int64_t kTokensMax = 1 << 20;
constexpr std::int64_t kDay = 86'400 * kSecond;

constexpr SessionProfile kSynthetic{.input_tokens = 1000, .output_tokens = 200};

constexpr SessionProfile kSessions{.input_tokens = 100,
                                   .output_tokens = 250,
                                   .range_permille = 900,
                                   .turns_percent = 500,
                                   .think_ns = 30 * kSecond,
                                   .systems = 10,
                                   .system_tokens = 1000};

constexpr SessionProfile kTools{.input_tokens = 600,
                                .output_tokens = 120,
                                .range_permille = 900,
                                .turns_percent = 1200,
                                .think_ns = 3 * kSecond,
                                .systems = 4,
                                .system_tokens = 8000};

constexpr SessionProfile kMedia{.input_tokens = 100,
                                .output_tokens = 200,
                                .range_permille = 900,
                                .systems = 1,
                                .system_tokens = 200,
                                .images = 1,
                                .image_tokens = 576,
                                .image_pool = 1000};

[[noreturn]] void refuse_sessions(const std::string& what) {
  throw Error(ErrorCode::InvalidArgument, "make_workload: " + what);
}

void check_session(const char* argument, std::int64_t value, std::int64_t min, std::int64_t max) {
  if (value < min || value > max) {
    refuse_sessions(std::string(argument) + " " + std::to_string(value) + " is outside [" +
                    std::to_string(min) + ", " + std::to_string(max) + "]");
  }
}

void check_session(const SessionProfile& profile) {
  check_session("input_tokens", profile.input_tokens, 1, kTokensMax);
  check_session("output_tokens", profile.output_tokens, 0, kTokensMax);
  check_session("range_permille", profile.range_permille, 0, 1000);
  check_session("turns_percent", profile.turns_percent, 100, 1'000'000);
  check_session("think_ns", profile.think_ns, 0, 1'000'000 * kSecond);
  check_session("systems", profile.systems, 0, 10'000);
  check_session("system_tokens", profile.system_tokens, profile.systems > 0 ? 1 : 0, kTokensMax);
  check_session("images", profile.images, 0, 1000);
  check_session("image_tokens", profile.image_tokens, profile.images > 0 ? 1 : 0, kTokensMax);
  check_session("image_pool", profile.image_pool, profile.images > 0 ? 1 : 0, kTokensMax);
}

}  // namespace

std::string_view to_string(ArrivalProcess process) noexcept {
  switch (process) {
    case ArrivalProcess::Poisson:
      return "poisson";
    case ArrivalProcess::Gamma:
      return "gamma";
    case ArrivalProcess::Diurnal:
      return "diurnal";
  }
  return "unknown";
}

ArrivalProcess parse_arrival_process(std::string_view name) {
  for (const ArrivalProcess process :
       {ArrivalProcess::Poisson, ArrivalProcess::Gamma, ArrivalProcess::Diurnal}) {
    if (name == to_string(process)) {
      return process;
    }
  }
  throw Error(ErrorCode::InvalidArgument, "parse_arrival_process: \"" + std::string(name) +
                                              "\" is none of poisson, gamma, diurnal");
}

bool is_of_sessions(WorkloadKind kind) noexcept {
  return kind != WorkloadKind::Chat && kind != WorkloadKind::Agent &&
         kind != WorkloadKind::Adversarial;
}

SessionOptions session_defaults(WorkloadKind kind) {
  SessionOptions options;
  switch (kind) {
    case WorkloadKind::Synthetic:
      options.profiles[0] = kSynthetic;
      break;
    case WorkloadKind::Sessions:
      options.profiles[0] = kSessions;
      break;
    case WorkloadKind::Tools:
      options.profiles[0] = kTools;
      break;
    case WorkloadKind::Media:
      options.profiles[0] = kMedia;
      break;
    case WorkloadKind::Mix:
      options.profiles = {kSessions, kTools, kMedia};
      options.shares = {70, 20, 10};
      break;
    default:
      refuse_sessions("kind " + std::string(to_string(kind)) + " is not made of sessions");
  }
  return options;
}

void check(const SessionOptions& options) {
  check_session("rate_micro", options.arrivals.rate_micro, 1, 1'000'000'000'000);
  check_session("burstiness_percent", options.arrivals.burstiness_percent, 1, 10'000);
  check_session("day_ns", options.arrivals.day_ns, kSecond, 1000 * kDay);
  check_session("swing_permille", options.arrivals.swing_permille, 0, 1000);
  check_session("zipf_permille", options.zipf_permille, 0, 10'000);
  check_session("output_token_ns", options.output_token_ns, 0, 1000 * kSecond);
  check_session("context_tokens", options.context_tokens, 1, std::int64_t{1} << 30);
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < options.profiles.size(); ++i) {
    check_session("share", options.shares[i], 0, 1'000'000);
    sum += options.shares[i];
    if (options.shares[i] > 0) {
      check_session(options.profiles[i]);
    }
  }
  check_session("sum of shares", sum, 1, 3'000'000);
}

std::vector<std::pair<std::string, std::string>> notes_of(const SessionOptions& options) {
  std::vector<std::pair<std::string, std::string>> notes;
  const auto add = [&notes](std::string name, std::int64_t value) {
    notes.emplace_back(std::move(name), std::to_string(value));
  };
  const ArrivalOptions& arrivals = options.arrivals;
  notes.emplace_back("arrival_process", "\"" + std::string(to_string(arrivals.process)) + "\"");
  add("rate_micro", arrivals.rate_micro);
  if (arrivals.process == ArrivalProcess::Gamma) {
    add("burstiness_percent", arrivals.burstiness_percent);
  }
  if (arrivals.process == ArrivalProcess::Diurnal) {
    add("day_ns", arrivals.day_ns);
    add("swing_permille", arrivals.swing_permille);
  }
  add("zipf_permille", options.zipf_permille);
  add("output_token_ns", options.output_token_ns);
  add("context_tokens", options.context_tokens);
  std::string profiles;
  for (std::size_t i = 0; i < options.profiles.size(); ++i) {
    const SessionProfile& p = options.profiles[i];
    if (options.shares[i] == 0) {
      continue;
    }
    profiles += profiles.empty() ? "[" : ",";
    profiles += "{\"share\":" + std::to_string(options.shares[i]);
    const std::array<std::pair<const char*, std::int64_t>, 10> fields{{
        {"input_tokens", p.input_tokens},
        {"output_tokens", p.output_tokens},
        {"range_permille", p.range_permille},
        {"turns_percent", p.turns_percent},
        {"think_ns", p.think_ns},
        {"systems", p.systems},
        {"system_tokens", p.system_tokens},
        {"images", p.images},
        {"image_tokens", p.image_tokens},
        {"image_pool", p.image_pool},
    }};
    for (const auto& [name, value] : fields) {
      profiles += ",\"" + std::string(name) + "\":" + std::to_string(value);
    }
    profiles += "}";
  }
  notes.emplace_back("profiles", profiles + "]");
  return notes;
}

}  // namespace octavo::sim
