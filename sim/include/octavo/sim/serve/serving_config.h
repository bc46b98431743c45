// What a serving simulation is made of: replicas, their scheduler and pool, who routes, how the
// requests come. sim/SERVING.md says how the parts work together.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "octavo/eviction.h"

namespace octavo::sim {

/// Which replica gets a request when it arrives. Load is the prompt tokens of a replica's requests
/// that have not ended; ties go to the replica next in turn.
enum class RouterKind : std::uint8_t {
  RoundRobin,
  LeastLoaded,
  /// Least load + prefix_weight * (prompt tokens that the replica has not cached now).
  LongestPrefix,
  PowerOfTwo,  ///< The less loaded of two different ones drawn at random.
};

/// "round-robin", "least-loaded", "longest-prefix", "power-of-two".
std::string_view to_string(RouterKind router) noexcept;
/// The inverse. Raises InvalidArgument for another name.
RouterKind parse_router(std::string_view name);

/// Who is admitted first, and who is preempted when blocks run out.
enum class QueueOrder : std::uint8_t {
  Fcfs,      ///< First come, first served; the latest admitted is preempted.
  Priority,  ///< Larger TraceRequest::priority first, then FCFS; the least urgent is preempted.
};

/// "fcfs", "priority".
std::string_view to_string(QueueOrder order) noexcept;
/// The inverse. Raises InvalidArgument for another name.
QueueOrder parse_queue_order(std::string_view name);

/// Numbers in [0, kMillion] are probabilities in millionths: integers decide exactly.
inline constexpr std::int64_t kMillion = 1'000'000;

struct ServingConfig {
  // --- Replicas (data parallel); the ranks of one replica work in lock step ---
  int replicas = 1;  ///< [1, 1024].
  RouterKind router = RouterKind::RoundRobin;
  std::int64_t prefix_weight = 1;  ///< For LongestPrefix, [0, 1000].

  // --- The scheduler of each replica ---
  QueueOrder order = QueueOrder::Fcfs;
  int max_num_seqs = 256;                      ///< Running requests, [1, 65536].
  std::int64_t max_num_batched_tokens = 8192;  ///< Tokens a step, [1, 2^24].
  std::int64_t max_prefill_chunk = 0;          ///< Of one prompt in one step; 0: the whole budget.
  std::int64_t max_model_len = 0;              ///< Prompt and output; longer is rejected; 0: any.

  // --- The pool of each replica, see BlockManagerConfig ---
  std::int64_t num_blocks = 0;  ///< [1, 2^31 - 1].
  int block_size = 16;          ///< [1, 65536].
  bool prefix_caching = true;
  bool full_blocks_only = false;  ///< No partial keys.
  EvictionPolicy policy = EvictionPolicy::Lru;
  bool cache_outputs = true;  ///< false: only prompts stay servable.

  // --- Speculative decoding ---
  int draft_tokens = 0;  ///< Tokens proposed a step, [0, 64]; 0: none.
  /// Each draft is accepted with this probability when all before it were; [0, kMillion].
  std::int64_t accept_millionths = 0;

  // --- Cancellation ---
  /// Requests whose client gives up after an exponential time of this mean; [0, kMillion].
  std::int64_t cancel_millionths = 0;
  std::int64_t cancel_mean_ns = 0;  ///< Since the arrival, [0, 2^53].
  std::int64_t timeout_ns = 0;  ///< Every request is cancelled so long after it arrived; 0: never.

  // --- How requests come ---
  /// Requests with a delay_ns or wait_for arrive relative to the ends that they wait for (closed
  /// loop). false: every request arrives when it was recorded.
  bool closed_loop = true;
  /// When set, every request of a session but its first waits for the end of the one before it and
  /// then for an exponential think time of this mean, [0, 2^53], in place of its own delay.
  std::optional<std::int64_t> think_mean_ns{};
  std::int64_t limit = 0;           ///< Read the first `limit` requests; 0: all.
  std::int64_t read_ahead = 16384;  ///< Requests read before they arrive, [1, 2^24].

  // --- Warm start: requests that only fill the caches, in no time, before the simulation ---
  std::int64_t warm_requests = 0;  ///< The first so many of the trace,
  std::int64_t warm_ns = 0;        ///< and those recorded before this time.

  std::uint64_t seed = 1;

  /// BlockManager::audit and the engine's own invariants after every so many steps of a replica;
  /// 0: never. Slow; a failure raises Internal.
  std::int64_t audit_every = 0;
};

/// Raises InvalidArgument naming field, value and range.
void check(const ServingConfig& config);

}  // namespace octavo::sim
