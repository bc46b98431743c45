#include "replica.h"

#include <algorithm>
#include <set>
#include <string>

#include "octavo/error.h"
#include "speculation.h"

namespace octavo::sim {
namespace {

constexpr std::int64_t kTokensMax = 2147483647;

BlockManagerConfig manager_config(const ServingConfig& config) {
  BlockManagerConfig manager;
  manager.num_blocks = config.num_blocks;
  manager.block_size = config.block_size;
  manager.max_seqs = config.max_num_seqs;
  manager.prefix_caching = config.prefix_caching;
  manager.partial_keys = !config.full_blocks_only;
  manager.policy = config.policy;
  return manager;
}

// No sequence has more positions: the pool's, or what the blocks' end leaves of 31 bits.
std::int64_t longest(const ServingConfig& config) {
  return std::min(config.num_blocks * config.block_size, kTokensMax - config.block_size);
}

}  // namespace

Replica::Replica(int index,
                 const ServingConfig& config,
                 const StepCost& cost,
                 Rng rng,
                 ReplicaListener& listener)
    : index_(index),
      config_(config),
      cost_(cost),
      listener_(listener),
      rng_(rng),
      manager_(manager_config(config)),
      waiting_(config.order),
      decodes_(cost.spans(), longest(config)),
      slot_tokens_(static_cast<std::size_t>(config.max_num_seqs)),
      slot_owner_(static_cast<std::size_t>(config.max_num_seqs), -1) {
  for (int slot = config.max_num_seqs - 1; slot >= 0; --slot) {
    free_slots_.push_back(slot);
  }
}

bool Replica::fits(const Request& request, const ServingConfig& config) noexcept {
  const TraceRequest& source = request.source;
  if (source.input_tokens > kTokensMax || source.output_tokens > kTokensMax) {
    return false;
  }
  const bool too_long =
      config.max_model_len > 0 && source.input_tokens + source.output_tokens > config.max_model_len;
  return !too_long && request.positions() <= longest(config);
}

// The request's tokens, made once a stay in a slot.
std::span<const std::int32_t> Replica::tokens(const Request& request, int slot) {
  const auto index = static_cast<std::size_t>(slot);
  const auto length = static_cast<std::size_t>(request.positions());
  std::vector<std::int32_t>& tokens = slot_tokens_[index];
  if (slot_owner_[index] != request.report.request) {
    tokens.resize(std::max(tokens.size(), length));
    request.names.write(0, request.positions(), tokens.data());
    slot_owner_[index] = request.report.request;
  }
  return {tokens.data(), length};
}

void Replica::warm_up(const Request& request) {
  const int slot = free_slots_.back();
  const auto history = tokens(request, slot);
  const auto prompt = history.first(static_cast<std::size_t>(request.source.input_tokens));
  const auto past = static_cast<std::int32_t>(manager_.admit(slot, prompt, addressable(request)));
  const std::int32_t cu_seqlens_q[] = {0, static_cast<std::int32_t>(history.size()) - past};
  manager_.prepare_step(cu_seqlens_q, {&past, 1}, {&slot, 1});
  manager_.retire(slot, history, addressable(request));
}

std::int64_t Replica::cached_tokens(std::span<const std::int32_t> prompt) const {
  return manager_.cached_prefix(prompt).tokens;
}

void Replica::enqueue(Request& request) {
  request.order = arrived_++;
  request.stage = Stage::Waiting;
  request.report.replica = index_;
  load_ += request.source.input_tokens;
  waiting_.push(request);
}

void Replica::give_up(Request& request) {
  if (request.stage == Stage::Waiting) {
    waiting_.erase(request);
    load_ -= request.source.input_tokens;
    listener_.on_ended(request, RequestOutcome::Cancelled);
    return;
  }
  request.given_up = true;
  ++given_up_;
  if (!busy()) {  // Between two steps of the same instant.
    end_decodes();
    end_prefills();
  }
}

// --- The results of a step ---

ServingStep Replica::end_step() {
  ServingStep step = *step_;
  step_.reset();
  ++steps_;
  busy_ns_ += step.end_ns - step.begin_ns;

  decode_results();
  prefill_results(step.end_ns);

  step.waiting_requests = waiting_.size();
  step.running_requests = running();
  step.parked_blocks = manager_.parked_blocks();
  step.free_blocks = manager_.free_blocks() - step.parked_blocks;
  step.live_blocks = manager_.num_blocks() - manager_.free_blocks();
  if (config_.audit_every > 0 && steps_ % config_.audit_every == 0) {
    audit();
  }
  return step;
}

void Replica::decode_results() {
  bool some_end = given_up_ > 0;
  if (uniform_) {
    some_end |= decodes_.advance_all(config_.block_size);
  } else {
    for (std::size_t i = 0; i < decodes_.size(); ++i) {
      speculate(i);
      some_end |= decodes_.left(i) == 0;
    }
  }
  if (some_end) {
    end_decodes();
  }
}

// What the drafts of a sequence came to.
void Replica::speculate(std::size_t i) {
  const std::int64_t fed = decode_fed_[i];
  if (fed == 0) {
    return;
  }
  const std::int64_t drafts = fed - 1;
  const std::int64_t accepted = accepted_drafts(drafts, config_.accept_millionths, rng_);
  decodes_.advance(i, static_cast<std::int32_t>(accepted + 1));
  if (accepted < drafts) {
    manager_.update_position(decodes_.slots()[i], decodes_.past(i));
  }
  ServedRequest& report = decodes_.request(i).report;
  report.draft_tokens += drafts;
  report.rejected_draft_tokens += drafts - accepted;
}

void Replica::end_decodes() {
  for (std::size_t i = 0; i < decodes_.size(); ++i) {
    Request& request = decodes_.request(i);
    if (decodes_.left(i) == 0 || request.given_up) {
      decodes_.leave(i);
      end(request);
    }
  }
  decodes_.compact();
}

void Replica::prefill_results(std::int64_t now_ns) {
  for (std::size_t i = 0; i < prefills_.size(); ++i) {
    Request& request = *prefills_[i];
    if (prefill_fed_[i] == 0) {
      continue;
    }
    request.past += prefill_fed_[i];
    manager_.update_position(request.slot, request.past);  // Servable from the next step on.
    if (request.past < request.target || request.source.output_tokens == 0) {
      continue;
    }
    if (request.emitted++ == 0) {
      request.report.first_token_ns = now_ns;
    }
  }
  end_prefills();
}

// Whether nothing is left to do for a request whose state is its own.
bool Replica::over(const Request& request) const noexcept {
  return request.past >= request.source.input_tokens &&
         request.emitted == request.source.output_tokens;
}

// Prompts that are done go on to generate, or end.
void Replica::end_prefills() {
  std::size_t kept = 0;
  for (Request* request : prefills_) {
    if (over(*request) || request->given_up) {
      end(*request);
    } else if (request->past == request->target) {
      request->stage = Stage::Decode;
      decodes_.join(*request, bound_blocks(*request) * config_.block_size);
    } else {
      prefills_[kept++] = request;
    }
  }
  prefills_.resize(kept);
}

void Replica::end(Request& request) {
  const bool finished = over(request);
  const auto history = tokens(request, request.slot);
  if (finished) {
    manager_.retire(request.slot, history.first(static_cast<std::size_t>(request.past)),
                    addressable(request));
  } else {
    manager_.evict(request.slot);
  }
  leave_slot(request);
  given_up_ -= request.given_up ? 1 : 0;
  load_ -= request.source.input_tokens;
  listener_.on_ended(request, finished ? RequestOutcome::Finished : RequestOutcome::Cancelled);
}

// The slot is free again; what the stay in it computed is booked.
void Replica::leave_slot(Request& request) {
  ServedRequest& report = request.report;
  const std::int64_t known = std::max(request.held_max, request.served);
  report.computed_tokens += std::max<std::int64_t>(0, request.past - known);
  report.recomputed_tokens +=
      std::max<std::int64_t>(0, std::min(request.past, request.held_max) - request.served);
  report.output_tokens = request.emitted;
  request.held_max = std::max(request.held_max, request.past);
  free_slots_.push_back(request.slot);
  request.slot = -1;
}

std::int64_t Replica::running() const noexcept {
  return config_.max_num_seqs - static_cast<std::int64_t>(free_slots_.size());
}

ServingReplica Replica::result() const {
  ServingReplica result;
  result.steps = steps_;
  result.busy_ns = busy_ns_;
  result.requests = arrived_;
  result.blocks = manager_.stats();
  result.free_blocks = manager_.free_blocks();
  result.parked_blocks = manager_.parked_blocks();
  result.block_digest = manager_.digest();
  return result;
}

void Replica::audit() const {
  manager_.audit();
  const auto demand = [&](bool holds, const char* what) {
    if (!holds) {
      throw Error(ErrorCode::Internal, "simulate: replica " + std::to_string(index_) + ": " + what);
    }
  };
  std::set<int> slots(free_slots_.begin(), free_slots_.end());
  const auto check = [&](const Request& request, std::int64_t past) {
    demand(slots.insert(request.slot).second, "a slot has two owners");
    demand(manager_.reserved_len(request.slot) >= past, "a request holds more than its slot");
    demand(past <= request.positions(), "a request holds more than it may");
  };
  for (std::size_t i = 0; i < decodes_.size(); ++i) {
    check(decodes_.request(i), decodes_.past(i));
    demand(decodes_.room(i) ==
               bound_blocks(decodes_.request(i)) * static_cast<std::int64_t>(config_.block_size),
           "a sequence has another room than its blocks");
  }
  for (const Request* request : prefills_) {
    check(*request, request->past);
  }
  demand(static_cast<int>(slots.size()) == config_.max_num_seqs, "a slot was lost");
}

}  // namespace octavo::sim
