// The commands of the block manager's state machine: each draws a few small numbers, and only when
// it is applied are they turned into a Call, so that a sequence from which commands were removed
// still makes sense. Every command is possible in every state: where the call is wrong, the model
// says which errors may come and nothing may have changed.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "lockstep.h"
#include "world.h"
#include <rapidcheck.h>
#include <rapidcheck/state.h>

namespace octavo::testkit {

/// What a run of a property reached, over all its cases.
struct Coverage {
  std::array<std::int64_t, kBranches> branches{};
  std::array<std::int64_t, kVerbs> done{};
  std::array<std::int64_t, kVerbs> refused{};
  std::int64_t exhausted = 0;
};

/// Managers that must do the same: equal configurations but for the hash.
struct Subject {
  std::vector<std::unique_ptr<Lockstep>> managers;
  Coverage* coverage = nullptr;
  std::vector<std::string> log;  ///< The calls so far, as they were made.
};

using StateCommand = rc::state::Command<World, Subject>;
using StateCommandPtr = std::shared_ptr<const StateCommand>;

/// How often each kind of command is drawn in one case; some kinds not at all. Calls on namespaces
/// are drawn `namespaces` times as often as usual.
using Weights = std::vector<int>;
Weights draw_weights(int namespaces = 1);
rc::Gen<StateCommandPtr> command_for(const World& world, const Weights& weights);

/// A number in [low, high], whatever the case's size; shrinks towards `low`.
int draw(int low, int high);

}  // namespace octavo::testkit
