#include "scheduler.h"

#include <algorithm>

#include "index.h"

namespace octavo::sim::check {
namespace {

constexpr int kTriesMax = 9;  // After so many failures a job is given up.

}  // namespace

Scheduler::Scheduler(
    const Swarm& swarm, Rng rng, bool has_host_allocations, Driver& driver, CheckLog& log)
    : swarm_(swarm),
      rng_(rng),
      has_host_allocations_(has_host_allocations),
      driver_(driver),
      log_(log),
      places_(index(swarm.setup.slots)),
      reject_(index(swarm.setup.slots), 0) {}

Outcome Scheduler::apply(const CheckOp& op) {
  log_.ops.push_back(op);
  CheckOp& noted = log_.ops.back();
  const bool calls_device =
      op.verb == CheckVerb::Admit || op.verb == CheckVerb::Step || op.verb == CheckVerb::Fill;
  if (calls_device) {
    noted.device_after = armed_.device_after;
    noted.alloc_after = armed_.alloc_after;
    noted.host_alloc_after = armed_.host_alloc_after;
    armed_ = {};
  }
  return driver_.apply(noted);
}

void Scheduler::run(const std::vector<CheckRequest>& requests,
                    const std::function<void(std::int64_t, std::int64_t)>& progress) {
  for (const CheckRequest& request : requests) {
    Job job{.request = &request};
    job.target = token_count(request.prompt) + token_count(request.output);
    waiting_.push_back(job);
  }
  while (!waiting_.empty() || is_busy()) {
    admit_waiting();
    if (swarm_.fault_every > 0 && rng_.chance(1, index(swarm_.fault_every))) {
      mishap();
    }
    if (swarm_.rare_every > 0 && rng_.chance(1, index(swarm_.rare_every))) {
      rare();
    }
    step();
    finish();
    if (progress) {
      progress(finished_, std::ssize(requests));
    }
  }
  apply({.verb = CheckVerb::Verify});
  apply({.verb = CheckVerb::Reset});
  apply({.verb = CheckVerb::Verify});
}

bool Scheduler::is_busy() const {
  return std::any_of(places_.begin(), places_.end(),
                     [](const Place& place) { return place.has_value(); });
}

// --- Beginnings and ends ---

// Prompts of a session come one after another, as far as eight requests ahead can tell.
void Scheduler::admit_waiting() {
  if (hold_ && is_busy()) {
    return;
  }
  hold_ = false;
  for (int slot = 0; slot < swarm_.setup.slots; ++slot) {
    if (places_[index(slot)] || waiting_.empty() || driver_.session(slot).active) {
      continue;
    }
    std::size_t chosen = 0;
    for (std::size_t i = 0; i < std::min<std::size_t>(8, waiting_.size()); ++i) {
      const auto& session = waiting_[i].request->session;
      const bool is_running =
          session && std::any_of(places_.begin(), places_.end(), [&](const Place& place) {
            return place && place->request->session == session;
          });
      if (!is_running) {
        chosen = i;
        break;
      }
    }
    const Job job = waiting_[chosen];
    waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(chosen));
    admit(slot, job);
  }
}

void Scheduler::admit(int slot, Job job) {
  if (draws(swarm_.other_namespaces)) {
    const std::int64_t id = rng_.between(1, kNamespaces - 1);
    apply({.verb = CheckVerb::Namespace, .slot = slot, .number = id});
    if (swarm_.rare_every > 0 && rng_.chance(1, 16)) {  // What it was given is stale at once.
      apply({.verb = CheckVerb::Invalidate, .number = id});
    }
  }
  if (swarm_.setup.has(CheckRowKind::Cross)) {
    apply({.verb = CheckVerb::Fill, .slot = slot, .number = rng_.between(0, kEncoders - 1)});
  }
  CheckOp op{.verb = CheckVerb::Admit, .slot = slot, .prompt = job.request->prompt};
  if (draws(swarm_.partial_addressable)) {
    op.addressable = rng_.between(0, token_count(op.prompt));
  }
  const Outcome outcome = apply(op);
  job.order = ++admitted_;
  if (outcome == Outcome::Exhausted) {
    dropped_ += job.is_twin ? 0 : 1;
    return;
  }
  places_[index(slot)] = job;
  if (outcome == Outcome::Failed) {
    give_back(slot, true);
  }
}

// The slot's job waits again, unless it has failed too often.
void Scheduler::give_back(int slot, bool counts) {
  Job job = *places_[index(slot)];
  places_[index(slot)].reset();
  reject_[index(slot)] = 0;
  job.mishaps += counts ? 1 : 0;
  if (job.is_twin) {
    return;
  }
  if (job.mishaps > kTriesMax) {
    ++dropped_;
  } else {
    waiting_.push_front(job);
  }
}

