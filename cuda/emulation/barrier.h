// __syncthreads and its kin: every thread of the block comes to the same place, then all go on.
#pragma once

#include <array>
#include <string>

#include "operation.h"
#include "site.h"

namespace octavo::emulation {

struct Thread;

class Barrier {
 public:
  void reset();

  /// Waits for the whole block. How many threads passed `predicate`.
  unsigned pass(Thread& thread, Operation operation, bool predicate, Site site);

  unsigned waiting() const { return waiting_; }
  /// How many wait where, in words.
  std::string waits() const;

 private:
  Operation operation_ = Operation::None;
  Site site_;
  const Thread* first_ = nullptr;  // Who came first, for messages.
  unsigned waiting_ = 0;
  unsigned passed_ = 0;
  // Two of each in turns: a thread can be at the next barrier while another has not left this one,
  // but never at the one after.
  unsigned round_ = 0;
  std::array<unsigned, 2> results_{};
  std::array<char, 2> orders_{};
};

}  // namespace octavo::emulation
