// Counts what goes through operator new, and can make it fail. Linking allocation_counter.cc
// replaces the operators of the whole program, so only programs about memory do.
#pragma once

#include <cstdint>

namespace octavo::testing {

/// Calls of operator new since the program began.
std::int64_t heap_allocations();

/// Bytes that operator new has handed out and operator delete has not got back.
std::int64_t live_heap_bytes();

/// After `successes` further allocations every one throws std::bad_alloc, until allow_allocations.
void fail_allocations_after(std::int64_t successes);
void allow_allocations();

}  // namespace octavo::testing