void Scheduler::finish() {
  for (int slot = 0; slot < swarm_.setup.slots; ++slot) {
    const Place& place = places_[index(slot)];
    const Session& session = driver_.session(slot);
    if (!place || std::ssize(session.tokens) - reject_[index(slot)] < place->target) {
      continue;
    }
    CheckOp op{.verb = CheckVerb::Retire, .slot = slot, .number = reject_[index(slot)]};
    if (has_host_allocations_ && armed_.host_alloc_after >= 0) {
      op.host_alloc_after = armed_.host_alloc_after;
      armed_.host_alloc_after = -1;
    }
    if (draws(swarm_.boundary_chance)) {
      for (std::int64_t i = rng_.between(1, 5); i > 0; --i) {
        op.boundaries.push_back(rng_.between(0, swarm_.setup.max_tokens));
      }
    }
    if (apply(op) == Outcome::Failed) {
      continue;  // Once more, the next time.
    }
    finished_ += place->is_twin ? 0 : 1;
    places_[index(slot)].reset();
    reject_[index(slot)] = 0;
    hold_ = false;
  }
}

// --- Steps ---

std::int32_t Scheduler::next_token(const Job& job, std::int64_t position) const {
  std::int64_t left = position;
  for (const auto* runs : {&job.request->prompt, &job.request->output}) {
    for (const TokenRun& run : *runs) {
      if (left < run.count) {
        return run.first + static_cast<std::int32_t>(left);
      }
      left -= run.count;
    }
  }
  return kGeneratedTokens - 1 - static_cast<std::int32_t>(left);
}

CheckStepEntry Scheduler::entry_of(int slot) {
  const Job& job = *places_[index(slot)];
  const Session& session = driver_.session(slot);
  CheckStepEntry entry{.slot = slot};
  const bool is_draft = reject_[index(slot)] > 0;
  entry.back = is_draft ? reject_[index(slot)] : 0;
  reject_[index(slot)] = 0;
  const std::int64_t length = std::ssize(session.tokens) - entry.back;
  const std::int64_t planned = std::ssize(session.plan) - length;
  if (planned > 0 && entry.back > 0) {  // From here on it goes another way.
    entry.token = kGeneratedTokens - 1 - static_cast<std::int32_t>(rng_.below(1 << 20));
    return entry;
  }
  if (planned > 0) {
    entry.count = static_cast<std::int32_t>(std::min(planned, rng_.between(1, swarm_.chunk)));
    return entry;
  }
  entry.token = next_token(job, length);
  const std::int64_t left = job.target - length;
  if (swarm_.drafts > 0 && left > 1) {
    entry.count = static_cast<std::int32_t>(
        1 + rng_.between(0, std::min({swarm_.drafts, left - 1, swarm_.setup.max_step - 1})));
    reject_[index(slot)] = static_cast<std::int32_t>(rng_.between(0, entry.count - 1));
  }
  return entry;
}

std::vector<CheckStepEntry> Scheduler::batch() {
  std::vector<CheckStepEntry> entries;
  const bool is_partial = rng_.chance(1, 8);
  for (int slot = 0; slot < swarm_.setup.slots; ++slot) {
    const Place& place = places_[index(slot)];
    if (place && (!is_partial || rng_.chance(1, 2)) &&
        std::ssize(driver_.session(slot).tokens) - reject_[index(slot)] < place->target) {
      entries.push_back(entry_of(slot));
    }
  }
  return entries;
}

void Scheduler::step() {
  CheckOp op{.verb = CheckVerb::Step};
  op.batch = batch();
  if (op.batch.empty()) {
    return;
  }
  switch (apply(op)) {
    case Outcome::Exhausted:
      for (const CheckStepEntry& entry : op.batch) {
        reject_[index(entry.slot)] = entry.back;  // As it was before the step.
      }
      make_room();
      break;
    case Outcome::TooDeep:  // The drafts stay.
      std::fill(reject_.begin(), reject_.end(), 0);
      break;
    case Outcome::Failed:
      for (const CheckStepEntry& entry : op.batch) {
        reject_[index(entry.slot)] = 0;
      }
      after_failure();
      break;
    default:
      break;
  }
}

// Slots that the driver has dropped.
void Scheduler::after_failure() {
  for (int slot = 0; slot < swarm_.setup.slots; ++slot) {
    if (places_[index(slot)] && !driver_.session(slot).active) {
      give_back(slot, true);
    }
  }
}

// Blocks in quarantine come back first; then whoever came last is preempted, to be computed anew.
void Scheduler::make_room() {
  if (driver_.quarantined_blocks() > 0) {
    apply({.verb = CheckVerb::Release});
    return;
  }
  int last = -1;
  int held = 0;
  for (int slot = 0; slot < swarm_.setup.slots; ++slot) {
    const Place& place = places_[index(slot)];
    held += place ? 1 : 0;
    if (place && (last < 0 || place->order > places_[index(last)]->order)) {
      last = slot;
    }
  }
  if (last < 0) {
    return;
  }
  apply({.verb = CheckVerb::Evict, .slot = last});
  hold_ = true;
  if (held > 1) {
    give_back(last, false);
  } else {
    dropped_ += places_[index(last)]->is_twin ? 0 : 1;
    places_[index(last)].reset();
    reject_[index(last)] = 0;
  }
}

}  // namespace octavo::sim::check
