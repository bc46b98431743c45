// The asynchronous copies (cp.async) of one thread, from its issue to the wait that they need.
#pragma once

#include <cstdint>
#include <vector>

#include "options.h"
#include "random.h"

namespace octavo::emulation {

class AsyncCopyQueue {
 public:
  /// Forgets everything: a new thread.
  void reset();

  /// Copies `size` bytes, or zeros when `from` is null: now, or at the wait. Until a late copy is
  /// done its destination reads as 0xFF.
  void issue(void* to, const void* from, unsigned size, bool is_late);
  void commit();
  /// Does what all but the last `groups_left` committed groups hold.
  void wait(unsigned groups_left);
  /// Does what is still open: the thread ends.
  void finish();

 private:
  struct Copy {
    void* to;
    const void* from;
    unsigned size;
    std::uint32_t group;
  };
  static void perform(const Copy& copy);
  void perform_before(std::uint32_t group);

  std::vector<Copy> open_;       // In the order of their issue.
  std::uint32_t committed_ = 0;  // Groups; also the number of the group being filled.
};

}  // namespace octavo::emulation
