#include "lru_stack.h"

#include <algorithm>
#include <utility>

namespace octavo::sim {
namespace {

constexpr std::size_t kLeastSlots = 64;

}  // namespace

void DepthCounts::add(std::int64_t first, std::int64_t count) {
  const auto end = static_cast<std::size_t>(first + count);
  if (end >= steps_.size()) {
    steps_.resize(end + 1);
  }
  ++steps_[static_cast<std::size_t>(first)];
  --steps_[end];
}

std::vector<std::int64_t> DepthCounts::cumulative() && {
  while (!steps_.empty() && steps_.back() == 0) {
    steps_.pop_back();
  }
  // The last step only ends the deepest run: nothing more is hit there.
  steps_.resize(std::max<std::size_t>(steps_.size(), 2) - 1);
  std::int64_t at_depth = 0;
  std::int64_t sum = 0;
  for (std::int64_t& step : steps_) {
    at_depth += step;
    sum += at_depth;
    step = sum;
  }
  return std::move(steps_);
}

void LruStack::touch(std::span<const PathPiece> path, bool partial_tail, DepthCounts& depths) {
  std::int64_t whole = 0;
  for (const PathPiece& part : path) {
    whole += part.blocks;
  }
  find_runs(path);
  count_hits(partial_tail ? whole : whole - 1, depths);
  fill_hole();
  // The last whole block is known, but computed anew into a block that is then given back: the
  // place that it leaves for the top becomes the hole.
  const bool copy = !partial_tail && known_ == whole;
  if (copy) {
    --runs_.back().blocks;
  }
  for (const Run& run : runs_) {
    change(run.group, -run.blocks);
  }
  push(path, whole + (partial_tail ? 1 : 0));
  if (copy) {
    hole_ = runs_.back().group;
  } else if (partial_tail) {
    hole_ = newest();
  }
}

void LruStack::touch_sample(std::span<const PathPiece> path, bool unserved, DepthCounts& depths) {
  std::int64_t blocks = 0;
  for (const PathPiece& part : path) {
    blocks += part.blocks;
  }
  find_runs(path);
  count_hits(unserved ? blocks - 1 : blocks, depths);
  for (const Run& run : runs_) {
    change(run.group, -run.blocks);
  }
  push(path, blocks);
}

void LruStack::cut(std::uint32_t piece, std::uint32_t rest) {
  if (piece >= group_of_.size()) {
    return;
  }
  const std::uint32_t group = group_of_[piece];
  if (rest >= group_of_.size()) {
    group_of_.resize(rest + std::size_t{1}, kNone);
  }
  group_of_[rest] = group;
}

// The known blocks of a prompt are its head: whoever touched one touched all before it.
void LruStack::find_runs(std::span<const PathPiece> path) {
  runs_.clear();
  known_ = 0;
  for (const PathPiece& part : path) {
    const std::uint32_t group = part.piece < group_of_.size() ? group_of_[part.piece] : kNone;
    if (group == kNone) {
      break;
    }
    if (runs_.empty() || runs_.back().group != group) {
      runs_.push_back({group, 0});
    }
    runs_.back().blocks += part.blocks;
    known_ += part.blocks;
  }
}

void LruStack::count_hits(std::int64_t servable, DepthCounts& depths) {
  std::int64_t begin = 0;
  for (const Run& run : runs_) {
    const std::int64_t hits = std::min(run.blocks, servable - begin);
    if (hits <= 0) {
      break;
    }
    depths.add(newer_than(run.group) + (hole_ == run.group ? 1 : 0) + 1, hits);
    begin += run.blocks;
  }
}

void LruStack::fill_hole() {
  if (hole_ != kNone) {
    const std::uint32_t group = hole_;
    hole_ = kNone;
    change(group, -1);
  }
}

void LruStack::push(std::span<const PathPiece> path, std::int64_t places) {
  if (places == 0) {
    return;
  }
  const std::uint32_t group = new_group();
  change(group, places);
  std::size_t pieces = group_of_.size();
  for (const PathPiece& part : path) {
    pieces = std::max(pieces, part.piece + std::size_t{1});
  }
  group_of_.resize(pieces, kNone);
  for (const PathPiece& part : path) {
    group_of_[part.piece] = group;
  }
}

std::uint32_t LruStack::new_group() {
  if (slot_group_.size() + 1 >= tree_.size()) {
    compact();
  }
  std::uint32_t group;
  if (unused_groups_.empty()) {
    group = static_cast<std::uint32_t>(groups_.size());
    groups_.emplace_back();
  } else {
    group = unused_groups_.back();
    unused_groups_.pop_back();
  }
  groups_[group] = {static_cast<std::uint32_t>(slot_group_.size()), 0};
  slot_group_.push_back(group);
  return group;
}

void LruStack::change(std::uint32_t group, std::int64_t places) {
  Group& changed = groups_[group];
  changed.places += places;
  places_ += places;
  for (std::size_t i = changed.slot + std::size_t{1}; i < tree_.size(); i += i & (~i + 1)) {
    tree_[i] += places;
  }
  if (changed.places == 0) {
    unused_groups_.push_back(group);
  }
}

std::int64_t LruStack::newer_than(std::uint32_t group) const {
  std::int64_t older = 0;  // The group's own places included.
  for (std::size_t i = groups_[group].slot + std::size_t{1}; i > 0; i &= i - 1) {
    older += tree_[i];
  }
  return places_ - older;
}

// Gives the groups that have a place the first slots, in their order, and as many again for those
// to come; so a slot costs a constant time on average.
void LruStack::compact() {
  std::size_t kept = 0;
  for (std::size_t slot = 0; slot < slot_group_.size(); ++slot) {
    const std::uint32_t group = slot_group_[slot];
    if (groups_[group].places > 0 && groups_[group].slot == slot) {
      groups_[group].slot = static_cast<std::uint32_t>(kept);
      slot_group_[kept++] = group;
    }
  }
  slot_group_.resize(kept);
  tree_.assign(std::max(kLeastSlots, 2 * kept) + 1, 0);
  for (std::size_t i = 1; i < tree_.size(); ++i) {
    if (i <= kept) {
      tree_[i] += groups_[slot_group_[i - 1]].places;
    }
    const std::size_t above = i + (i & (~i + 1));
    if (above < tree_.size()) {
      tree_[above] += tree_[i];
    }
  }
}

}  // namespace octavo::sim
