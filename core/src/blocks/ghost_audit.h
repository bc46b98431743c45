// What audit and digest say of a memory of names.
#pragma once

#include "blocks/chain_hash.h"
#include "blocks/ghost_memory.h"
#include "blocks/order_error.h"

namespace octavo::blocks {

template <std::size_t kLists>
void audit_ghosts(const GhostMemory<kLists>& memory, std::size_t list, std::int64_t most) {
  std::int64_t count = 0;
  memory.visit(list, [&](std::uint64_t) { ++count; });
  require_order(count == memory.size(list) && count <= most, "E-3: remembered names are miscounted",
                count);
}

template <std::size_t kLists>
std::uint64_t digest_ghosts(const GhostMemory<kLists>& memory, std::size_t list) {
  std::uint64_t hash = list;
  memory.visit(list, [&](std::uint64_t name) { hash = mix(name, hash); });
  return hash;
}

}  // namespace octavo::blocks
