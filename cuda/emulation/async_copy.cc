#include "async_copy.h"

#include <cstdint>
#include <string>
#include <utility>

#include "messages.h"

namespace octavo::emulation {
namespace {

bool is_aligned(const void* data, unsigned size) {
  return reinterpret_cast<std::uintptr_t>(data) % size == 0;
}

bool is_late(Block& block) {
  const CopyTime time = block.grid().options.copy_time;
  return time == CopyTime::Lazy || (time == CopyTime::Random && (block.random().next() & 1u) != 0);
}

}  // namespace

void issue_async_copy(void* to, const void* from, unsigned size, bool on, Site site) {
  Thread& thread = *current_thread;
  Block& block = *thread.block;
  bool late = false;
  {
    Quiet quiet;
    std::string wrong;
    if (!is_aligned(to, size) || !is_aligned(from, size)) {
      wrong = "the destination or the source is not aligned to " + std::to_string(size) + " bytes";
    } else if (!block.shared().holds(to, size)) {
      wrong = "the destination is not in shared memory";
    } else if (on && (from == nullptr || block.shared().holds(from, size))) {
      wrong = "the source is not in global memory";
    }
    if (!wrong.empty()) {
      wrong = "async_copy at " + to_text(site) + ": " + wrong;
      block.raise(quiet, std::move(wrong));
    }
    late = is_late(block);
  }
  thread.copies.issue(to, on ? from : nullptr, size, late);
}

}  // namespace octavo::emulation
