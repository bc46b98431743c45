// Steps: what is appended, what was seen, what may go wrong on the way.

#include <algorithm>
#include <cstring>
#include <new>
#include <string>

#include "driver.h"
#include "octavo/kv_row_info.h"

namespace octavo::sim::check {
namespace {

std::int64_t blocks_for(std::int64_t tokens, std::int64_t block_size) {
  return (tokens + block_size - 1) / block_size;
}

}  // namespace

// What of the batch applies: every slot once, as many tokens as a step and a sequence may have.
Driver::Step Driver::step_of(const CheckOp& op) const {
  Step step;
  step.batch.cu_seqlens_q = {0};
  for (const CheckStepEntry& entry : op.batch) {
    const auto& slots = step.batch.slots;
    if (entry.slot >= setup_.slots ||
        std::find(slots.begin(), slots.end(), entry.slot) != slots.end()) {
      continue;
    }
    const Session& session = this->session(entry.slot);
    const std::int64_t length = std::ssize(session.tokens);
    std::int64_t back = std::min<std::int64_t>(entry.back, length);
    if (has_states_ && back > 0) {
      back = length;  // States hold the latest token only.
    }
    const std::int64_t past = length - back;
    const std::int64_t count = std::min<std::int64_t>(
        {std::int64_t{entry.count}, setup_.max_step, setup_.max_tokens - past});
    if (count < 1) {
      continue;
    }
    Tokens tokens;
    for (std::int64_t i = 0; i < count; ++i) {
      const bool is_planned = back == 0 && past + i < std::ssize(session.plan);
      tokens.push_back(is_planned ? session.plan[static_cast<std::size_t>(past + i)]
                                  : entry.token + static_cast<std::int32_t>(i));
    }
    Chain before = session.active || session.named ? session.seed : seed_of(0);
    for (std::int64_t i = 0; i < past; ++i) {
      before = extend(before, session.tokens[static_cast<std::size_t>(i)]);
    }
    const std::vector<Chain> added = chains_of(before, tokens);
    step.batch.chains.insert(step.batch.chains.end(), added.begin(), added.end());
    step.batch.cu_seqlens_q.push_back(step.batch.cu_seqlens_q.back() +
                                      static_cast<std::int32_t>(count));
    step.batch.past.push_back(static_cast<std::int32_t>(past));
    step.batch.slots.push_back(entry.slot);
    step.tokens.push_back(std::move(tokens));
  }
  return step;
}

// With so many blocks free, no step of this size can lack one.
void Driver::check_exhaustion(const Step& step) const {
  std::int64_t most = 0;
  for (std::size_t i = 0; i < step.batch.slots.size(); ++i) {
    const std::int64_t past = step.batch.past[i];
    most += blocks_for(past + step.batch.count(i), setup_.block_size) - past / setup_.block_size;
  }
  if (!setup_.has_blocks() || free_blocks() >= most) {
    violated("exhaustion", "a step that needs at most " + std::to_string(most) +
                               " blocks found too few, with " + std::to_string(free_blocks()) +
                               " free");
  }
}

Outcome Driver::step(const CheckOp& op, bool computes) {
  const Step step = step_of(op);
  const StepBatch& batch = step.batch;
  if (batch.slots.empty()) {
    return Outcome::Skipped;
  }
  std::vector<KVCache::StepIndices> indices;
  indices.reserve(rigs_.size());
  const Called called = call([&](Rig& rig) {
    indices.push_back(rig.cache.prepare_step(batch.cu_seqlens_q, batch.past, batch.slots));
  });
  if (called == Called::Exhausted) {
    check_exhaustion(step);
    return Outcome::Exhausted;
  }
  if (called == Called::TooDeep) {
    return Outcome::TooDeep;
  }
  if (called == Called::DeviceError) {
    return recover(batch.slots, before_);
  }
  if (called == Called::NoMemory) {
    return Outcome::Failed;
  }
  for (std::size_t i = 0; i < batch.slots.size(); ++i) {
    Session& session = at(batch.slots[i]);
    begin(session);
    const std::int64_t past = batch.past[i];
    if (past < std::ssize(session.tokens)) {
      session.plan.resize(
          std::min<std::size_t>(session.plan.size(), static_cast<std::size_t>(past)));
      session.tokens.resize(static_cast<std::size_t>(past));
    }
    session.committed = past;
    session.reserved = past + batch.count(i);
    session.written_end = std::max(past == 0 ? 0 : session.written_end, session.reserved);
    touched_.push_back(batch.slots[i]);
  }
  spoil_unwritten(step, indices);
  return computes ? compute(step, indices) : Outcome::Done;
}

Outcome Driver::compute(const Step& step, const std::vector<KVCache::StepIndices>& indices) {
  const StepBatch& batch = step.batch;
  const std::uint64_t prepared = digest();
  host_alloc_after_ = -1;  // From here on most allocations are the checker's own.
  std::vector<std::vector<LayerOutput>> seen;
  std::size_t next = 0;
  const Called called = call([&](Rig& rig) {
    const KVCache::StepIndices& mine = indices[next++];
    seen.push_back(run_layers(rig.layers, batch, mine, [&](int layer) {
      return rig.cache.prepare_cross(layer, batch.cu_seqlens_q, batch.slots);
    }));
  });
  if (called == Called::Exhausted || called == Called::TooDeep) {
    violated("refusal", "an operation over a step's rows was refused");
  }
  if (called != Called::Done) {
    for (const auto& rig : rigs_) {
      fault_fired_ = rig->device->heal() || fault_fired_;
      if (rig->cache.digest() != prepared) {
        violated("guarantee", rig->name + ": an operation that raised has changed the cache");
      }
    }
    check_others_are_well({});
    for (const std::int32_t slot : batch.slots) {
      if (has_states_) {  // Some layers' states have moved on, others have not.
        drop(slot, false);
      }
    }
    return Outcome::Failed;
  }
  for (std::size_t i = 0; i < batch.slots.size(); ++i) {
    if (batch.past[i] == 0) {
      plain_.zero_states(batch.slots[i]);
    }
  }
  compare_outputs(step, seen);
  for (std::size_t i = 0; i < batch.slots.size(); ++i) {
    Tokens& tokens = at(batch.slots[i]).tokens;
    tokens.insert(tokens.end(), step.tokens[i].begin(), step.tokens[i].end());
  }
  figures_.appended_tokens += std::ssize(batch.chains);
  return Outcome::Done;
}

void Driver::compare_outputs(const Step& step, const std::vector<std::vector<LayerOutput>>& seen) {
  const std::vector<LayerOutput> expected = plain_.run(step.batch);
  for (std::size_t r = 0; r < seen.size(); ++r) {
    for (std::size_t layer = 0; layer < expected.size(); ++layer) {
      const LayerOutput& mine = seen[r][layer];
      const LayerOutput& right = expected[layer];
      if (mine.size() != right.size()) {
        violated("attention", "layer " + std::to_string(layer) + " gave another number of results");
      }
      std::int64_t differing = 0;
      compare_bytes(reinterpret_cast<const std::byte*>(mine.data()),
                    reinterpret_cast<const std::byte*>(right.data()), mine.size() * sizeof(float),
                    differing);
      if (differing > 0) {
        violated("attention", rigs_[r]->name + ": layer " + std::to_string(layer) + " (" +
                                  to_string(setup_.rows[layer]) + ") gave " +
                                  std::to_string(differing) + " of " + std::to_string(mine.size()) +
                                  " numbers that differ from those of the tokens' history");
      }
    }
  }
  check_exactly(step, expected);
}

// Rows that the step has yet to write are nobody's to read: NaN now, huge the next time.
void Driver::spoil_unwritten(const Step& step, const std::vector<KVCache::StepIndices>& indices) {
  if (!setup_.has_blocks()) {
    return;
  }
  const std::uint8_t byte = figures_.operations % 2 == 0 ? 0xFF : 0x7F;
  for (std::size_t r = 0; r < rigs_.size(); ++r) {
    const Rig& rig = *rigs_[r];
    const auto cells = rig.peek(indices[r].kvcache_start);
    const std::size_t columns = cells.size() / step.batch.slots.size();
    for (std::size_t i = 0; i < step.batch.slots.size(); ++i) {
      const std::int64_t past = step.batch.past[i];
      for (std::int64_t p = past; p < static_cast<std::int64_t>(columns) * setup_.block_size; ++p) {
        const auto cell = static_cast<std::size_t>(p / setup_.block_size);
        const std::int32_t block = cells[i * columns + cell];
        if (block < 0) {
          break;
        }
        if (block >= setup_.blocks) {
          violated("table", rig.name + ": a step was given block " + std::to_string(block) +
                                " of " + std::to_string(setup_.blocks));
        }
        rig.spoil_row(block, p % setup_.block_size, byte);
      }
    }
  }
}

// Commits what was reserved, so everything that is must be written.
Outcome Driver::reserve(const CheckOp& op) {
  const Session& session = this->session(op.slot);
  const std::int64_t length = std::ssize(session.tokens);
  const std::int64_t count = std::min({op.number, setup_.max_step, setup_.max_tokens - length});
  if (!setup_.has_blocks() || count < 0 || session.reserved != length) {
    return Outcome::Skipped;
  }
  const std::vector<std::int32_t> counts{static_cast<std::int32_t>(count)};
  const std::vector<std::int32_t> slots{op.slot};
  const Tensor ids = Tensor::from_values<std::int32_t>(DType::Int32, {1}, slots);
  std::vector<Tensor> offsets;
  offsets.reserve(rigs_.size());
  const Called called = call([&](Rig& rig) { offsets.push_back(rig.cache.reserve(ids, counts)); });
  Step step;
  step.batch.cu_seqlens_q = {0, counts.front()};
  step.batch.past = {static_cast<std::int32_t>(length)};
  step.batch.slots = slots;
  if (called == Called::Exhausted) {
    check_exhaustion(step);
    return Outcome::Exhausted;
  }
  if (called == Called::DeviceError) {
    return recover(slots, before_);
  }
  if (called != Called::Done) {
    return Outcome::Failed;
  }
  for (std::size_t r = 0; r < rigs_.size(); ++r) {
    const std::int32_t offset = rigs_[r]->peek(offsets[r]).front();
    ++figures_.compared_words;
    if (offset != length) {
      ++figures_.differing_words;
      violated("lengths", rigs_[r]->name + ": reserve gave offset " + std::to_string(offset) +
                              ", expected " + std::to_string(length));
    }
  }
  Session& reserved = at(op.slot);
  begin(reserved);
  reserved.committed = length;
  reserved.reserved = length + count;
  reserved.written_end = std::max(length == 0 ? 0 : reserved.written_end, reserved.reserved);
  touched_.push_back(op.slot);
  return Outcome::Done;
}

}  // namespace octavo::sim::check
