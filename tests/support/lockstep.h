// Lockstep: a BlockManager driven call by call beside a World, everything compared after each.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "device_mirror.h"
#include "octavo/block_manager.h"
#include "world.h"

namespace octavo::testkit {

/// Rebuilds the sealed blocks from the events alone.
class EventTree final : public KVEventSink {
 public:
  void on_block_stored(const BlockStored& event) noexcept override;
  void on_block_removed(const BlockRemoved& event) noexcept override;
  void on_all_blocks_cleared() noexcept override;

  /// Throws Mismatch unless the events add up to the model's sealed blocks.
  void check(const NaiveModel& model) const;

 private:
  struct Node {
    std::uint64_t space = 0;
    Tokens tokens;  ///< Up to the block's end.
    int count = 0;  ///< Above 1: in several generations.
  };
  std::map<std::uint64_t, Node> nodes_;
  int block_size_ = 0;
  std::string fault_;
};

class Lockstep {
 public:
  explicit Lockstep(const BlockManagerConfig& config);
  Lockstep(const Lockstep&) = delete;
  Lockstep& operator=(const Lockstep&) = delete;

  /// Makes the call and compares. `before` and `after` are the world around it and `expected` what
  /// the model said. Throws Mismatch, or what audit() throws.
  void step(const World& before, const World& after, const Call& call, const Outcome& expected);

  /// Back to an empty manager; counters go on.
  void restart();
  /// Makes a call that is known to be right and compares nothing; the mirror is set by the caller.
  void replay(const Call& call) { perform(manager_, call); }

  BlockManager& manager() { return manager_; }
  DeviceMirror& mirror() { return mirror_; }
  /// Of the manager after the last step.
  std::uint64_t digest() const { return digest_; }
  void set_digest(std::uint64_t digest) { digest_ = digest; }

 private:
  void compare_checks(const Call& call, const Outcome& expected);
  CachedPrefix look_up(const NaiveModel& model, const Call& call) const;
  void compare_look_up(const CachedPrefix& looked_up,
                       std::int64_t served,
                       std::int64_t free_before) const;
  void compare_tables(const World& before,
                      const World& after,
                      const std::vector<std::vector<std::int32_t>>& tables_before) const;
  void compare_outcome(const Call& call, const Outcome& expected, const Outcome& actual) const;
  void compare_counts(const NaiveModel& model) const;
  void compare_stats(const NaiveModel& before,
                     const NaiveModel& after,
                     const BlockManagerStats& stats_before) const;
  void expect_bad_slots_refused() const;

  BlockManagerConfig config_;
  std::unique_ptr<EventTree> events_;  ///< Only with the built-in hash.
  BlockManager manager_;
  DeviceMirror mirror_;
  std::uint64_t digest_ = 0;
  std::int64_t steps_ = 0;
};

}  // namespace octavo::testkit
