// DeviceMirror: the rows that a device would have in its pool, and which block of the pool each
// block of the model is.
//
// It writes where the manager's tables say, early or as late as the rules allow, performs its
// copies, ruins what becomes free, keeps writing garbage into what a failed device may still write,
// and then reads back everything that a slot holds or that can be served. A plain value, like the
// model.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <stdexcept>
#include <utility>
#include <vector>

#include "octavo/block_manager.h"
#include "world.h"

namespace octavo::testkit {

/// The manager did something else than the model.
struct Mismatch : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class DeviceMirror {
 public:
  explicit DeviceMirror(const BlockManagerConfig& config);

  /// Before a call that will succeed: the device completes what the call is about to commit.
  void before_call(const World& before, const Call& call, const BlockManager& manager);
  /// After it: compares the tables and copies with the model's, then copies, writes and reads back.
  void after_call(const World& before,
                  const World& after,
                  const Call& call,
                  const BlockManager& manager);

  std::int32_t id(Block block) const;

 private:
  void complete(const World& before, int slot, const BlockManager& manager);
  void fail(const ModelSlot& slot, const NaiveModel& model);
  void drop_dead_blocks(const NaiveModel& model);
  void bind_tables(const NaiveModel& model, const BlockManager& manager);
  void copy(const NaiveModel& model, const BlockManager& manager);
  void write_step(const World& before,
                  const World& after,
                  const Call& call,
                  const BlockManager& manager);
  void read_back(const World& world) const;
  void expect_rows(Block block,
                   const std::vector<Row>& rows,
                   std::int64_t from,
                   std::int64_t to,
                   const char* of) const;
  Row& row(std::int32_t block_id, std::int64_t index);

  std::int64_t block_size_;
  std::vector<Row> memory_;  ///< [num_blocks, block_size]
  std::map<Block, std::int32_t> ids_;
  std::vector<std::int64_t> unwritten_from_;                 ///< By slot, a position.
  std::set<std::pair<std::int32_t, std::int64_t>> haunted_;  ///< Rows that a failed device writes.
  Row garbage_ = 0;
};

}  // namespace octavo::testkit
