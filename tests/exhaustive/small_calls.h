// The calls that the exhaustive tests try in a state.
#pragma once

#include <vector>

#include "world.h"

namespace octavo::testkit {

/// Every verb with every argument that matters in a pool of a few blocks of two tokens, and wrong
/// calls of every kind.
std::vector<Call> all_calls(const World& world);

/// The calls of a server that prefills, decodes, rewinds, retires and cancels.
std::vector<Call> serving_calls(const World& world,
                                const std::vector<Tokens>& prompts,
                                const Tokens& generated);

}  // namespace octavo::testkit
