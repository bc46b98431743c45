#include "log_ops.h"

#include "octavo/sim/input_error.h"

namespace octavo::sim {
namespace {

// Media that are the pool itself; the others hold copies of its blocks.
bool is_pool(const std::string& medium) {
  return medium.empty() || medium == "GPU";
}

}  // namespace

LogOps::LogOps(const std::string& path, const OracleOptions& options)
    : log_(path), options_(options) {}

void LogOps::refuse(const std::string& what) const {
  throw InputError(log_.name(), 0, log_.place() + ", batch " + std::to_string(log_.batch_number()),
                   what);
}

void LogOps::check(const KvEventBatch& batch) {
  if (any_ && batch.rank != rank_ && !options_.rank) {
    refuse(
        "is of another data-parallel rank than the batches before, expected one rank, or to be "
        "told which");
  }
  any_ = true;
  rank_ = batch.rank;
  if (batch.sequence && sequence_ && *batch.sequence != *sequence_ + 1) {
    refuse("has the sequence number " + std::to_string(*batch.sequence) + " behind " +
           std::to_string(*sequence_) + ": batches are missing, expected all of them");
  }
  sequence_ = batch.sequence;
}

bool LogOps::next(LogOp& op) {
  while (ready_.empty()) {
    if (!log_.next(batch_)) {
      return false;
    }
    if (options_.rank && batch_.rank != options_.rank) {
      passed_over_ += static_cast<std::int64_t>(batch_.events.size());
      continue;
    }
    check(batch_);
    for (const KvEvent& event : batch_.events) {
      const bool is_clear = event.kind == KvEventKind::AllBlocksCleared;
      if (is_clear || (is_pool(event.medium) && event.group == options_.group)) {
        take(event);
      } else {
        ++passed_over_;
      }
    }
  }
  op = std::move(ready_.front());
  ready_.pop_front();
  return true;
}

void LogOps::take(const KvEvent& event) {
  const std::int64_t batch = log_.batch_number();
  if (event.kind == KvEventKind::AllBlocksCleared) {
    ready_.push_back({.kind = event.kind, .batch = batch, .name = {}, .parent = {}, .tokens = {}});
    return;
  }
  if (event.kind == KvEventKind::BlockStored) {
    if (block_size_ != 0 && event.block_size != block_size_) {
      refuse("stores blocks of " + std::to_string(event.block_size) + " tokens behind blocks of " +
             std::to_string(block_size_) + ", expected one size");
    }
    block_size_ = event.block_size;
  }
  std::optional<KvBlockName> parent = event.parent_block_hash;
  for (std::size_t i = 0; i < event.block_hashes.size(); ++i) {
    LogOp op{.kind = event.kind,
             .batch = batch,
             .name = event.block_hashes[i],
             .parent = parent,
             .tokens = {}};
    if (!event.token_ids.empty()) {
      const auto size = static_cast<std::ptrdiff_t>(event.block_size);
      const auto begin = event.token_ids.begin() + static_cast<std::ptrdiff_t>(i) * size;
      op.tokens.assign(begin, begin + size);
      const std::uint64_t salt = event.content_salts[i];
      const auto folded = static_cast<std::int32_t>(static_cast<std::uint32_t>(salt ^ salt >> 32));
      for (std::int32_t& token : op.tokens) {
        token ^= folded;
      }
    }
    if (event.kind == KvEventKind::BlockStored) {
      parent = op.name;
    }
    ready_.push_back(std::move(op));
  }
}

const LogOp* LogQueues::front(std::deque<LogOp>& queue) {
  while (queue.empty()) {
    LogOp op;
    if (!ops_.next(op)) {
      return nullptr;
    }
    if (op.kind == KvEventKind::AllBlocksCleared) {
      stores_.push_back(op);
      removals_.push_back(std::move(op));
    } else {
      (op.kind == KvEventKind::BlockStored ? stores_ : removals_).push_back(std::move(op));
    }
  }
  return &queue.front();
}

}  // namespace octavo::sim
