// Runs: of a trace, and of a log.

#include <algorithm>
#include <string>

#include "octavo/error.h"
#include "octavo/sim/check/check.h"
#include "scheduler.h"

namespace octavo::sim {
namespace {

constexpr std::array<std::string_view, kCheckFaults> kFaults{
    "cancel", "failed-step", "alloc", "rewind", "duplicate-admit", "pressure", "device"};

[[noreturn]] void refuse(const std::string& what) {
  throw Error(ErrorCode::InvalidArgument, what);
}

void require(const CheckOptions& options) {
  const auto within = [](const char* name, std::int64_t value, std::int64_t least,
                         std::int64_t most) {
    if (value < least || value > most) {
      refuse(std::string("check: ") + name + " " + std::to_string(value) + " is outside [" +
             std::to_string(least) + ", " + std::to_string(most) + "]");
    }
  };
  within("devices", std::ssize(options.devices), 1, 8);
  within("layers", options.layers, 1, 64);
  within("kv_heads", options.kv_heads, 1, 64);
  within("head_dim", options.head_dim, 8, 1024);
  within("max_prompt", options.max_prompt, 1, 4096);
  within("blocks", options.blocks, 0, 1 << 20);
  within("limit", options.limit, 0, std::int64_t{1} << 40);
  if (options.head_dim % 8 != 0) {
    refuse("check: head_dim " + std::to_string(options.head_dim) + " is no multiple of 8");
  }
}

// What a name of a kind, or "kind=weight", says.
void parse_fault(std::string_view word, std::string_view text, CheckFaultWeights& weights) {
  const auto refuse_word = [&] {
    refuse("faults '" + std::string(text) + "': '" + std::string(word) +
           "' is none; expected all, none, or cancel, failed-step, alloc, rewind, "
           "duplicate-admit, pressure, device, each perhaps with =WEIGHT in [0, 1000]");
  };
  const std::size_t equals = word.find('=');
  const auto* kind = std::find(kFaults.begin(), kFaults.end(), word.substr(0, equals));
  if (kind == kFaults.end()) {
    refuse_word();
  }
  int weight = -1;  // Drawn, but not 0.
  if (equals != std::string_view::npos) {
    const std::string_view digits = word.substr(equals + 1);
    const bool is_number =
        !digits.empty() && digits.size() <= 4 &&
        std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; });
    if (!is_number || std::stoi(std::string(digits)) > 1000) {
      refuse_word();
    }
    weight = std::stoi(std::string(digits));
  }
  auto& place = weights[static_cast<std::size_t>(kind - kFaults.begin())];
  if (place) {
    refuse("faults '" + std::string(text) + "': " + std::string(*kind) + " is given twice");
  }
  place = weight;
}

// What was caught becomes part of the result.
template <typename Work>
void noting_violation(CheckResult& result, Work&& work) {
  try {
    work();
  } catch (const check::Violation& violation) {
    result.violation = CheckViolation{
        .kind = violation.kind(), .what = violation.what(), .op = std::ssize(result.log.ops) - 1};
  }
}

}  // namespace

std::string_view to_string(CheckFault fault) noexcept {
  return kFaults[static_cast<std::size_t>(fault)];
}

CheckFaultWeights parse_check_faults(std::string_view text) {
  CheckFaultWeights weights;
  if (text == "all") {
    return weights;
  }
  std::string_view rest = text == "none" ? std::string_view() : text;
  while (text != "none") {
    const std::size_t comma = rest.find(',');
    parse_fault(rest.substr(0, comma), text, weights);
    if (comma == std::string_view::npos) {
      break;
    }
    rest.remove_prefix(comma + 1);
  }
  for (std::optional<int>& weight : weights) {
    weight = weight.value_or(0);
  }
  return weights;
}

void CheckFigures::add(const CheckFigures& other) {
  operations += other.operations;
  skipped += other.skipped;
  faults += other.faults;
  compared_words += other.compared_words;
  differing_words += other.differing_words;
  checked_outputs += other.checked_outputs;
  distinct_states = std::max(distinct_states, other.distinct_states);
  prompt_tokens += other.prompt_tokens;
  served_tokens += other.served_tokens;
  appended_tokens += other.appended_tokens;
  exhausted += other.exhausted;
  copied_blocks += other.copied_blocks;
  quarantined_blocks += other.quarantined_blocks;
  for (std::size_t i = 0; i < by_fault.size(); ++i) {
    by_fault[i] += other.by_fault[i];
  }
  for (std::size_t i = 0; i < by_verb.size(); ++i) {
    by_verb[i] += other.by_verb[i];
  }
}

CheckResult run_check(TraceReader& trace, const CheckOptions& options) {
  require(options);
  const std::int64_t max_output = std::max<std::int64_t>(1, options.max_prompt / 4);
  const std::vector<check::CheckRequest> requests =
      check::scaled_requests(trace, options.max_prompt, max_output, options.limit);
  Rng rng(options.seed);
  const check::Swarm swarm = check::draw_swarm(rng, options, max_output);
  CheckResult result;
  result.drawn = check::describe(swarm, options.seed);
  result.log.setup = swarm.setup;
  check::Driver driver(swarm.setup, options);
  check::Scheduler scheduler(swarm, rng, options.host_allocations != nullptr, driver, result.log);
  noting_violation(result, [&] { scheduler.run(requests, options.progress); });
  result.requests = scheduler.finished();
  result.dropped = scheduler.dropped();
  result.unseed = scheduler.unseed();
  result.figures = driver.figures();
  if (swarm.fault_every == 0) {  // What the workload does by itself is none.
    result.figures.faults = 0;
    result.figures.by_fault = {};
  }
  result.digest = result.violation ? 0 : driver.digest();
  return result;
}

CheckResult replay_check_log(const CheckLog& log, const CheckOptions& options) {
  if (options.devices.empty()) {
    refuse("check: devices 0 is outside [1, 8]");
  }
  CheckResult result;
  result.log.setup = log.setup;
  result.drawn = std::to_string(log.ops.size()) + " operations of a log";
  check::Driver driver(log.setup, options);
  noting_violation(result, [&] {
    for (const CheckOp& op : log.ops) {
      result.log.ops.push_back(op);
      driver.apply(op);
    }
    result.log.ops.push_back({.verb = CheckVerb::Verify});
    driver.apply(result.log.ops.back());
  });
  result.figures = driver.figures();
  result.digest = result.violation ? 0 : driver.digest();
  return result;
}

}  // namespace octavo::sim
