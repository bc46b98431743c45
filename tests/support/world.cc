#include "world.h"

#include <algorithm>
#include <stdexcept>

namespace octavo::testkit {
namespace {

/// splitmix64's finaliser.
std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

}  // namespace

World::World(const BlockManagerConfig& config, int alphabet, int unit)
    : model_(config),
      sessions_(static_cast<std::size_t>(config.max_seqs)),
      library_{{1}},
      alphabet_(alphabet),
      unit_(unit) {}

Outcome World::perform(const Call& call) {
  Outcome outcome = testkit::perform(model_, call);
  if (outcome.refused()) {
    return outcome;
  }
  const auto slot = static_cast<std::size_t>(call.slot);
  switch (call.verb) {
    case Verb::Admit:
      sessions_[slot].id = ++last_session_;
      sessions_[slot].tokens.assign(call.tokens.begin(), call.tokens.begin() + outcome.value);
      remember(call.tokens);
      break;
    case Verb::Reserve:
    case Verb::PrepareStep: {
      auto next = call.tokens.begin();
      for (std::size_t i = 0; i < call.slots.size(); ++i) {
        const auto index = static_cast<std::size_t>(call.slots[i]);
        Tokens& tokens = sessions_[index].tokens;
        if (call.verb == Verb::PrepareStep) {
          tokens.resize(static_cast<std::size_t>(call.past[i]));
        }
        const auto count = model_.slots()[index].reserved - std::ssize(tokens);
        tokens.insert(tokens.end(), next, next + count);
        next += count;
      }
      if (next != call.tokens.end()) {
        throw std::logic_error("a step has other tokens than it writes");
      }
      break;
    }
    case Verb::UpdatePosition:
      sessions_[slot].tokens.resize(static_cast<std::size_t>(call.number));
      break;
    case Verb::Retire:
      remember(call.tokens);
      sessions_[slot] = Session{};
      break;
    case Verb::Evict:
    case Verb::Abandon:
      sessions_[slot] = Session{};
      break;
    case Verb::Reset:
      sessions_.assign(sessions_.size(), Session{});
      break;
    case Verb::SetNamespace:
    case Verb::ReleaseQuarantined:
    case Verb::InvalidateNamespace:
      break;
  }
  return outcome;
}

void World::remember(const Tokens& tokens) {
  if (tokens.empty() || std::count(library_.begin(), library_.end(), tokens) > 0) {
    return;
  }
  library_.push_back(tokens);
  if (library_.size() > kLibraryMax) {
    library_.erase(library_.begin());
  }
}

std::vector<Row> World::rows(std::uint64_t space, std::uint64_t generation, const Tokens& tokens) {
  std::vector<Row> rows;
  Row row = mix(mix(space) + generation);
  for (const Token token : tokens) {
    row = mix(row ^ static_cast<std::uint32_t>(token));
    rows.push_back(row);
  }
  return rows;
}

std::vector<Row> World::rows(int slot) const {
  const auto index = static_cast<std::size_t>(slot);
  const ModelSlot& s = model_.slots()[index];
  std::vector<Row> result = rows(s.space, s.generation.value_or(0), sessions_[index].tokens);
  if (s.addressable < s.prompt_length) {
    for (std::size_t p = static_cast<std::size_t>(s.addressable); p < result.size(); ++p) {
      result[p] = mix(result[p] + sessions_[index].id);
    }
  }
  return result;
}

std::string World::fingerprint() const {
  std::string print = model_.fingerprint();
  for (const Session& session : sessions_) {
    print += "|t";
    for (const Token token : session.tokens) {
      print += std::to_string(token) + ",";
    }
  }
  return print;
}

}  // namespace octavo::testkit
