// One replica of the engine: a queue, a running batch, and a block manager that is driven exactly
// as a server would drive it.
//
// A step is planned by `begin_step` (scheduler.cc) and has its results applied by `end_step`
// (replica.cc); in between the replica is busy. Rules: sim/SERVING.md.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "decode_batch.h"
#include "octavo/block_manager.h"
#include "octavo/sim/rng.h"
#include "octavo/sim/serve/serving.h"
#include "waiting_queue.h"

namespace octavo::sim {

/// Told by a replica what becomes of its requests.
class ReplicaListener {
 public:
  virtual ~ReplicaListener() = default;
  virtual void on_preempted(Request& request) = 0;
  /// The replica has forgotten the request.
  virtual void on_ended(Request& request, RequestOutcome outcome) = 0;
};

class Replica {
 public:
  Replica(int index,
          const ServingConfig& config,
          const StepCost& cost,
          Rng rng,
          ReplicaListener& listener);

  /// Whether a request can ever run to its end in a replica of this kind.
  static bool fits(const Request& request, const ServingConfig& config) noexcept;

  /// Plays a request through the cache in no time. Nothing must be running.
  void warm_up(const Request& request);

  void enqueue(Request& request);

  /// Its client cancels the request: it ends now, or with the step that is under way.
  void give_up(Request& request);

  /// Plans and begins a step. False: there is nothing to do.
  bool begin_step(std::int64_t now_ns);
  bool busy() const noexcept { return step_.has_value(); }
  std::int64_t step_end_ns() const noexcept { return step_->end_ns; }

  /// The step is over: tokens are there, requests end. Returns the step.
  ServingStep end_step();

  /// How many tokens of the prompt would be served from the cache now.
  std::int64_t cached_tokens(std::span<const std::int32_t> prompt) const;

  /// Prompt tokens of the requests that have not ended.
  std::int64_t load() const noexcept { return load_; }
  Rng& rng() noexcept { return rng_; }
  ServingReplica result() const;

  /// Raises Internal when the manager's invariants, or those between it and the batch, do not hold.
  void audit() const;

 private:
  // --- Blocks ---
  std::int64_t blocks_for(std::int64_t tokens) const noexcept {
    return (tokens + config_.block_size - 1) / config_.block_size;
  }
  std::int64_t bound_blocks(const Request& request) const {
    return static_cast<std::int64_t>(manager_.block_table(request.slot).size());
  }
  bool can_get(std::int64_t blocks) const noexcept {
    return demand_ + blocks <= manager_.free_blocks();
  }
  std::int64_t addressable(const Request& request) const noexcept {
    return config_.cache_outputs ? kAddressableAll : request.source.input_tokens;
  }
  std::span<const std::int32_t> tokens(const Request& request, int slot);

  // --- Planning (scheduler.cc) ---
  void plan_decodes();
  void plan_prefills();
  void admit_waiting();
  bool admit_head(int slot);
  std::int64_t chunk(std::int64_t left) const noexcept;
  bool make_room(std::int64_t blocks, const Request& wanted_by);
  void preempt_least_urgent();
  std::int64_t running() const noexcept;
  void forget_gone();
  void prepare_batch();
  StepShape shape() const;

  // --- Results (replica.cc) ---
  void decode_results();
  void prefill_results(std::int64_t now_ns);
  void speculate(std::size_t i);
  void end_decodes();
  void end_prefills();
  bool over(const Request& request) const noexcept;
  void end(Request& request);
  void leave_slot(Request& request);

  const int index_;
  const ServingConfig& config_;
  const StepCost& cost_;
  ReplicaListener& listener_;
  Rng rng_;
  BlockManager manager_;
  WaitingQueue waiting_;
  DecodeBatch decodes_;
  std::vector<Request*> prefills_;  ///< In the order of admission. A null one is gone.

  std::vector<int> free_slots_;
  std::vector<std::vector<std::int32_t>> slot_tokens_;  ///< Of the slot's request, all it can hold.
  std::vector<std::int64_t> slot_owner_;                ///< Whose tokens those are; -1: nobody's.

  // --- The step that is planned or under way ---
  std::optional<ServingStep> step_;
  std::int64_t budget_ = 0;  ///< Tokens that it may still take.
  std::int64_t demand_ = 0;  ///< New blocks that it needs.
  bool preempted_ = false;   ///< Somebody had to go.
  /// Every decoding request feeds one token; else `decode_fed_` says what each feeds.
  bool uniform_ = true;
  std::vector<std::int32_t> decode_fed_;
  std::vector<std::int32_t> decode_need_;  ///< New blocks for that.
  std::vector<std::int32_t> prefill_fed_;
  std::vector<std::int32_t> prefill_need_;
  std::vector<std::int32_t> cu_seqlens_q_, past_len_, slots_;  ///< As prepare_step takes them.

  std::int64_t arrived_ = 0;
  std::int64_t load_ = 0;
  std::int64_t given_up_ = 0;  ///< Running requests that end with the step.
  std::int64_t steps_ = 0;
  std::int64_t busy_ns_ = 0;
};

}  // namespace octavo::sim
