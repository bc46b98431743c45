// A KV-event log as the stores and removals of single blocks of one pool.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "octavo/sim/kv_event_log.h"
#include "octavo/sim/kv_event_oracle.h"

namespace octavo::sim {

/// One block stored or removed, or everything cleared.
struct LogOp {
  KvEventKind kind = KvEventKind::BlockStored;
  std::int64_t batch = 0;  ///< From 1.
  KvBlockName name;
  std::optional<KvBlockName> parent;
  std::vector<std::int32_t> tokens;  ///< Of a stored block; salted, see KvEvent::content_salts.
};

/// Reads the operations of one rank, group and medium (the GPU's) in the order of the log. Checks
/// that no batch is missing and that all blocks are of one size.
class LogOps {
 public:
  LogOps(const std::string& path, const OracleOptions& options);

  /// The next operation; false at the end.
  bool next(LogOp& op);

  std::int64_t block_size() const noexcept { return block_size_; }  ///< 0 until a store was read.
  std::int64_t events_passed_over() const noexcept { return passed_over_; }
  const std::string& name() const noexcept { return log_.name(); }

  /// Raises InputError for the batch read last.
  [[noreturn]] void refuse(const std::string& what) const;

 private:
  void take(const KvEvent& event);
  void check(const KvEventBatch& batch);

  KvEventReader log_;
  OracleOptions options_;
  std::optional<std::int64_t> rank_;  // Of the batches so far.
  bool any_ = false;
  std::optional<std::uint64_t> sequence_;
  std::int64_t block_size_ = 0;
  std::int64_t passed_over_ = 0;
  std::deque<LogOp> ready_;
  KvEventBatch batch_;
};

/// Both sequences of a log: stores and removals, each to be had in its order. A clearing stands in
/// both. Keeps what one of them is ahead of the other.
class LogQueues {
 public:
  LogQueues(const std::string& path, const OracleOptions& options) : ops_(path, options) {}

  /// The next store (or clearing), or null at the end of the log.
  const LogOp* stored() { return front(stores_); }
  /// The next removal (or clearing), or null at the end of the log.
  const LogOp* removed() { return front(removals_); }
  void pop_stored() { stores_.pop_front(); }
  void pop_removed() { removals_.pop_front(); }

  const LogOps& ops() const noexcept { return ops_; }

 private:
  const LogOp* front(std::deque<LogOp>& queue);

  LogOps ops_;
  std::deque<LogOp> stores_;
  std::deque<LogOp> removals_;
};

}  // namespace octavo::sim
