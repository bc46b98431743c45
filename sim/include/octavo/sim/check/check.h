// `octavo check`: a real KVCache, or several in lock step, driven through a recorded workload with
// faults, and held to what it promises.
//
// Keys, values and queries are functions of the token history, so what every slot must hold and
// what every token must see is known from its tokens alone. After every operation the caches are
// audited, the rows a step touched are read back, and its attention is compared in bits with the
// same arithmetic over plain tensors without any cache. What is checked, and what is not:
// sim/CHECK.md.
//
// Deterministic: a run is a function of its options and its trace. Single-threaded.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "octavo/device.h"
#include "octavo/sim/check/check_log.h"
#include "octavo/sim/check/state_count.h"
#include "octavo/sim/trace.h"

namespace octavo::sim {

/// What goes wrong on purpose.
enum class CheckFault {
  Cancel,          ///< A session is evicted, in its prompt or after it.
  FailedStep,      ///< A step is prepared and never computed; the session is abandoned.
  Alloc,           ///< An allocation is refused.
  Rewind,          ///< Tokens are rejected, into the prompt too.
  DuplicateAdmit,  ///< Two slots admit one prompt at a time; calls that must raise are made.
  Pressure,        ///< The pool is too small for what is asked.
  Device,          ///< The device errs at some call.
};
inline constexpr int kCheckFaults = 7;

/// "cancel", "failed-step", "alloc", "rewind", "duplicate-admit", "pressure", "device".
std::string_view to_string(CheckFault fault) noexcept;

/// For each kind: how often, relative to the others. Unset: drawn from the seed, which may well
/// draw 0.
using CheckFaultWeights = std::array<std::optional<int>, kCheckFaults>;

/// "all", "none", or kinds with optional weights: "cancel,device=5"; those that are not named are
/// off. Raises InvalidArgument for another text, a kind given twice, a weight outside [0, 1000].
CheckFaultWeights parse_check_faults(std::string_view text);

/// A device by name. `make` gives a new one with memory of its own.
struct CheckDevice {
  std::string name;
  std::function<std::shared_ptr<Device>()> make;
};

/// The host's own allocator, when somebody can make it refuse (a test that replaces operator new).
class HostAllocations {
 public:
  virtual ~HostAllocations() = default;
  virtual void fail_after(std::int64_t successes) = 0;
  virtual void allow() = 0;
};

struct CheckOptions {
  std::vector<CheckDevice> devices;  ///< At least one.
  /// Computes what is expected; unset: the first of `devices`.
  std::optional<CheckDevice> oracle = {};
  HostAllocations* host_allocations = nullptr;  ///< Not owned.
  StateCount* states = nullptr;  ///< Counts over several runs; not owned. Null: the run's own.

  std::uint64_t seed = 1;
  CheckFaultWeights faults = {};
  std::vector<CheckRow> rows = {};  ///< Taken in turn by the layers; empty: drawn.
  int layers = 2;
  int kv_heads = 2;
  int head_dim = 64;
  std::int64_t max_prompt = 96;  ///< Longest prompt after scaling, in tokens.
  std::int64_t blocks = 0;       ///< Of the pool; 0: drawn.
  std::int64_t limit = 0;        ///< Requests; 0: all.
  /// Called now and then with the requests finished so far and their number.
  std::function<void(std::int64_t, std::int64_t)> progress = {};
};

/// What went wrong, and where.
struct CheckViolation {
  std::string kind;  ///< "rows", "attention", "audit", ...
  std::string what;
  std::int64_t op = 0;  ///< Its index in the log.
};

struct CheckFigures {
  std::int64_t operations = 0;      ///< Applied.
  std::int64_t skipped = 0;         ///< Did not apply to the state they met.
  std::int64_t faults = 0;          ///< That took effect.
  std::int64_t compared_words = 0;  ///< 32 bits each: outputs, rows, states, lengths, tables.
  std::int64_t differing_words = 0;
  std::int64_t checked_outputs = 0;  ///< Rows of attention recomputed in binary64.
  std::int64_t distinct_states = 0;  ///< By the cache's digest.
  std::int64_t prompt_tokens = 0;    ///< Of prompts that were admitted.
  std::int64_t served_tokens = 0;    ///< Of those, from the cache.
  std::int64_t appended_tokens = 0;  ///< Written by steps.
  std::int64_t exhausted = 0;        ///< Calls refused for want of blocks.
  std::int64_t copied_blocks = 0;
  std::int64_t quarantined_blocks = 0;
  std::array<std::int64_t, kCheckFaults> by_fault = {};
  std::array<std::int64_t, kCheckVerbs> by_verb = {};

  void add(const CheckFigures& other);
};

struct CheckResult {
  CheckFigures figures;
  std::int64_t requests = 0;  ///< Of the trace that were finished.
  std::int64_t dropped = 0;   ///< Given up: they fit nowhere or failed too often.
  std::string drawn;          ///< What the seed chose, in one line.
  std::uint64_t digest = 0;   ///< Of the cache at the end.
  std::uint64_t unseed = 0;   ///< The last number drawn: equal runs end with equal ones.
  CheckLog log;               ///< Everything that was done.
  std::optional<CheckViolation> violation = {};
};

/// Drives the requests of `trace` (all of them are read first). Stops at the first violation.
/// Raises InvalidArgument for options that are none, what the reader raises, and what
/// KVCache::make raises.
CheckResult run_check(TraceReader& trace, const CheckOptions& options);

/// Does what a log says; of `options` only the devices count.
CheckResult replay_check_log(const CheckLog& log, const CheckOptions& options);

struct ShrinkLimits {
  std::int64_t operations_max = 400'000;  ///< Operations applied over all attempts.
};

/// The smallest log found that ends in a violation of the same kind as `failed`, which must have
/// one. Deterministic.
CheckResult shrink_check(const CheckResult& failed,
                         const CheckOptions& options,
                         const ShrinkLimits& limits = {});

}  // namespace octavo::sim
