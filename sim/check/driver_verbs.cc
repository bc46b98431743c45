// The verbs of a session around its steps, and calls that must raise.

#include <algorithm>
#include <new>
#include <string>

#include "driver.h"
#include "octavo/error.h"

namespace octavo::sim::check {
namespace {

Tensor ids_of(const Tokens& tokens) {
  return Tensor::from_values<std::int32_t>(DType::Int32, {static_cast<std::int64_t>(tokens.size())},
                                           tokens);
}

Tokens expand(const std::vector<TokenRun>& runs, std::int64_t longest) {
  Tokens tokens;
  for (const TokenRun& run : runs) {
    for (std::int32_t i = 0; i < run.count && std::ssize(tokens) < longest; ++i) {
      tokens.push_back(run.first + i);
    }
  }
  return tokens;
}

}  // namespace

Outcome Driver::admit(const CheckOp& op) {
  const Tokens prompt = expand(op.prompt, setup_.max_tokens);
  if (session(op.slot).active || prompt.empty()) {
    return Outcome::Skipped;
  }
  const Tensor ids = ids_of(prompt);
  const std::int64_t length = std::ssize(prompt);
  std::vector<std::int64_t> served;
  served.reserve(rigs_.size());
  const Called called =
      call([&](Rig& rig) { served.push_back(rig.cache.admit(op.slot, ids, op.addressable)); });
  if (called == Called::Exhausted) {
    const std::int64_t blocks = (length + setup_.block_size - 1) / setup_.block_size;
    if (!setup_.has_blocks() || blocks <= setup_.blocks) {
      violated("exhaustion", "a prompt of " + std::to_string(length) +
                                 " tokens was refused by a pool that can hold it");
    }
    return Outcome::Exhausted;
  }
  if (called == Called::DeviceError) {  // In the copy of a partial hit: the slot has moved.
    for (const auto& rig : rigs_) {
      fault_fired_ = rig->device->heal() || fault_fired_;
      if (!rig->is_failed(op.slot)) {
        violated("device", rig->name + ": admit's copy failed, and the slot goes on");
      }
    }
    check_others_are_well({op.slot});
    at(op.slot).committed = rigs_.front()->cache.committed_len(op.slot);
    at(op.slot).reserved = rigs_.front()->cache.reserved_len(op.slot);
    drop(op.slot, op.device_after % 2 != 0);
    return Outcome::Failed;
  }
  if (called != Called::Done) {
    return Outcome::Failed;
  }
  if (std::any_of(served.begin(), served.end(),
                  [&](std::int64_t count) { return count != served.front(); })) {
    violated("lockstep", "admit served different lengths on different devices");
  }
  check_served(op, served.front(), length);
  if (std::any_of(sessions_.begin(), sessions_.end(),
                  [&](const Session& other) { return other.active && other.plan == prompt; })) {
    ++figures_.faults;
    ++figures_.by_fault[static_cast<std::size_t>(CheckFault::DuplicateAdmit)];
  }
  Session& session = at(op.slot);
  begin(session);
  session.plan = prompt;
  session.addressable = op.addressable;
  session.tokens.assign(prompt.begin(), prompt.begin() + served.front());
  session.committed = session.reserved = session.written_end = served.front();
  plain_.write_rows(op.slot, 0, chains_of(session.seed, session.tokens));
  figures_.prompt_tokens += length;
  figures_.served_tokens += served.front();
  touched_.push_back(op.slot);
  return Outcome::Done;
}

void Driver::check_served(const CheckOp& op, std::int64_t served, std::int64_t length) const {
  const bool shares = setup_.has_blocks() && !setup_.has(CheckRowKind::Continuous) &&
                      !setup_.has(CheckRowKind::Ring) && !setup_.has(CheckRowKind::Cross) &&
                      !has_states_ && !setup_.has(CheckRowKind::Release);
  const Session& session = this->session(op.slot);  // A stale one is served nothing (N4).
  const bool is_stale =
      session.named &&
      session.generation != generations_[static_cast<std::size_t>(session.namespace_id)];
  const std::int64_t most =
      !shares || is_stale ? 0 : std::min(length - 1, op.addressable < 0 ? length : op.addressable);
  if (served < 0 || served > most) {
    violated("served", "admit served " + std::to_string(served) + " of " + std::to_string(length) +
                           " tokens; at most " + std::to_string(most) + " are allowed");
  }
}

Outcome Driver::rewind(const CheckOp& op) {
  Session& session = at(op.slot);
  const std::int64_t length = std::ssize(session.tokens);
  std::int64_t back = std::min(op.number, length);
  if (!session.active) {
    return Outcome::Skipped;
  }
  if (has_states_ && back > 0) {
    back = length;
  }
  const std::int64_t position = length - back;
  const std::int64_t free_before = free_blocks();
  const Called called = call([&](Rig& rig) { rig.cache.update_position(op.slot, position); });
  if (called == Called::TooDeep) {
    return Outcome::TooDeep;
  }
  if (called != Called::Done) {
    return Outcome::Failed;
  }
  if (position < session.reserved && !setup_.has(CheckRowKind::Release) &&
      position <= session.committed && free_blocks() != free_before) {
    violated("rewind", "a rewind has moved the count of free blocks from " +
                           std::to_string(free_before) + " to " + std::to_string(free_blocks()));
  }
  session.tokens.resize(static_cast<std::size_t>(position));
  session.committed = session.reserved = position;
  session.written_end = position == 0 ? 0 : std::max(session.written_end, position);
  touched_.push_back(op.slot);
  return Outcome::Done;
}

Outcome Driver::retire(const CheckOp& op) {
  const Session& session = this->session(op.slot);
  if (!session.active) {
    return Outcome::Skipped;
  }
  const std::int64_t length = std::ssize(session.tokens);
  const std::int64_t back = std::min(op.number, length - session.committed);
  const Tokens history(session.tokens.begin(), session.tokens.end() - back);
  const Tensor ids = ids_of(history);
  const Called called =
      call([&](Rig& rig) { rig.cache.retire(op.slot, ids, session.addressable, op.boundaries); });
  if (called != Called::Done) {
    return Outcome::Failed;
  }
  end(op.slot);
  return Outcome::Done;
}

Outcome Driver::release_slot(const CheckOp& op) {
  const bool was_active = session(op.slot).active;
  drop(op.slot, op.verb == CheckVerb::Evict);
  return was_active ? Outcome::Done : Outcome::Skipped;
}

Outcome Driver::name(const CheckOp& op) {
  Session& session = at(op.slot);
  if (session.active) {
    return Outcome::Skipped;
  }
  for (const auto& rig : rigs_) {
    rig->cache.set_namespace(op.slot, static_cast<std::uint64_t>(op.number));
  }
  session.named = true;
  give_namespace(session, op.number);
  return Outcome::Done;
}

// The same encoder again, or another of the same lengths, may overwrite.
Outcome Driver::fill(const CheckOp& op) {
  if (!setup_.has(CheckRowKind::Cross)) {
    return Outcome::Skipped;
  }
  Session& session = at(op.slot);
  const int encoder = static_cast<int>(op.number);
  const std::vector<LayerStorage>& layers = plain_.layers();
  for (std::size_t i = 0; i < layers.size() && session.encoder >= 0; ++i) {
    const int layer = static_cast<int>(i);
    if (encoder_length(session.encoder, layer, setup_.max_tokens) !=
        encoder_length(encoder, layer, setup_.max_tokens)) {
      return Outcome::Skipped;
    }
  }
  const auto fill_layers = [&](Rig& rig) {
    for (std::size_t i = 0; i < layers.size(); ++i) {
      if (layers[i].kind == KVLayerKind::CrossAttentionKV) {
        const int layer = static_cast<int>(i);
        const EncoderRows rows =
            encoder_rows(encoder, layer, rig.layers[i], setup_.max_tokens, rig.device);
        rig.cache.fill(layer, op.slot, rows.keys, rows.values);
      }
    }
  };
  bool has_failed = false;
  for (const auto& rig : rigs_) {
    try {
      fill_layers(*rig);
    } catch (const Error& error) {
      const bool is_expected = (error.code() == ErrorCode::DeviceError && armed_device_) ||
                               (error.code() == ErrorCode::ResourceExhausted && armed_memory_);
      if (!is_expected) {
        violated("refusal", rig->name + " refused a legal fill: " + error.what());
      }
      has_failed = true;
    }
  }
  if (has_failed) {  // Some layers are filled, others are not.
    for (const auto& rig : rigs_) {
      fault_fired_ = rig->device->heal() || fault_fired_;
    }
    check_others_are_well({op.slot});
    drop(op.slot, op.device_after % 2 != 0);
    return Outcome::Failed;
  }
  session.encoder = encoder;
  plain_.fill(op.slot, encoder);
  touched_.push_back(op.slot);
  return Outcome::Done;
}

Outcome Driver::release() {
  const std::int64_t quarantined = quarantined_blocks();
  const std::int64_t free_before = free_blocks();
  haunted_.clear();
  for (const auto& rig : rigs_) {
    const std::int64_t released = rig->cache.release_quarantined();
    const std::int64_t expected = setup_.has_blocks() ? quarantined : 0;
    if (released != expected ||
        (setup_.has_blocks() && rig->cache.paged_free_blocks() != free_before + quarantined)) {
      violated("quarantine", rig->name + " released " + std::to_string(released) + " of " +
                                 std::to_string(expected) + " quarantined blocks");
    }
  }
  return Outcome::Done;
}

Outcome Driver::reset() {
  haunted_.clear();
  for (const auto& rig : rigs_) {
    const std::int64_t calls = rig->device->calls();
    rig->cache.reset();
    if (rig->device->calls() != calls || rig->cache.digest() != fresh_digest_ ||
        rig->cache.paged_free_blocks() != rig->cache.paged_num_blocks()) {
      violated("reset", rig->name + " is not as freshly made after reset");
    }
  }
  for (int slot = 0; slot < setup_.slots; ++slot) {
    end(slot);
  }
  return Outcome::Done;
}

// Calls that no state makes legal: each must raise, as an error of the caller, and change nothing.
Outcome Driver::wrong(const CheckOp& op) {
  const std::int32_t slot = op.slot;
  const auto reserved = static_cast<std::int32_t>(session(slot).reserved);
  const bool is_active = session(slot).active;
  using Ids = std::vector<std::int32_t>;
  const std::array<std::function<void(KVCache&)>, kWrongCalls> calls{
      [&](KVCache& c) { c.update_position(slot, std::int64_t{reserved} + 1); },
      [&](KVCache& c) { c.update_position(slot, -1); },
      [&](KVCache& c) {
        (void)c.prepare_step(Ids{0, 1}, Ids{reserved + 1}, Ids{slot});
      },
      [&](KVCache& c) {
        (void)c.prepare_step(Ids{0, 1, 2}, Ids{0, 0}, Ids{slot, slot});
      },
      [&](KVCache& c) {
        (void)c.prepare_step(Ids{0, 0}, Ids{0}, Ids{slot});
      },
      [&](KVCache& c) {
        c.retire(slot, ids_of(Tokens(static_cast<std::size_t>(reserved) + 1, 3)));
      },
      [&](KVCache& c) {
        c.admit(slot, ids_of(Tokens(static_cast<std::size_t>(setup_.max_tokens) + 1, 1)));
      },
      [&](KVCache& c) { c.evict_batch(setup_.slots); },
      [&](KVCache& c) { (void)c.reserve(ids_of({slot}), Ids{-1}); },
      [&](KVCache& c) { is_active ? c.set_namespace(slot, 1) : c.retire(slot, ids_of({})); }};
  for (const auto& rig : rigs_) {
    const std::uint64_t before = rig->cache.digest();
    bool has_raised = false;
    try {
      calls[static_cast<std::size_t>(op.number)](rig->cache);
    } catch (const Error& error) {
      has_raised = error.code() == ErrorCode::InvalidArgument ||
                   error.code() == ErrorCode::FailedPrecondition;
    }
    if (!has_raised) {
      violated("refusal", rig->name + ": wrong call " + std::to_string(op.number) +
                              " did not raise as it must");
    }
    if (rig->cache.digest() != before) {
      violated("guarantee", rig->name + ": a refused call has changed the cache");
    }
  }
  return Outcome::Done;
}

// Another cache of the same make-up, whose making fails somewhere: nothing may be left behind.
Outcome Driver::make_another(const CheckOp& op) {
  for (const auto& rig : rigs_) {
    const auto device = std::make_shared<FaultDevice>(rig->device->beneath());
    device->fail_allocation_after(op.alloc_after);
    bool has_raised = false;
    try {
      const KVCache cache = KVCache::make(setup_.config(device), setup_.specs());
    } catch (const Error& error) {
      has_raised = error.code() == ErrorCode::ResourceExhausted;
    } catch (const std::bad_alloc&) {
      has_raised = true;
    }
    const bool has_fired = device->heal();
    if (has_raised != has_fired || device->live_bytes() != 0) {
      violated("make", rig->name + ": a cache that could not be made left " +
                           std::to_string(device->live_bytes()) + " bytes behind");
    }
    fault_fired_ = fault_fired_ || has_fired;
  }
  return Outcome::Done;
}

}  // namespace octavo::sim::check
