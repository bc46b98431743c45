// NaiveOrder: who leaves next under each eviction policy, written to be obviously right.
//
// Told the same as a manager's own order, block by block. Each policy keeps its queues as plain
// vectors, oldest first, and searches them. What all share: a block whose turn comes while it may
// not leave is set aside, and goes back to the old end of its queue when it may. A plain value.
//
// Lru is not here: it is the order in which NaiveModel parks.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "octavo/block_manager.h"

namespace octavo::testkit {

class NaiveOrder {
 public:
  using Block = std::int64_t;
  /// What a block is remembered by: its namespace and all tokens up to its end.
  using Name = std::pair<std::uint64_t, std::vector<std::int32_t>>;
  using MayLeave = std::function<bool(Block)>;

  explicit NaiveOrder(const BlockManagerConfig& config);

  void seal(Block block, const Name& name);
  void serve(Block block);
  void park(Block block);  ///< A leaf becomes known by it.
  void forget(Block block);

  /// Something may leave now that could not before.
  void refresh(const MayLeave& may_leave);
  /// Takes the next to leave out; -1 when nothing but `spare` may.
  Block victim(const MayLeave& may_leave, Block spare);

  void acting(int slot) { acting_ = slot; }
  void ended(int slot) { retentions_.erase(slot); }
  void set_retention(int slot, int priority, std::int64_t ttl_ticks);
  void advance_clock(std::int64_t now_ticks);

  /// All of the state, with blocks as `rename` calls them.
  std::string print(const std::function<std::string(Block)>& rename) const;

 private:
  struct Known {
    int queue = 0;
    int uses = 0;
    std::int64_t expiry = 0;
    bool aside = false;
    Name name;
  };
  struct Retention {
    int priority = kDefaultPriority;
    std::int64_t ttl_ticks = kNeverExpires;
  };
  using Queue = std::vector<Block>;

  Block turn();
  Block oldest(int queue);
  std::int64_t size(int queue) const;
  void detach(Block block);
  void move(Block block, int queue);
  int queue_of_new(const Name& name);
  bool recall_ghost(std::size_t list, const Name& name);
  void remember(const Known& gone);

  BlockManagerConfig config_;
  std::map<Block, Known> known_;
  std::array<Queue, 2> queues_;
  std::array<std::vector<Name>, 2> ghosts_;
  Block hand_ = -1;          ///< Of SIEVE.
  std::int64_t target_ = 0;  ///< Of ARC, in 65536ths.
  int acting_ = 0;
  std::map<int, Retention> retentions_;
  std::int64_t now_ticks_ = 0;
};

}  // namespace octavo::testkit
