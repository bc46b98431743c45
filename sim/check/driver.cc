#include "driver.h"

#include <algorithm>
#include <new>
#include <string>

#include "octavo/error.h"
#include "octavo/sim/rng.h"

namespace octavo::sim::check {
namespace {

// While it lives, the host's allocator refuses.
class HostRefusal {
 public:
  HostRefusal(HostAllocations* allocations, std::int64_t successes)
      : allocations_(successes < 0 ? nullptr : allocations) {
    if (allocations_ != nullptr) {
      allocations_->fail_after(successes);
    }
  }
  ~HostRefusal() {
    if (allocations_ != nullptr) {
      allocations_->allow();
    }
  }
  HostRefusal(const HostRefusal&) = delete;
  HostRefusal& operator=(const HostRefusal&) = delete;

 private:
  HostAllocations* allocations_;
};

}  // namespace

Driver::Driver(const CheckSetup& setup, const CheckOptions& options)
    : setup_(setup),
      host_allocations_(options.host_allocations),
      plain_(setup, (options.oracle ? *options.oracle : options.devices.front()).make()),
      sessions_(static_cast<std::size_t>(setup.slots)),
      states_(options.states == nullptr ? &own_states_ : options.states) {
  for (const CheckDevice& device : options.devices) {
    rigs_.push_back(std::make_unique<Rig>(device, setup));
  }
  fresh_digest_ = digest();
  has_states_ = setup.has(CheckRowKind::State);
  may_refuse_rewinds_ = setup.has(CheckRowKind::Ring) || setup.has(CheckRowKind::Release);
  states_->add(fresh_digest_);
}

void Driver::violated(const std::string& kind, const std::string& what) const {
  throw Violation(kind, what);
}

const CheckFigures& Driver::figures() {
  const BlockManagerStats stats = rigs_.front()->cache.stats();
  figures_.copied_blocks = stats.copied_blocks;
  figures_.quarantined_blocks = stats.quarantined_blocks;
  figures_.distinct_states = states_->count();
  return figures_;
}

// --- Around an operation ---

void Driver::arm(const CheckOp& op) {
  fault_fired_ = false;
  switch (op.verb) {
    case CheckVerb::Admit:
    case CheckVerb::Step:
    case CheckVerb::Prepare:
    case CheckVerb::Reserve:
    case CheckVerb::Fill:
    case CheckVerb::Retire:
      break;
    default:
      return;  // They call no device, or look at it by themselves.
  }
  for (const auto& rig : rigs_) {
    rig->device->fail_call_after(op.device_after);
    rig->device->fail_allocation_after(op.alloc_after);
  }
  armed_device_ = op.device_after >= 0;
  host_alloc_after_ = host_allocations_ == nullptr ? -1 : op.host_alloc_after;
  armed_memory_ = op.alloc_after >= 0 || host_alloc_after_ >= 0;
}

void Driver::heal() {
  for (const auto& rig : rigs_) {
    fault_fired_ = rig->device->heal() || fault_fired_;
  }
  armed_device_ = armed_memory_ = false;
  host_alloc_after_ = -1;
}

void Driver::count_fault(const CheckOp& op, Outcome outcome) {
  const auto count = [&](CheckFault fault) {
    ++figures_.faults;
    ++figures_.by_fault[static_cast<std::size_t>(fault)];
  };
  if (fault_fired_) {
    count(op.device_after >= 0 ? CheckFault::Device : CheckFault::Alloc);
  }
  if (outcome == Outcome::Exhausted) {
    ++figures_.exhausted;
    count(CheckFault::Pressure);
  }
  if (outcome != Outcome::Done) {
    return;
  }
  switch (op.verb) {
    case CheckVerb::Evict:
      count(CheckFault::Cancel);
      break;
    case CheckVerb::Abandon:
      count(CheckFault::FailedStep);
      break;
    case CheckVerb::Rewind:
      count(CheckFault::Rewind);
      break;
    case CheckVerb::Wrong:
      count(CheckFault::DuplicateAdmit);
      break;
    case CheckVerb::Step:
      if (std::any_of(op.batch.begin(), op.batch.end(),
                      [](const CheckStepEntry& entry) { return entry.back > 0; })) {
        count(CheckFault::Rewind);
      }
      break;
    default:
      break;
  }
}

Outcome Driver::apply(const CheckOp& op) {
  before_ = digest();
  touched_.clear();
  arm(op);
  const Outcome outcome = dispatch(op);
  heal();
  count_fault(op, outcome);
  if (outcome == Outcome::Skipped) {
    ++figures_.skipped;
    return outcome;
  }
  ++figures_.operations;
  ++figures_.by_verb[static_cast<std::size_t>(op.verb)];
  haunt();
  check_frame();
  // What is looked at is sent first: were everything looked at all the time, the cache would never
  // have anything left unsent.
  std::uint64_t state = setup_.seed ^ digest();
  const std::uint64_t ticket = splitmix64(state);
  if (ticket % 16 == 0) {
    verify_all();
  } else if (ticket % 2 == 0) {
    for (const int slot : touched_) {
      look(slot);
    }
  }
  return outcome;
}

// What must hold whatever was done.
void Driver::check_frame() {
  const std::uint64_t first = digest();
  states_->add(first);
  for (const auto& rig : rigs_) {
    try {
      rig->cache.audit();
    } catch (const Error& error) {
      violated("audit", rig->name + ": " + error.what());
    }
    if (rig->cache.digest() != first) {
      violated("digest", rig->name + " is in another state than " + rigs_.front()->name);
    }
    for (int slot = 0; slot < setup_.slots; ++slot) {
      const Session& session = this->session(slot);
      const std::int64_t reserved = rig->cache.reserved_len(slot);
      const std::int64_t committed = rig->cache.committed_len(slot);
      if (reserved != session.reserved || committed != session.committed) {
        violated("lengths", rig->name + ": slot " + std::to_string(slot) + " has committed " +
                                std::to_string(committed) + " and reserved " +
                                std::to_string(reserved) + " tokens, expected " +
                                std::to_string(session.committed) + " and " +
                                std::to_string(session.reserved));
      }
    }
  }
}

// What raised must have changed nothing, unless it was the device; and only what can go wrong may.
Driver::Called Driver::call_one(Rig& rig, const std::function<void(Rig&)>& verb) {
  Called result = Called::Done;
  const std::uint64_t before = rig.cache.digest();
  const auto refuse = [&](const std::exception& error) {
    violated("refusal", rig.name + " refused what is legal: " + error.what());
  };
  try {
    const HostRefusal refusal(host_allocations_, host_alloc_after_);
    verb(rig);
  } catch (const Violation&) {
    throw;
  } catch (const std::bad_alloc& error) {
    if (!armed_memory_) {
      refuse(error);
    }
    fault_fired_ = true;
    result = Called::NoMemory;
  } catch (const Error& error) {
    const std::string_view message = error.what();
    if (error.code() == ErrorCode::DeviceError && armed_device_) {
      result = Called::DeviceError;
    } else if (error.code() == ErrorCode::ResourceExhausted) {
      const bool is_told = message.find("told to refuse") != std::string_view::npos;
      result = is_told ? Called::NoMemory : Called::Exhausted;
    } else if (error.code() == ErrorCode::FailedPrecondition && may_refuse_rewinds_ &&
               message.find("window") != std::string_view::npos) {
      result = Called::TooDeep;
    } else {
      refuse(error);
    }
  }
  if (result != Called::Done && result != Called::DeviceError && rig.cache.digest() != before) {
    violated("guarantee", rig.name + ": a call that raised has changed the cache");
  }
  return result;
}

// The same call on every cache.
Driver::Called Driver::call(const std::function<void(Rig&)>& verb) {
  std::vector<Called> results;
  for (const auto& rig : rigs_) {
    results.push_back(call_one(*rig, verb));
  }
  if (std::any_of(results.begin(), results.end(),
                  [&](Called result) { return result != results.front(); })) {
    violated("lockstep", "a call ended differently on different devices");
  }
  return results.front();
}

// --- Sessions ---

Chain Driver::seed_of(std::int64_t namespace_id) const {
  return first_chain(static_cast<std::uint64_t>(namespace_id),
                     generations_[static_cast<std::size_t>(namespace_id)]);
}

// A slot that was given no namespace belongs to 0, as that is when the slot stops being fresh.
void Driver::begin(Session& session) {
  if (!session.active && !session.named) {
    give_namespace(session, 0);
  }
  session.active = true;
}

void Driver::give_namespace(Session& session, std::int64_t namespace_id) const {
  session.namespace_id = namespace_id;
  session.generation = generations_[static_cast<std::size_t>(namespace_id)];
  session.seed = seed_of(namespace_id);
}

void Driver::end(int slot) {
  at(slot) = {};
  plain_.fill(slot, -1);
}

// A failed device goes on writing into what it had been told to write, until somebody says that it
// is well.
void Driver::haunt() {
  for (const auto& [block, row] : haunted_) {
    for (const auto& rig : rigs_) {
      rig->spoil_row(block, row, 0x7F);
    }
  }
}

// The session is lost. By design no call of the device is made.
void Driver::drop(int slot, bool by_evict) {
  const Session& session = this->session(slot);
  if (setup_.has_blocks() && !by_evict) {
    const Rig& rig = *rigs_.front();
    const auto row = rig.peek(rig.cache.paged_block_table().select(0, slot));
    for (std::int64_t p = session.committed; p < session.reserved; ++p) {
      const std::int32_t block = row.at(static_cast<std::size_t>(p / setup_.block_size));
      if (block >= 0) {
        haunted_.emplace(block, p % setup_.block_size);
      }
    }
  }
  for (const auto& rig : rigs_) {
    const std::int64_t calls = rig->device->calls();
    by_evict ? rig->cache.evict_batch(slot) : rig->cache.abandon_batch(slot);
    if (rig->device->calls() != calls) {
      violated("abandon", rig->name + ": a slot was dropped with a call of the device");
    }
  }
  end(slot);
}

void Driver::check_others_are_well(const std::vector<std::int32_t>& named) {
  for (const auto& rig : rigs_) {
    for (int slot = 0; slot < setup_.slots; ++slot) {
      const bool is_named = std::find(named.begin(), named.end(), slot) != named.end();
      if (!is_named && rig->is_failed(slot)) {
        violated("device", rig->name + ": slot " + std::to_string(slot) +
                               " failed by a call that did not name it");
      }
    }
  }
}

// After an error of the device inside a verb: either nothing has moved, or the named slots have
// failed, and no others.
Outcome Driver::recover(const std::vector<std::int32_t>& named, std::uint64_t before) {
  for (const auto& rig : rigs_) {
    fault_fired_ = rig->device->heal() || fault_fired_;
  }
  check_others_are_well(named);
  bool has_moved = false;
  for (const auto& rig : rigs_) {
    const auto failed = std::count_if(named.begin(), named.end(),
                                      [&](std::int32_t slot) { return rig->is_failed(slot); });
    if (failed != 0 && failed != std::ssize(named)) {
      violated("device", rig->name + ": " + std::to_string(failed) + " of " +
                             std::to_string(named.size()) + " slots that a call named have failed");
    }
    // The other way round proves nothing: a step may leave the lengths as they were.
    if (failed == 0 && rig->cache.digest() != before) {
      violated("device", rig->name + ": slot " + std::to_string(named.front()) +
                             " has moved and has not failed");
    }
    has_moved = has_moved || failed != 0;
  }
  for (const std::int32_t slot : named) {
    // Zeroing states comes first in a step, so those of a sequence that was to begin are gone.
    if (has_moved || has_states_) {
      at(slot).committed = rigs_.front()->cache.committed_len(slot);
      at(slot).reserved = rigs_.front()->cache.reserved_len(slot);
      drop(slot, false);
    }
  }
  return Outcome::Failed;
}

Outcome Driver::dispatch(const CheckOp& op) {
  if (op.slot >= setup_.slots) {
    return Outcome::Skipped;
  }
  switch (op.verb) {
    case CheckVerb::Admit:
      return admit(op);
    case CheckVerb::Step:
      return step(op, true);
    case CheckVerb::Prepare:
      return step(op, false);
    case CheckVerb::Rewind:
      return rewind(op);
    case CheckVerb::Retire:
      return retire(op);
    case CheckVerb::Evict:
    case CheckVerb::Abandon:
      return release_slot(op);
    case CheckVerb::Reserve:
      return reserve(op);
    case CheckVerb::Namespace:
      return name(op);
    case CheckVerb::Invalidate:
      for (const auto& rig : rigs_) {
        rig->cache.invalidate_namespace(static_cast<std::uint64_t>(op.number));
      }
      ++generations_[static_cast<std::size_t>(op.number)];
      return Outcome::Done;
    case CheckVerb::Fill:
      return fill(op);
    case CheckVerb::Release:
      return release();
    case CheckVerb::Reset:
      return reset();
    case CheckVerb::Wrong:
      return wrong(op);
    case CheckVerb::Make:
      return make_another(op);
    case CheckVerb::Verify:
      verify_all();
      return Outcome::Done;
  }
  return Outcome::Skipped;
}

}  // namespace octavo::sim::check
