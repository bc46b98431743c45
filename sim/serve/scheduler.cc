// How a replica plans a step: running decodes first, then prompts that are under way, then new
// ones, as long as there are tokens in the budget and blocks in the pool. Who runs and finds no
// block takes those of the least urgent running request, be it itself.

#include <algorithm>
#include <limits>
#include <numeric>
#include <string>

#include "octavo/error.h"
#include "replica.h"
#include "speculation.h"

namespace octavo::sim {
namespace {

std::int32_t narrow(std::int64_t value) {
  return static_cast<std::int32_t>(value);
}

}  // namespace

bool Replica::begin_step(std::int64_t now_ns) {
  budget_ = config_.max_num_batched_tokens;
  demand_ = 0;
  preempted_ = false;
  prefill_fed_.assign(prefills_.size(), 0);
  prefill_need_.assign(prefills_.size(), 0);
  plan_decodes();
  plan_prefills();
  if (!preempted_) {
    admit_waiting();
  }
  forget_gone();
  if (budget_ == config_.max_num_batched_tokens) {
    if (running() > 0 || !waiting_.empty()) {
      throw Error(ErrorCode::Internal, "simulate: replica " + std::to_string(index_) +
                                           " has requests and finds nothing to do");
    }
    return false;
  }

  prepare_batch();
  ServingStep step;
  step.replica = index_;
  step.begin_ns = now_ns;
  step.shape = shape();
  const std::int64_t time_ns = cost_.step_time_ns(step.shape);
  if (time_ns < 1 || time_ns > std::numeric_limits<std::int64_t>::max() - now_ns) {
    throw Error(ErrorCode::InvalidArgument,
                "simulate: a step of " + std::to_string(time_ns) + " ns at " +
                    std::to_string(now_ns) + " ns; it must be at least 1 and end within 64 bits");
  }
  step.end_ns = now_ns + time_ns;
  for (std::size_t i = 0; i < prefills_.size(); ++i) {
    if (prefill_fed_[i] > 0 && prefills_[i]->report.scheduled_ns < 0) {
      prefills_[i]->report.scheduled_ns = now_ns;
    }
  }
  step_ = step;
  return true;
}

void Replica::plan_decodes() {
  const std::int64_t without_room = decodes_.without_room();
  const auto count = static_cast<std::int64_t>(decodes_.size());
  uniform_ = config_.draft_tokens == 0 && count <= budget_ && can_get(without_room);
  if (uniform_) {
    budget_ -= count;
    demand_ += without_room;
    return;
  }
  decode_fed_.assign(decodes_.size(), 0);
  decode_need_.assign(decodes_.size(), 0);
  for (std::size_t i = 0; i < decodes_.size() && budget_ > 0; ++i) {
    if (decodes_.gone(i)) {
      continue;
    }
    const std::int64_t fed = std::min(fed_tokens(config_.draft_tokens, decodes_.left(i)), budget_);
    const std::int64_t bound = decodes_.room(i) / config_.block_size;
    const std::int64_t blocks = std::max(bound, blocks_for(decodes_.past(i) + fed));
    if (!make_room(blocks - bound, decodes_.request(i))) {
      continue;
    }
    decodes_.set_room(i, blocks * config_.block_size);
    decode_fed_[i] = narrow(fed);
    decode_need_[i] = narrow(blocks - bound);
    budget_ -= fed;
    demand_ += blocks - bound;
  }
}

void Replica::plan_prefills() {
  for (std::size_t i = 0; i < prefills_.size() && budget_ > 0; ++i) {
    if (prefills_[i] == nullptr) {
      continue;
    }
    const Request& request = *prefills_[i];
    const std::int64_t fed = chunk(request.target - request.past);
    const std::int64_t need =
        std::max<std::int64_t>(0, blocks_for(request.past + fed) - bound_blocks(request));
    if (!make_room(need, request)) {
      continue;
    }
    prefill_fed_[i] = narrow(fed);
    prefill_need_[i] = narrow(need);
    budget_ -= fed;
    demand_ += need;
  }
}

void Replica::admit_waiting() {
  while (!waiting_.empty() && budget_ > 0 && running() < config_.max_num_seqs) {
    if (!admit_head(free_slots_.back())) {
      return;
    }
  }
}

// Admits the most urgent waiting request when the pool has the blocks of its first chunk.
bool Replica::admit_head(int slot) {
  Request& request = waiting_.head();
  const std::int64_t target = request.source.input_tokens + request.emitted;
  const auto prompt = tokens(request, slot).first(static_cast<std::size_t>(target));
  const CachedPrefix cached = manager_.cached_prefix(prompt, addressable(request));
  const std::int64_t held = cached.tokens / config_.block_size;
  const std::int64_t first = chunk(target - cached.tokens);
  if (!can_get(cached.parked_blocks + blocks_for(cached.tokens + first) - held)) {
    return false;
  }

  const std::int64_t served = manager_.admit(slot, prompt, addressable(request));
  request.slot = slot;
  const std::int64_t fed = chunk(target - served);
  const std::int64_t need =
      std::max<std::int64_t>(0, blocks_for(served + fed) - bound_blocks(request));
  if (!can_get(need)) {
    manager_.evict(slot);  // The copy of a partial key found no block (N12): whole blocks only.
    request.slot = -1;
    return false;
  }
  waiting_.erase(request);
  free_slots_.pop_back();
  request.stage = Stage::Prefill;
  request.past = request.served = served;
  request.target = target;
  if (request.report.scheduled_ns < 0) {
    request.report.cached_tokens = served;
  } else {
    request.report.later_cached_tokens += std::max<std::int64_t>(0, served - request.held_max);
  }
  prefills_.push_back(&request);
  prefill_fed_.push_back(narrow(fed));
  prefill_need_.push_back(narrow(need));
  budget_ -= fed;
  demand_ += need;
  return true;
}

// Tokens of a prompt that the step takes when `left` are not computed.
std::int64_t Replica::chunk(std::int64_t left) const noexcept {
  const std::int64_t most = std::min(left, budget_);
  return config_.max_prefill_chunk > 0 ? std::min(most, config_.max_prefill_chunk) : most;
}

// Preempts until the pool has the blocks. False: `wanted_by` itself had to go.
bool Replica::make_room(std::int64_t blocks, const Request& wanted_by) {
  while (!can_get(blocks)) {
    preempt_least_urgent();
    if (wanted_by.stage == Stage::Waiting) {
      return false;
    }
  }
  return true;
}

// Its blocks go back, what the step had planned for it too, and it waits again with what it has
// generated as a part of its prompt.
void Replica::preempt_least_urgent() {
  const MoreUrgent more_urgent{config_.order};
  Request* victim = nullptr;
  const auto consider = [&](Request* request) {
    if (request != nullptr && (victim == nullptr || more_urgent(victim, request))) {
      victim = request;
    }
  };
  for (std::size_t i = 0; i < decodes_.size(); ++i) {
    consider(decodes_.gone(i) ? nullptr : &decodes_.request(i));
  }
  std::for_each(prefills_.begin(), prefills_.end(), consider);
  if (victim == nullptr) {
    throw Error(ErrorCode::Internal, "simulate: no request is left to be preempted");
  }

  if (victim->stage == Stage::Decode) {
    std::size_t i = 0;
    while (decodes_.gone(i) || &decodes_.request(i) != victim) {
      ++i;
    }
    const bool edge = decodes_.past(i) == decodes_.room(i);
    budget_ += uniform_ ? 1 : decode_fed_[i];
    demand_ -= uniform_ ? (edge ? 1 : 0) : decode_need_[i];
    decodes_.leave(i);
    if (!uniform_) {
      decode_fed_[i] = 0;
    }
  } else {
    const auto at = std::find(prefills_.begin(), prefills_.end(), victim) - prefills_.begin();
    const auto i = static_cast<std::size_t>(at);
    budget_ += prefill_fed_[i];
    demand_ -= prefill_need_[i];
    prefills_[i] = nullptr;
    prefill_fed_[i] = 0;
  }
  manager_.evict(victim->slot);
  leave_slot(*victim);
  victim->stage = Stage::Waiting;
  ++victim->report.preemptions;
  waiting_.push(*victim);
  preempted_ = true;
  listener_.on_preempted(*victim);
}

// Takes out of the batch who was preempted while it was planned.
void Replica::forget_gone() {
  if (!preempted_) {
    return;
  }
  if (!uniform_) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < decodes_.size(); ++i) {
      if (!decodes_.gone(i)) {
        decode_fed_[kept++] = decode_fed_[i];
      }
    }
    decode_fed_.resize(kept);
  }
  decodes_.compact();
  std::size_t kept = 0;
  for (std::size_t i = 0; i < prefills_.size(); ++i) {
    if (prefills_[i] != nullptr) {
      prefill_fed_[kept] = prefill_fed_[i];
      prefills_[kept++] = prefills_[i];
    }
  }
  prefills_.resize(kept);
  prefill_fed_.resize(kept);
}

