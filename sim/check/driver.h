// Driver: applies operations to the caches under test and holds them to what they promise.
//
// It knows what every slot must hold from the operations alone: the tokens, how many of them are
// committed, how many reserved. The same calls go to every rig in lock step and must end alike.
// After each operation: audit, digests, lengths; and, as the seed decides, read-back of rows,
// states, tables. A promise that is broken is thrown as a Violation; then the driver is of no more
// use.
//
// Single-threaded.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "plain_model.h"
#include "rig.h"

namespace octavo::sim::check {

inline constexpr std::int64_t kNamespaces = 4;
inline constexpr std::int64_t kEncoders = 64;
inline constexpr std::int64_t kWrongCalls = 10;

/// What an operation came to.
enum class Outcome {
  Done,
  Skipped,    ///< It does not apply to this state.
  Exhausted,  ///< Refused for want of blocks.
  TooDeep,    ///< A rewind behind what a window holds, refused.
  Failed,     ///< The device erred or an allocation was refused.
};

struct Session {
  Tokens tokens;  ///< What is written and counts.
  Tokens plan;    ///< What comes first: the prompt, until a rewind lets it go on in another way.
  Chain seed = 0;
  std::int64_t committed = 0;
  std::int64_t reserved = 0;
  std::int64_t written_end = 0;  ///< The highest position reserved since it began at 0.
  std::int64_t addressable = kAddressableAll;
  int encoder = -1;
  std::int64_t namespace_id = 0;
  std::uint64_t generation = 0;  ///< Of its namespace, when it was given to the slot.
  bool active = false;
  bool named = false;
};

class Driver {
 public:
  Driver(const CheckSetup& setup, const CheckOptions& options);

  Outcome apply(const CheckOp& op);

  const CheckSetup& setup() const noexcept { return setup_; }
  const Session& session(int slot) const { return sessions_.at(static_cast<std::size_t>(slot)); }
  std::int64_t free_blocks() const { return rigs_.front()->cache.paged_free_blocks(); }
  std::int64_t quarantined_blocks() const {
    return rigs_.front()->cache.paged_quarantined_blocks();
  }
  std::uint64_t digest() const { return rigs_.front()->cache.digest(); }
  /// States are counted by whoever owns the count; see CheckOptions.
  const CheckFigures& figures();

 private:
  struct Step {
    StepBatch batch;
    std::vector<Tokens> tokens;  ///< [B]
  };
  enum class Called { Done, Exhausted, TooDeep, DeviceError, NoMemory };

  Session& at(int slot) { return sessions_.at(static_cast<std::size_t>(slot)); }
  [[noreturn]] void violated(const std::string& kind, const std::string& what) const;

  // driver.cc: the frame around an operation
  void arm(const CheckOp& op);
  void heal();
  void count_fault(const CheckOp& op, Outcome outcome);
  Called call(const std::function<void(Rig&)>& verb);
  Called call_one(Rig& rig, const std::function<void(Rig&)>& verb);
  Outcome dispatch(const CheckOp& op);
  void check_frame();
  void check_others_are_well(const std::vector<std::int32_t>& named);
  Outcome recover(const std::vector<std::int32_t>& named, std::uint64_t before);
  void begin(Session& session);
  void end(int slot);
  void drop(int slot, bool by_evict);
  void haunt();
  Chain seed_of(std::int64_t namespace_id) const;
  void give_namespace(Session& session, std::int64_t namespace_id) const;

  // driver_steps.cc
  Step step_of(const CheckOp& op) const;
  Outcome step(const CheckOp& op, bool computes);
  Outcome compute(const Step& step, const std::vector<KVCache::StepIndices>& indices);
  void compare_outputs(const Step& step, const std::vector<std::vector<LayerOutput>>& seen);
  void spoil_unwritten(const Step& step, const std::vector<KVCache::StepIndices>& indices);
  void check_exhaustion(const Step& step) const;
  Outcome reserve(const CheckOp& op);

  // driver_verbs.cc
  Outcome admit(const CheckOp& op);
  void check_served(const CheckOp& op, std::int64_t served, std::int64_t length) const;
  Outcome rewind(const CheckOp& op);
  Outcome retire(const CheckOp& op);
  Outcome release_slot(const CheckOp& op);
  Outcome name(const CheckOp& op);
  Outcome fill(const CheckOp& op);
  Outcome release();
  Outcome reset();
  Outcome wrong(const CheckOp& op);
  Outcome make_another(const CheckOp& op);

  // driver_reads.cc
  void verify_all();
  void look(int slot);
  void look_at_rows(Rig& rig, int slot, const std::vector<std::int32_t>& table);
  void look_at_row(
      const Rig& rig, int slot, int layer, bool is_key, const std::vector<std::int32_t>& table);
  void look_at_states(const Rig& rig, int slot);
  void look_at_tables();
  void compare_pools();
  void compare_bytes(const std::byte* seen,
                     const std::byte* expected,
                     std::size_t size,
                     std::int64_t& differing);
  void check_exactly(const Step& step, const std::vector<LayerOutput>& expected);
  void check_stored(const RowsView& rows,
                    int slot,
                    std::int64_t position,
                    std::int64_t head,
                    const Operand& operand,
                    Chain chain) const;

  CheckSetup setup_;
  HostAllocations* host_allocations_;
  std::vector<std::unique_ptr<Rig>> rigs_;
  PlainModel plain_;
  std::vector<Session> sessions_;
  std::array<std::uint64_t, kNamespaces> generations_ = {};
  std::set<std::pair<std::int64_t, std::int64_t>> haunted_;  ///< Rows a failed device writes.
  std::vector<int> touched_;                                 ///< Slots of the operation at hand.
  StateCount own_states_;
  StateCount* states_;
  CheckFigures figures_;
  std::uint64_t fresh_digest_ = 0;
  std::uint64_t before_ = 0;  ///< The digest before the operation at hand.
  bool has_states_ = false;
  bool may_refuse_rewinds_ = false;
  bool armed_device_ = false;
  bool armed_memory_ = false;
  std::int64_t host_alloc_after_ = -1;
  bool fault_fired_ = false;
};

}  // namespace octavo::sim::check
