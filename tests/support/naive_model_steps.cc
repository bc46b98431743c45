// The model's commits and steps.
#include <algorithm>
#include <utility>

#include "naive_model.h"
#include "naive_model_internal.h"

namespace octavo::testkit {
namespace {

bool distinct(NaiveModel::Ids ids) {
  return std::set<Token>(ids.begin(), ids.end()).size() == ids.size();
}

}  // namespace

// --- Commits ---

/// Sets both lengths. Everything the new length covers is written now; a rewind into the prompt
/// ends its enrolment there.
void NaiveModel::commit(ModelSlot& slot, std::int64_t position) {
  if (position == slot.reserved) {
    // A later step of the same stream has run, so those before it have: nothing is in flight.
    slot.in_flight_end = slot.stepped ? 0 : slot.in_flight_end;
  } else {
    slot.stepped = false;
  }
  if (position < slot.reserved && position < std::ssize(slot.prompt)) {
    mark(Branch::PromptCut);
    slot.prompt.resize(static_cast<std::size_t>(position));
    slot.enrolled_blocks = std::min(slot.enrolled_blocks, position / config_.block_size);
  }
  slot.reserved = slot.committed = position;
  seal(slot, slot.prompt, std::min(slot.enrolled_blocks, position / config_.block_size));
  if (config_.window > 0) {
    const std::int64_t hidden = (position - config_.window + 1) / config_.block_size;
    for (; slot.released_blocks < hidden; ++slot.released_blocks) {
      Block& cell = slot.cells[static_cast<std::size_t>(slot.released_blocks)];
      mark(Branch::WindowReleased);
      let_go(std::exchange(cell, kNoBlock));
    }
  }
}

/// Makes the first `blocks` blocks of the history servable. One block a node: where it has one, the
/// slot's own is given back.
void NaiveModel::seal(ModelSlot& slot, Ids history, std::int64_t blocks) {
  mark(Branch::StaleSealedNothing, sharing() && stale(slot) && blocks > 0);
  if (!sharing() || stale(slot) || slot.fresh) {
    return;
  }
  act(slot);
  std::vector<std::pair<Block, NaiveOrder::Name>> fresh;
  for (std::int64_t k = 0; k < blocks; ++k) {
    Block& cell = slot.cells[static_cast<std::size_t>(k)];
    const auto [node, is_new] =
        nodes_.try_emplace(prefix(slot, history, (k + 1) * config_.block_size), cell);
    if (is_new) {
      stats_.sealed_blocks += 1;
      mark(Branch::TakenOverSealed, key_length(cell) > 0);
      fresh.emplace_back(cell, NaiveOrder::Name{slot.space, node->first.tokens});
    } else if (node->second != cell) {
      mark(Branch::Duplicate);
      mark(Branch::DuplicateUnparked, holders(node->second) == 0);
      mark(Branch::DuplicateParked, key_length(cell) > 0);
      stats_.duplicate_blocks += 1;
      unpark(node->second);
      let_go(std::exchange(cell, node->second));
    }
  }
  if (ordered()) {
    std::for_each(fresh.rbegin(), fresh.rend(),
                  [&](const auto& sealed) { order_.seal(sealed.first, sealed.second); });
  }
}

bool NaiveModel::held_after_rewind(const ModelSlot& slot, std::int64_t position) const {
  const std::int64_t oldest = std::max<std::int64_t>(0, position - config_.window + 1);
  return config_.window == 0 || oldest >= slot.released_blocks * config_.block_size;
}

void NaiveModel::update_position(int slot, std::int64_t new_pos) {
  Checks checks;
  if (checks.require(has(slot))) {
    const ModelSlot& s = slots_[static_cast<std::size_t>(slot)];
    if (checks.require(new_pos >= 0 && new_pos <= s.reserved)) {
      checks.require(held_after_rewind(s, new_pos), ErrorCode::FailedPrecondition);
    }
  }
  checks.done();
  commit(slots_[static_cast<std::size_t>(slot)], new_pos);
  note_high_water();
}

// --- Steps ---

/// Binds cells for `count` tokens behind the reserved length, none of which a key or another slot
/// covers. What had to be replaced is in `given_up`. False: there are too few blocks.
bool NaiveModel::make_writable(ModelSlot& slot, std::int64_t count, std::vector<Block>& given_up) {
  if (count == 0) {
    return true;
  }
  const std::int64_t first = slot.reserved / config_.block_size;
  const std::int64_t rows = slot.reserved % config_.block_size;
  std::vector<Block> own;
  Block source = kNoBlock;
  for (std::int64_t k = first; k < std::ssize(slot.cells); ++k) {
    const Block block = slot.cells[static_cast<std::size_t>(k)];
    const std::int64_t kept = k == first ? rows : 0;
    if (!sealed(block) && key_length(block) <= kept) {
      own.push_back(block);
      continue;
    }
    mark(Branch::GivenUp);
    given_up.push_back(block);
    if (kept > 0) {
      source = block;
    }
  }
  slot.cells.resize(static_cast<std::size_t>(std::min(first, std::ssize(slot.cells))));
  if (source != kNoBlock) {
    mark(Branch::CopiedOnWrite);
    mark(Branch::OwnBlockReused, !own.empty());
    if (own.empty()) {
      own.push_back(take(Use::Copy));
    }
    std::rotate(own.begin(), own.end() - 1, own.end());
    copies_.push_back({source, own.front(), rows});
    stats_.copied_blocks += 1;
  }
  slot.cells.insert(slot.cells.end(), own.begin(), own.end());
  while (std::ssize(slot.cells) < blocks_for(slot.reserved + count, config_.block_size)) {
    slot.cells.push_back(take(Use::Step));
  }
  return std::count(slot.cells.begin() + static_cast<std::ptrdiff_t>(first), slot.cells.end(),
                    kNoBlock) == 0;
}

/// Reserves for one slot after the other; what they give up is released once all have their blocks.
/// `available` is what the pool had before the commits: neither duplicates that those freed nor
/// what is given up here count, only what a window released.
bool NaiveModel::extend(Ids slots,
                        const std::vector<std::int64_t>& counts,
                        std::int64_t available) {
  const Block last_before = last_block_;
  std::vector<std::vector<Block>> given_up(slots.size());
  for (std::size_t i = 0; i < slots.size(); ++i) {
    ModelSlot& slot = open(slots[i]);
    if (!make_writable(slot, counts[i], given_up[i])) {
      return false;
    }
    slot.reserved += counts[i];
    if (counts[i] > 0) {
      slot.in_flight_end = std::max(slot.in_flight_end, slot.reserved);
      slot.stepped = true;
    }
  }
  for (std::size_t i = 0; i < slots.size(); ++i) {
    act(open(slots[i]));
    // A block that several give up goes with the last of them, behind what continues it there.
    const auto is_given_up_later = [&](Block block) {
      return std::any_of(given_up.begin() + static_cast<std::ptrdiff_t>(i) + 1, given_up.end(),
                         [&](const auto& later) {
                           return std::find(later.begin(), later.end(), block) != later.end();
                         });
    };
    for (auto block = given_up[i].rbegin(); block != given_up[i].rend(); ++block) {
      if (!is_given_up_later(*block)) {
        let_go(*block);
      }
    }
  }
  note_high_water();
  return config_.window > 0 || last_block_ - last_before <= available;
}

void NaiveModel::reserve(Ids slots, Ids n_new, std::span<std::int32_t> offsets) {
  Checks checks;
  checks.require(slots.size() == n_new.size() && slots.size() == offsets.size());
  checks.require(distinct(slots));
  for (std::size_t i = 0; i < std::min(slots.size(), n_new.size()); ++i) {
    checks.require(n_new[i] >= 0);
    if (checks.require(has(slots[i]))) {
      checks.require(slots_[static_cast<std::size_t>(slots[i])].reserved + n_new[i] <= row_tokens_);
    }
  }
  for (const Token slot : slots) {
    checks.require(has(slot));
  }
  checks.done();
  NaiveModel next = *this;
  next.copies_.clear();
  for (const Token slot : slots) {
    next.commit(next.open(slot), next.slots_[static_cast<std::size_t>(slot)].reserved);
  }
  if (!next.extend(slots, {n_new.begin(), n_new.end()}, unused_ + std::ssize(parked_))) {
    throw Refusal{{ErrorCode::ResourceExhausted}};
  }
  for (std::size_t i = 0; i < slots.size(); ++i) {
    offsets[i] = static_cast<std::int32_t>(slots_[static_cast<std::size_t>(slots[i])].reserved);
  }
  *this = std::move(next);
}

ModelStepPlan NaiveModel::prepare_step(Ids cu_seqlens_q, Ids past_len, Ids slots) {
  Checks checks;
  checks.require(past_len.size() == slots.size() && cu_seqlens_q.size() == slots.size() + 1);
  checks.require(cu_seqlens_q.empty() || cu_seqlens_q[0] == 0);
  checks.require(distinct(slots));
  std::vector<std::int64_t> counts;
  for (std::size_t i = 1; i < cu_seqlens_q.size(); ++i) {
    counts.push_back(std::int64_t{cu_seqlens_q[i]} - cu_seqlens_q[i - 1]);
    checks.require(counts.back() >= 1);
  }
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (!checks.require(has(slots[i])) || i >= past_len.size() || i >= counts.size()) {
      continue;
    }
    const ModelSlot& s = slots_[static_cast<std::size_t>(slots[i])];
    checks.require(past_len[i] >= 0 && past_len[i] <= s.reserved);
    checks.require(past_len[i] < 0 || held_after_rewind(s, past_len[i]),
                   ErrorCode::FailedPrecondition);
    checks.require(past_len[i] + counts[i] <= row_tokens_);
  }
  checks.done();
  NaiveModel next = *this;
  next.copies_.clear();
  for (std::size_t i = 0; i < slots.size(); ++i) {
    next.commit(next.open(slots[i]), past_len[i]);
  }
  if (!next.extend(slots, counts, unused_ + std::ssize(parked_))) {
    throw Refusal{{ErrorCode::ResourceExhausted}};
  }
  *this = std::move(next);
  ModelStepPlan plan;
  plan.decode = std::all_of(counts.begin(), counts.end(), [](auto n) { return n == 1; });
  std::int32_t sum = 0;
  if (!plan.decode) {
    plan.cu_seqlens_k.push_back(0);
  }
  for (const Token slot : slots) {
    const auto length = static_cast<std::int32_t>(slots_[static_cast<std::size_t>(slot)].reserved);
    plan.cu_seqlens_k.push_back(plan.decode ? length : sum += length);
  }
  return plan;
}

}  // namespace octavo::testkit