void Replica::prepare_batch() {
  cu_seqlens_q_.assign(1, 0);
  slots_.clear();
  past_len_.clear();
  const auto add = [&](std::int32_t slot, std::int64_t past, std::int32_t fed) {
    slots_.push_back(slot);
    past_len_.push_back(narrow(past));
    cu_seqlens_q_.push_back(cu_seqlens_q_.back() + fed);
  };
  if (uniform_) {
    slots_.assign(decodes_.slots().begin(), decodes_.slots().end());
    past_len_.assign(decodes_.pasts().begin(), decodes_.pasts().end());
    cu_seqlens_q_.resize(decodes_.size() + 1);
    std::iota(cu_seqlens_q_.begin(), cu_seqlens_q_.end(), 0);
  } else {
    for (std::size_t i = 0; i < decodes_.size(); ++i) {
      if (decode_fed_[i] > 0) {
        add(decodes_.slots()[i], decodes_.past(i), decode_fed_[i]);
      }
    }
  }
  for (std::size_t i = 0; i < prefills_.size(); ++i) {
    if (prefill_fed_[i] > 0) {
      add(prefills_[i]->slot, prefills_[i]->past, prefill_fed_[i]);
    }
  }
  manager_.prepare_step(cu_seqlens_q_, past_len_, slots_);
}

StepShape Replica::shape() const {
  const std::span<const std::int64_t> spans = cost_.spans();
  StepShape shape;
  if (uniform_) {
    shape.decode_sequences = shape.decode_tokens = static_cast<std::int64_t>(decodes_.size());
    for (std::size_t i = 0; i < spans.size(); ++i) {
      shape.read_tokens[i] = shape.attended_pairs[i] = decodes_.sums().tokens(i);
    }
  } else {
    for (std::size_t i = 0; i < decodes_.size(); ++i) {
      shape.decode_sequences += decode_fed_[i] > 0 ? 1 : 0;
      shape.decode_tokens += decode_fed_[i];
      if (decode_fed_[i] > 0) {
        add_sequence(spans, decodes_.past(i), decode_fed_[i], shape);
      }
    }
  }
  for (std::size_t i = 0; i < prefills_.size(); ++i) {
    if (prefill_fed_[i] > 0) {
      shape.prefill_sequences += 1;
      shape.prefill_tokens += prefill_fed_[i];
      add_sequence(spans, prefills_[i]->past, prefill_fed_[i], shape);
    }
  }
  return shape;
}

}  // namespace octavo::sim
