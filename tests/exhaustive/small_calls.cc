#include "small_calls.h"

#include <algorithm>
#include <set>

namespace octavo::testkit {
namespace {

constexpr Token kA = 1;
constexpr Token kB = 2;

const ModelSlot& slot_of(const World& world, int slot) {
  return world.model().slots()[static_cast<std::size_t>(slot)];
}

const Tokens& tokens_of(const World& world, int slot) {
  return world.sessions()[static_cast<std::size_t>(slot)].tokens;
}

Call call_of(Verb verb,
             int slot,
             std::int64_t number = 0,
             Tokens tokens = {},
             std::vector<std::int64_t> boundaries = {}) {
  Call call;
  call.verb = verb;
  call.slot = slot;
  call.number = number;
  call.tokens = std::move(tokens);
  call.boundaries = std::move(boundaries);
  return call;
}

/// Tokens of [past, past + count): the prompt's as far as it still binds, then `filler`.
Tokens written(const World& world, int slot, std::int64_t past, std::int64_t count, Token filler) {
  const ModelSlot& s = slot_of(world, slot);
  const std::int64_t prescribed =
      past < s.reserved ? std::min(past, std::ssize(s.prompt)) : std::ssize(s.prompt);
  Tokens tokens;
  for (std::int64_t p = past; p < past + count; ++p) {
    tokens.push_back(p < prescribed ? s.prompt[static_cast<std::size_t>(p)] : filler);
  }
  return tokens;
}

Call step_of(const World& world, int slot, std::int64_t past, std::int64_t count, Token filler) {
  Call call;
  call.verb = Verb::PrepareStep;
  call.slots = {slot};
  call.past = {static_cast<std::int32_t>(past)};
  call.counts = {0, static_cast<std::int32_t>(count)};
  call.tokens = written(world, slot, past, count, filler);
  call.writes_late = count == 1;
  return call;
}

Call reserve_of(const World& world, int slot, std::int64_t count) {
  Call call;
  call.verb = Verb::Reserve;
  call.slots = {slot};
  call.counts = {static_cast<std::int32_t>(count)};
  call.tokens = written(world, slot, slot_of(world, slot).reserved, count, kA);
  return call;
}

void add_fresh(const World& world, int slot, std::vector<Call>& calls) {
  for (const Tokens& prompt : {Tokens{kA}, Tokens{kA, kB}, Tokens{kA, kB, kA}, Tokens{kA, kA},
                               Tokens{kA, kB, kA, kB, kA}}) {
    calls.push_back(call_of(Verb::Admit, slot, kAddressableAll, prompt));
  }
  calls.push_back(call_of(Verb::Admit, slot, 1, {kA, kB, kA}));
  calls.push_back(call_of(Verb::Admit, slot, 2, {kA, kB, kA}));
  calls.push_back(step_of(world, slot, 0, 3, kA));
  calls.push_back(reserve_of(world, slot, 1));
  calls.push_back(reserve_of(world, slot, 0));
  calls.push_back(call_of(Verb::SetNamespace, slot, 1));
  calls.push_back(call_of(Verb::Retire, slot, kAddressableAll));  // Refused.
}

void add_retire(const World& world, int slot, std::vector<Call>& calls) {
  const ModelSlot& s = slot_of(world, slot);
  const std::int64_t addressable = s.addressable < s.prompt_length ? s.addressable : -1;
  for (const std::int64_t length : std::set<std::int64_t>{s.committed, s.reserved}) {
    Tokens history = tokens_of(world, slot);
    history.resize(static_cast<std::size_t>(length));
    calls.push_back(call_of(Verb::Retire, slot, addressable, history));
    if (length > 1) {
      calls.push_back(call_of(Verb::Retire, slot, addressable, history, {1}));
    }
    if (length > 3) {
      calls.push_back(call_of(Verb::Retire, slot, addressable, history, {3, 1}));
    }
    if (addressable == -1 && length >= std::max<std::int64_t>(3, s.prompt_length)) {
      calls.push_back(
          call_of(Verb::Retire, slot, std::max<std::int64_t>(3, s.prompt_length), history));
    }
  }
}

void add_live(const World& world, int slot, std::vector<Call>& calls) {
  const ModelSlot& s = slot_of(world, slot);
  calls.push_back(step_of(world, slot, s.reserved, 1, kA));
  calls.push_back(step_of(world, slot, s.reserved, 1, kB));
  calls.push_back(step_of(world, slot, s.reserved, 3, kB));
  calls.push_back(reserve_of(world, slot, 0));
  calls.push_back(reserve_of(world, slot, 2));
  for (const std::int64_t past :
       std::set<std::int64_t>{0, s.reserved / 2, std::max<std::int64_t>(0, s.reserved - 1)}) {
    if (past < s.reserved) {
      calls.push_back(step_of(world, slot, past, 1, kB));
      calls.push_back(step_of(world, slot, past, 3, kA));
    }
  }
  for (std::int64_t position = 0; position <= s.reserved; ++position) {
    calls.push_back(call_of(Verb::UpdatePosition, slot, position));
  }
  add_retire(world, slot, calls);
  calls.push_back(call_of(Verb::Evict, slot));
  calls.push_back(call_of(Verb::Abandon, slot));
  // Refused.
  calls.push_back(call_of(Verb::Admit, slot, kAddressableAll, {kA}));
  calls.push_back(call_of(Verb::SetNamespace, slot, 1));
  calls.push_back(call_of(Verb::UpdatePosition, slot, s.reserved + 1));
  calls.push_back(step_of(world, slot, s.reserved + 1, 1, kA));
  calls.push_back(step_of(world, slot, s.reserved, 6, kA));
  calls.push_back(call_of(Verb::Retire, slot, kAddressableAll, Tokens(7, kA)));
}

void add_batches(const World& world, std::vector<Call>& calls) {
  const std::int64_t first = slot_of(world, 0).reserved;
  const std::int64_t second = slot_of(world, 1).reserved;
  for (const std::int64_t back : {0, 1}) {
    const std::int64_t past = std::max<std::int64_t>(0, second - back);
    Call both = step_of(world, 0, first, 1, kA);
    const Tokens more = written(world, 1, past, 2, kA);
    both.slots.push_back(1);
    both.past.push_back(static_cast<std::int32_t>(past));
    both.counts.push_back(3);
    both.tokens.insert(both.tokens.end(), more.begin(), more.end());
    calls.push_back(both);
  }
  Call twice = reserve_of(world, 1, 1);  // Refused.
  twice.slots.push_back(1);
  twice.counts.push_back(1);
  calls.push_back(twice);
}

/// While two slots are untouched it makes no difference which of them is used.
bool alike(const ModelSlot& one, const ModelSlot& other) {
  return one.fresh && other.fresh && !one.generation && !other.generation;
}

}  // namespace

std::vector<Call> all_calls(const World& world) {
  std::vector<Call> calls;
  for (int slot = 0; slot < world.model().config().max_seqs; ++slot) {
    if (slot == 1 && alike(slot_of(world, 0), slot_of(world, 1))) {
      continue;
    }
    if (slot_of(world, slot).fresh) {
      add_fresh(world, slot, calls);
      calls.push_back(call_of(Verb::Evict, slot));
      calls.push_back(call_of(Verb::Abandon, slot));
    } else {
      add_live(world, slot, calls);
    }
  }
  add_batches(world, calls);
  calls.push_back(call_of(Verb::ReleaseQuarantined, 0));
  calls.push_back(call_of(Verb::InvalidateNamespace, 0, 0));
  calls.push_back(call_of(Verb::InvalidateNamespace, 0, 1));
  calls.push_back(call_of(Verb::Reset, 0));
  calls.push_back(call_of(Verb::Evict, -1));  // Refused.
  return calls;
}

std::vector<Call> serving_calls(const World& world,
                                const std::vector<Tokens>& prompts,
                                const Tokens& generated) {
  const std::int64_t size = world.model().config().block_size;
  std::vector<Call> calls;
  for (int slot = 0; slot < world.model().config().max_seqs; ++slot) {
    const ModelSlot& s = slot_of(world, slot);
    if (slot == 1 && alike(slot_of(world, 0), s)) {
      continue;
    }
    if (s.fresh) {
      for (const Tokens& prompt : prompts) {
        calls.push_back(call_of(Verb::Admit, slot, kAddressableAll, prompt));
      }
      continue;
    }
    const std::int64_t rest = std::ssize(s.prompt) - s.reserved;
    if (rest > 0) {
      calls.push_back(step_of(world, slot, s.reserved, rest, 0));
    } else {
      for (const Token token : generated) {
        calls.push_back(step_of(world, slot, s.reserved, 1, token));
      }
    }
    if (rest > size) {
      calls.push_back(step_of(world, slot, s.reserved, size, 0));
    }
    calls.push_back(call_of(Verb::Evict, slot));
    if (s.reserved > 0) {
      std::vector<std::int64_t> boundaries;
      for (std::int64_t begin = 0; begin + size <= s.reserved; begin += size) {
        boundaries.push_back(begin + 1);
      }
      calls.push_back(call_of(Verb::Retire, slot, kAddressableAll, tokens_of(world, slot)));
      calls.push_back(
          call_of(Verb::Retire, slot, kAddressableAll, tokens_of(world, slot), boundaries));
    }
    if (s.committed < s.reserved) {
      calls.push_back(call_of(Verb::UpdatePosition, slot, s.reserved));
    }
    for (std::int64_t position = 1; position < s.reserved; ++position) {
      calls.push_back(call_of(Verb::UpdatePosition, slot, position));
    }
  }
  return calls;
}

}  // namespace octavo::testkit
