#include "device_mirror.h"

#include <algorithm>
#include <sstream>

namespace octavo::testkit {
namespace {

constexpr Row kRuined = 0xdeaddeaddeaddead;

bool is_step(const Call& call) {
  return call.verb == Verb::Reserve || call.verb == Verb::PrepareStep;
}

template <typename... Parts>
void demand(bool holds, const Parts&... parts) {
  if (!holds) {
    std::ostringstream text;
    (text << ... << parts);
    throw Mismatch(text.str());
  }
}

}  // namespace

DeviceMirror::DeviceMirror(const BlockManagerConfig& config)
    : block_size_(config.block_size),
      memory_(static_cast<std::size_t>(config.num_blocks * config.block_size), kRuined),
      unwritten_from_(static_cast<std::size_t>(config.max_seqs)) {}

Row& DeviceMirror::row(std::int32_t block_id, std::int64_t index) {
  return memory_[static_cast<std::size_t>(block_id * block_size_ + index)];
}

std::int32_t DeviceMirror::id(Block block) const {
  const auto found = ids_.find(block);
  demand(found != ids_.end(), "block ", block, " of the model was never seen in a table");
  return found->second;
}

void DeviceMirror::before_call(const World& before, const Call& call, const BlockManager& manager) {
  if (is_step(call)) {
    for (const std::int32_t slot : call.slots) {
      complete(before, slot, manager);
    }
  } else if (call.verb == Verb::UpdatePosition || call.verb == Verb::Retire ||
             call.verb == Verb::Evict) {
    complete(before, call.slot, manager);
  } else if (call.verb == Verb::Abandon) {
    fail(before.model().slots()[static_cast<std::size_t>(call.slot)], before.model());
  } else if (call.verb == Verb::Reset || call.verb == Verb::ReleaseQuarantined) {
    haunted_.clear();
  }
}

/// Writes the rows that the slot's last step left to the last moment.
void DeviceMirror::complete(const World& before, int slot, const BlockManager& manager) {
  const std::vector<Row> rows = before.rows(slot);
  const auto table = manager.block_table(slot);
  for (std::int64_t p = unwritten_from_[static_cast<std::size_t>(slot)]; p < std::ssize(rows);
       ++p) {
    row(table[static_cast<std::size_t>(p / block_size_)], p % block_size_) =
        rows[static_cast<std::size_t>(p)];
  }
}

/// The device dies in the middle of the slot's steps and copies: it writes the blocks they touch at
/// any later time.
void DeviceMirror::fail(const ModelSlot& slot, const NaiveModel& model) {
  for (std::int64_t p = slot.committed; p < slot.in_flight_end; ++p) {
    if (p / block_size_ >= std::ssize(slot.cells)) {
      break;
    }
    const Block cell = slot.cells[static_cast<std::size_t>(p / block_size_)];
    for (std::int64_t i = 0; i < block_size_ && cell != kNoBlock && !model.sealed(cell); ++i) {
      haunted_.emplace(id(cell), i);
    }
  }
}

void DeviceMirror::after_call(const World& before,
                              const World& after,
                              const Call& call,
                              const BlockManager& manager) {
  drop_dead_blocks(after.model());
  bind_tables(after.model(), manager);
  if (is_step(call) || call.verb == Verb::Admit) {
    copy(after.model(), manager);
  }
  if (is_step(call)) {
    write_step(before, after, call, manager);
  } else if (call.verb == Verb::Reset) {
    std::fill(unwritten_from_.begin(), unwritten_from_.end(), 0);
  } else {
    const auto slot = static_cast<std::size_t>(call.slot);
    if (call.verb == Verb::UpdatePosition || call.verb == Verb::Admit ||
        call.verb == Verb::Retire || call.verb == Verb::Evict || call.verb == Verb::Abandon) {
      unwritten_from_[slot] = after.model().slots()[slot].reserved;
    }
  }
  for (const auto& [block_id, index] : haunted_) {
    row(block_id, index) = kRuined + ++garbage_;
  }
  read_back(after);
}

/// Forgets the blocks that are no longer in use and ruins what they held.
void DeviceMirror::drop_dead_blocks(const NaiveModel& model) {
  std::set<Block> live(model.parked().begin(), model.parked().end());
  live.insert(model.quarantined().begin(), model.quarantined().end());
  for (const ModelSlot& slot : model.slots()) {
    live.insert(slot.cells.begin(), slot.cells.end());
  }
  std::erase_if(ids_, [&](const auto& entry) {
    const bool dead = !live.contains(entry.first);
    for (std::int64_t i = 0; dead && i < block_size_; ++i) {
      row(entry.second, i) = kRuined;
    }
    return dead;
  });
}

/// The tables name the model's blocks: the same id for the same block for as long as it is in use,
/// and never one id for two.
void DeviceMirror::bind_tables(const NaiveModel& model, const BlockManager& manager) {
  std::map<std::int32_t, Block> blocks;
  for (const auto& [block, block_id] : ids_) {
    blocks.emplace(block_id, block);
  }
  for (std::size_t s = 0; s < model.slots().size(); ++s) {
    const std::vector<Block>& cells = model.slots()[s].cells;
    const auto table = manager.block_table(static_cast<int>(s));
    demand(table.size() == cells.size(), "slot ", s, " has ", table.size(), " cells, expected ",
           cells.size());
    for (std::size_t k = 0; k < cells.size(); ++k) {
      if (cells[k] == kNoBlock) {
        demand(table[k] == -1, "slot ", s, " cell ", k, " holds ", table[k], ", expected -1");
        continue;
      }
      demand(table[k] >= 0 && table[k] < manager.num_blocks(), "slot ", s, " cell ", k, " holds ",
             table[k]);
      const auto [known, is_new] = ids_.try_emplace(cells[k], table[k]);
      demand(known->second == table[k], "slot ", s, " cell ", k, " holds block ", table[k],
             ", expected ", known->second);
      const auto [owner, is_unused] = blocks.try_emplace(table[k], cells[k]);
      demand(owner->second == cells[k], "slot ", s, " cell ", k, " holds block ", table[k],
             is_new ? ", expected a new one" : "", ", which is in use as another");
    }
  }
}

void DeviceMirror::copy(const NaiveModel& model, const BlockManager& manager) {
  const auto copies = manager.copies();
  demand(copies.size() == model.copies().size(), copies.size(), " copies, expected ",
         model.copies().size());
  for (std::size_t i = 0; i < copies.size(); ++i) {
    const ModelCopy& expected = model.copies()[i];
    const BlockCopy wanted{id(expected.src), id(expected.dst),
                           static_cast<std::int32_t>(expected.rows)};
    demand(copies[i] == wanted, "copy ", i, " is ", copies[i].src, " -> ", copies[i].dst, " (",
           copies[i].rows, " rows), expected ", wanted.src, " -> ", wanted.dst, " (", wanted.rows,
           " rows)");
    for (std::int64_t r = 0; r < copies[i].rows; ++r) {
      row(copies[i].dst, r) = row(copies[i].src, r);
    }
  }
}

void DeviceMirror::write_step(const World& before,
                              const World& after,
                              const Call& call,
                              const BlockManager& manager) {
  for (std::size_t i = 0; i < call.slots.size(); ++i) {
    const int slot = call.slots[i];
    const auto index = static_cast<std::size_t>(slot);
    unwritten_from_[index] =
        call.verb == Verb::PrepareStep ? call.past[i] : before.model().slots()[index].reserved;
    if (!call.writes_late) {
      complete(after, slot, manager);
      unwritten_from_[index] = after.model().slots()[index].reserved;
    }
  }
}

void DeviceMirror::expect_rows(Block block,
                               const std::vector<Row>& rows,
                               std::int64_t from,
                               std::int64_t to,
                               const char* of) const {
  const std::int32_t block_id = id(block);
  for (std::int64_t p = from; p < to; ++p) {
    const Row found = memory_[static_cast<std::size_t>(block_id * block_size_ + p % block_size_)];
    demand(found == rows[static_cast<std::size_t>(p)], of, ": row ", p % block_size_, " of block ",
           block_id, " does not hold position ", p,
           found >= kRuined && found <= kRuined + garbage_ ? " (it was never written, or ruined)"
                                                           : "");
  }
}

/// Every row that a slot holds or that somebody could be served.
void DeviceMirror::read_back(const World& world) const {
  const NaiveModel& model = world.model();
  for (std::size_t s = 0; s < model.slots().size(); ++s) {
    const ModelSlot& slot = model.slots()[s];
    const std::vector<Row> rows = world.rows(static_cast<int>(s));
    const std::int64_t end = std::min(std::ssize(rows), unwritten_from_[s]);
    for (std::int64_t k = slot.released_blocks; k * block_size_ < end; ++k) {
      expect_rows(slot.cells[static_cast<std::size_t>(k)], rows, k * block_size_,
                  std::min(end, (k + 1) * block_size_), "slot");
    }
  }
  for (const auto& [node, block] : model.nodes()) {
    const auto rows = World::rows(node.space, node.generation, node.tokens);
    expect_rows(block, rows, std::ssize(rows) - block_size_, std::ssize(rows), "sealed block");
  }
  for (const auto& [parent, keys] : model.keys()) {
    for (const PartialKey& key : keys) {
      Tokens tokens = parent.tokens;
      tokens.insert(tokens.end(), key.tail.begin(), key.tail.end());
      const auto rows = World::rows(parent.space, parent.generation, tokens);
      expect_rows(key.owner, rows, std::ssize(parent.tokens), std::ssize(rows), "partial key");
    }
  }
}

}  // namespace octavo::testkit
