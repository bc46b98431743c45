// What goes wrong on purpose.

#include <algorithm>

#include "index.h"
#include "scheduler.h"

namespace octavo::sim::check {
namespace {

constexpr int kMishapsMax = 6;  // After so many a job meets no more of them.

}  // namespace

void Scheduler::mishap() {
  std::array<std::uint32_t, kCheckFaults> weights = swarm_.weights;
  weights[static_cast<std::size_t>(CheckFault::Pressure)] = 0;  // That is the pool's size.
  if (std::all_of(weights.begin(), weights.end(), [](std::uint32_t w) { return w == 0; })) {
    return;
  }
  switch (static_cast<CheckFault>(rng_.weighted(weights))) {
    case CheckFault::Cancel:
      cancel();
      break;
    case CheckFault::FailedStep:
      failed_step();
      break;
    case CheckFault::Alloc:
      if (has_host_allocations_ && rng_.chance(1, 2)) {
        armed_.host_alloc_after = rng_.between(0, 3);
      } else if (rng_.chance(1, 4)) {
        apply({.verb = CheckVerb::Make, .alloc_after = rng_.between(0, 12)});
      } else {
        armed_.alloc_after = rng_.between(0, 16);
      }
      break;
    case CheckFault::Rewind:
      rewind();
      break;
    case CheckFault::DuplicateAdmit:
      rng_.chance(1, 2) ? duplicate() : wrong_call();
      break;
    case CheckFault::Device:
      armed_.device_after = rng_.between(0, 1) == 0 ? rng_.between(0, 6) : rng_.between(0, 40);
      break;
    case CheckFault::Pressure:
      break;
  }
}

// A slot whose job has not met too much; free ones otherwise.
std::optional<int> Scheduler::draw_slot(bool active) {
  std::vector<int> slots;
  for (int slot = 0; slot < swarm_.setup.slots; ++slot) {
    const Place& place = places_[index(slot)];
    if (active ? place && place->mishaps < kMishapsMax : !place && !driver_.session(slot).active) {
      slots.push_back(slot);
    }
  }
  if (slots.empty()) {
    return std::nullopt;
  }
  return slots[rng_.below(slots.size())];
}

void Scheduler::cancel() {
  if (const auto slot = draw_slot(true)) {
    apply({.verb = CheckVerb::Evict, .slot = *slot});
    give_back(*slot, true);
  }
}

// A step that is never computed; some of its sessions are abandoned, the others try again.
void Scheduler::failed_step() {
  CheckOp op{.verb = CheckVerb::Prepare};
  op.batch = batch();
  if (op.batch.empty()) {
    return;
  }
  for (const CheckStepEntry& entry : op.batch) {
    reject_[index(entry.slot)] = 0;
  }
  const Outcome outcome = apply(op);
  after_failure();
  if (outcome != Outcome::Done) {
    return;
  }
  for (const CheckStepEntry& entry : op.batch) {
    Place& place = places_[index(entry.slot)];
    if (place && place->mishaps < kMishapsMax && rng_.chance(1, 2)) {
      apply({.verb = CheckVerb::Abandon, .slot = entry.slot});
      give_back(entry.slot, true);
    }
  }
}

void Scheduler::rewind() {
  if (const auto slot = draw_slot(true)) {
    const std::int64_t length = std::ssize(driver_.session(*slot).tokens);
    const std::int64_t few = std::min<std::int64_t>(length, rng_.chance(1, 2) ? 2 : 6);
    const std::int64_t back = rng_.between(0, rng_.chance(1, 2) ? length : few);
    ++places_[index(*slot)]->mishaps;
    if (rng_.chance(1, 3) && back > 0) {  // By the next step, and it goes on in another way.
      reject_[index(*slot)] = static_cast<std::int32_t>(back);
      return;
    }
    reject_[index(*slot)] = 0;
    apply({.verb = CheckVerb::Rewind, .slot = *slot, .number = back});
  }
}

// A second session of a prompt that is being computed at this moment.
void Scheduler::duplicate() {
  const auto twin = draw_slot(true);
  const auto slot = draw_slot(false);
  if (twin && slot) {
    Job job = *places_[index(*twin)];
    job.is_twin = true;
    admit(*slot, job);
  }
}

void Scheduler::wrong_call() {
  apply({.verb = CheckVerb::Wrong,
         .slot = static_cast<int>(rng_.between(0, swarm_.setup.slots - 1)),
         .number = rng_.between(0, kWrongCalls - 1)});
}

// A bare reservation: of a session that runs, or of one that nobody has admitted, which then takes
// a step and ends.
void Scheduler::stranger() {
  const std::int64_t count = rng_.between(0, swarm_.setup.max_step);
  if (const auto slot = draw_slot(rng_.chance(1, 2))) {
    apply({.verb = CheckVerb::Reserve, .slot = *slot, .number = count});
    if (places_[index(*slot)]) {
      return;
    }
    CheckOp op{.verb = CheckVerb::Step};
    op.batch.push_back({.slot = *slot,
                        .count = static_cast<std::int32_t>(rng_.between(1, swarm_.setup.max_step)),
                        .token = static_cast<std::int32_t>(rng_.below(64))});
    apply(op);
    apply({.verb = CheckVerb::Retire, .slot = *slot});
    if (driver_.session(*slot).active) {
      apply({.verb = CheckVerb::Evict, .slot = *slot});
    }
    after_failure();
  }
}

void Scheduler::rare() {
  const std::uint64_t ticket = rng_.below(16);
  if (ticket == 0) {
    apply({.verb = CheckVerb::Reset});
    after_failure();
  } else if (ticket < 4) {
    apply({.verb = CheckVerb::Invalidate, .number = rng_.between(0, kNamespaces - 1)});
  } else if (ticket < 7) {
    apply({.verb = CheckVerb::Release});
  } else if (ticket < 12) {
    stranger();
  } else {
    apply({.verb = CheckVerb::Verify});
  }
}

}  // namespace octavo::sim::check
