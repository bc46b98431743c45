#include "tests/cuda/simulated_gpu/machine/async_copies.h"

#include <algorithm>
#include <cstring>

namespace octavo::simulated_gpu {
namespace {

void perform(const AsyncCopy& copy, SharedMemory& shared) {
  std::byte* const to = shared.at(copy.to);
  std::memcpy(to, copy.from, copy.read_bytes);
  std::memset(to + copy.read_bytes, 0, copy.size_bytes - std::size_t{copy.read_bytes});
}

}  // namespace

void AsyncCopies::issue(unsigned lane, const AsyncCopy& copy, bool at_once, SharedMemory& shared) {
  if (at_once) {
    perform(copy, shared);
  } else {
    shared.spoil(copy.to, copy.size_bytes);
    pending_.push_back({lane, open_group_[lane], copy});
  }
}

void AsyncCopies::commit(Mask lanes) {
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    open_group_[lane] += lanes >> lane & 1u;
  }
}

void AsyncCopies::wait(Mask lanes, std::uint32_t groups_left, SharedMemory& shared) {
  const auto is_due = [&](const Pending& pending) {
    return (lanes >> pending.lane & 1u) != 0 &&
           pending.group + groups_left < open_group_[pending.lane];
  };
  for (const Pending& pending : pending_) {
    if (is_due(pending)) {
      perform(pending.copy, shared);
    }
  }
  pending_.erase(std::remove_if(pending_.begin(), pending_.end(), is_due), pending_.end());
}

void AsyncCopies::forget() {
  pending_.clear();
  std::fill_n(open_group_, kLanes, 0u);
}

}  // namespace octavo::simulated_gpu
