// The naive simulation: how a step is planned, begun and ended.

#include <algorithm>
#include <limits>

#include "naive_serving.h"
#include "serving_testing.h"

namespace octavo::sim {

using testkit::Tokens;

bool NaiveServing::get(Replica& replica, std::int64_t need, int wanted_by) {
  const auto free = [&] {
    return replica.blocks.unused_blocks() + std::ssize(replica.blocks.parked());
  };
  while (replica.demand + need > free()) {
    preempt(replica);
    if (at(wanted_by).state == State::Waiting) {
      return false;
    }
  }
  Request& request = at(wanted_by);
  request.need = need;
  replica.demand += need;
  replica.budget -= request.fed;
  return true;
}

void NaiveServing::preempt(Replica& replica) {
  int victim = -1;
  for (const std::vector<int>* running : {&replica.prefills, &replica.decodes}) {
    for (const int candidate : *running) {
      victim = victim < 0 || more_urgent(victim, candidate) ? candidate : victim;
    }
  }
  Request& request = at(victim);
  // What it was to feed is given back, if it was counted already.
  replica.budget += request.need < 0 ? 0 : request.fed;
  replica.demand -= request.need < 0 ? 0 : request.need;
  replica.blocks.evict(request.slot);
  leave(replica, victim);
  request.fed = 0;
  request.state = State::Waiting;
  ++request.report.preemptions;
  std::erase(replica.prefills, victim);
  std::erase(replica.decodes, victim);
  replica.waiting.push_back(victim);
  replica.preempted = true;
  lines_.push_back(preempted_line(victim, request.report.replica, now_ns_));
}

// What a running request feeds, as far as the budget goes.
void NaiveServing::plan_running(Replica& replica, int index) {
  Request& request = at(index);
  if (request.state == State::Waiting || replica.budget == 0) {
    return;
  }
  std::int64_t left = request.target - request.past;
  if (request.state == State::Decode) {
    left = std::min<std::int64_t>(1 + config_.draft_tokens,
                                  request.source.output_tokens - request.emitted);
  } else if (config_.max_prefill_chunk > 0) {
    left = std::min(left, config_.max_prefill_chunk);
  }
  request.fed = std::min(left, replica.budget);
  const std::int64_t bound =
      std::ssize(replica.blocks.slots()[static_cast<std::size_t>(request.slot)].cells);
  get(replica, std::max<std::int64_t>(0, blocks_for(request.past + request.fed) - bound), index);
}

void NaiveServing::plan(int index) {
  Replica& replica = replicas_[static_cast<std::size_t>(index)];
  replica.budget = config_.max_num_batched_tokens;
  replica.demand = 0;
  replica.preempted = false;
  for (Request& request : requests_) {
    if (request.report.replica == index) {
      request.fed = 0;
      request.need = -1;
    }
  }
  for (const std::vector<int>& running : {replica.decodes, replica.prefills}) {
    for (const int i : running) {
      plan_running(replica, i);
    }
  }
  while (!replica.preempted && !replica.waiting.empty() && replica.budget > 0 &&
         !replica.free_slots.empty()) {
    const std::size_t waiting = replica.waiting.size();
    admit(replica);
    if (replica.waiting.size() == waiting) {
      break;
    }
  }
  begin_step(replica, index);
}

void NaiveServing::begin_step(Replica& replica, int index) {
  ServingStep step;
  step.replica = index;
  step.begin_ns = now_ns_;
  std::vector<std::int32_t> counts = {0};
  std::vector<std::int32_t> past;
  std::vector<std::int32_t> slots;
  for (const std::vector<int>* running : {&replica.decodes, &replica.prefills}) {
    for (const int i : *running) {
      Request& request = at(i);
      if (request.fed == 0) {
        continue;
      }
      const bool decode = request.state == State::Decode;
      (decode ? step.shape.decode_sequences : step.shape.prefill_sequences) += 1;
      (decode ? step.shape.decode_tokens : step.shape.prefill_tokens) += request.fed;
      for (std::size_t s = 0; s < cost_.spans().size(); ++s) {
        const std::int64_t span =
            cost_.spans()[s] == 0 ? std::numeric_limits<std::int32_t>::max() : cost_.spans()[s];
        for (std::int64_t p = request.past + 1; p <= request.past + request.fed; ++p) {
          step.shape.attended_pairs[s] += std::min(p, span);
        }
        step.shape.read_tokens[s] += std::min(request.past + request.fed, span + request.fed - 1);
      }
      if (request.report.scheduled_ns < 0) {
        request.report.scheduled_ns = now_ns_;
      }
      counts.push_back(counts.back() + static_cast<std::int32_t>(request.fed));
      past.push_back(static_cast<std::int32_t>(request.past));
      slots.push_back(request.slot);
    }
  }
  if (slots.empty()) {
    return;
  }
  replica.blocks.prepare_step(counts, past, slots);
  step.end_ns = now_ns_ + cost_.step_time_ns(step.shape);
  replica.step = step;
  replica.stepping = true;
}

void NaiveServing::admit(Replica& replica) {
  int chosen = replica.waiting.front();
  for (const int candidate : replica.waiting) {
    chosen = more_urgent(candidate, chosen) ? candidate : chosen;
  }
  Request& request = at(chosen);
  const std::int64_t target = request.source.input_tokens + request.emitted;
  const Tokens prompt(request.tokens.begin(), request.tokens.begin() + target);
  const auto fed = [&](std::int64_t left) {
    const std::int64_t most = std::min(left, replica.budget);
    return config_.max_prefill_chunk > 0 ? std::min(most, config_.max_prefill_chunk) : most;
  };
  const auto free = [&] {
    return replica.blocks.unused_blocks() + std::ssize(replica.blocks.parked());
  };
  const Lookup cached = look_up(replica, prompt, addressable(request));
  const std::int64_t need =
      blocks_for(cached.tokens + fed(target - cached.tokens)) - cached.tokens / config_.block_size;
  if (replica.demand + cached.parked + need > free()) {
    return;
  }
  const int slot = replica.free_slots.back();
  const std::int64_t served = replica.blocks.admit(slot, prompt, addressable(request));
  const std::int64_t bound =
      std::ssize(replica.blocks.slots()[static_cast<std::size_t>(slot)].cells);
  request.fed = fed(target - served);
  request.need = std::max<std::int64_t>(0, blocks_for(served + request.fed) - bound);
  if (replica.demand + request.need > free()) {
    replica.blocks.evict(slot);
    request.fed = 0;
    return;
  }
  replica.free_slots.pop_back();
  std::erase(replica.waiting, chosen);
  replica.prefills.push_back(chosen);
  replica.budget -= request.fed;
  replica.demand += request.need;
  request.state = State::Prefill;
  request.slot = slot;
  request.past = request.served = served;
  request.target = target;
  if (request.report.scheduled_ns < 0) {
    request.report.cached_tokens = served;
  } else {
    request.report.later_cached_tokens += std::max<std::int64_t>(0, served - request.held);
  }
}

void NaiveServing::end_step(int index) {
  Replica& replica = replicas_[static_cast<std::size_t>(index)];
  replica.stepping = false;
  replica.wants_plan = true;
  for (const int i : replica.decodes) {
    Request& request = at(i);
    if (request.fed == 0) {
      continue;
    }
    std::int64_t accepted = 0;
    while (accepted < request.fed - 1 &&
           replica.rng.chance(static_cast<std::uint64_t>(config_.accept_millionths), kMillion)) {
      ++accepted;
    }
    request.report.draft_tokens += request.fed - 1;
    request.report.rejected_draft_tokens += request.fed - 1 - accepted;
    request.past += accepted + 1;
    request.emitted += accepted + 1;
    if (accepted < request.fed - 1) {
      replica.blocks.update_position(request.slot, request.past);
    }
  }
  const auto end_some = [&](const std::vector<int>& running) {
    for (const int i : running) {
      const Request& request = at(i);
      const bool done = request.past >= request.source.input_tokens &&
                        request.emitted == request.source.output_tokens;
      if (done || request.given_up) {
        end(i, done ? RequestOutcome::Finished : RequestOutcome::Cancelled);
      }
    }
  };
  end_some(std::vector<int>(replica.decodes));
  for (const int i : replica.prefills) {
    Request& request = at(i);
    request.past += request.fed;
    if (request.fed > 0) {
      replica.blocks.update_position(request.slot, request.past);
    }
    if (request.past == request.target && request.source.output_tokens > 0) {
      request.emitted += 1;
      if (request.emitted == 1) {
        request.report.first_token_ns = now_ns_;
      }
    }
  }
  end_some(std::vector<int>(replica.prefills));
  for (const int i : std::vector<int>(replica.prefills)) {
    if (at(i).past == at(i).target) {
      at(i).state = State::Decode;
      std::erase(replica.prefills, i);
      replica.decodes.push_back(i);
    }
  }
  ServingStep& step = replica.step;
  step.waiting_requests = std::ssize(replica.waiting);
  step.running_requests = std::ssize(replica.prefills) + std::ssize(replica.decodes);
  step.parked_blocks = std::ssize(replica.blocks.parked());
  step.free_blocks = replica.blocks.unused_blocks();
  step.live_blocks = config_.num_blocks - step.parked_blocks - step.free_blocks;
  lines_.push_back(line_of(step));
}

}  // namespace octavo::sim
