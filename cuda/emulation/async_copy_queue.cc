#include "async_copy_queue.h"

#include <cstring>

#include "sanitizers.h"

namespace octavo::emulation {
namespace {

constexpr int kNotArrived = 0xFF;

// Constant sizes: a copy of 16 bytes is two instructions, and a sanitizer checks each.
void copy_bytes(void* to, const void* from, unsigned size) {
  switch (size) {
    case 4:
      std::memcpy(to, from, 4);
      break;
    case 8:
      std::memcpy(to, from, 8);
      break;
    default:
      std::memcpy(to, from, 16);
      break;
  }
}

void set_bytes(void* to, int value, unsigned size) {
  switch (size) {
    case 4:
      std::memset(to, value, 4);
      break;
    case 8:
      std::memset(to, value, 8);
      break;
    default:
      std::memset(to, value, 16);
      break;
  }
}

}  // namespace

void AsyncCopyQueue::reset() {
  open_.clear();
  committed_ = 0;
}

void AsyncCopyQueue::perform(const Copy& copy) {
  if (copy.from != nullptr) {
    copy_bytes(copy.to, copy.from, copy.size);
  } else {
    set_bytes(copy.to, 0, copy.size);
  }
}

void AsyncCopyQueue::issue(void* to, const void* from, unsigned size, bool is_late) {
  const Copy copy{to, from, size, committed_};
  if (!is_late) {
    perform(copy);
    return;
  }
  set_bytes(to, kNotArrived, size);
  const Quiet quiet;
  open_.push_back(copy);
}

void AsyncCopyQueue::commit() {
  const Quiet quiet;
  ++committed_;
}

void AsyncCopyQueue::wait(unsigned groups_left) {
  if (committed_ > groups_left) {
    perform_before(committed_ - groups_left);
  }
}

void AsyncCopyQueue::finish() {
  perform_before(committed_ + 1);
}

void AsyncCopyQueue::perform_before(std::uint32_t group) {
  std::size_t done = 0;
  while (done < open_.size() && open_[done].group < group) {
    perform(open_[done]);
    ++done;
  }
  const Quiet quiet;
  open_.erase(open_.begin(), open_.begin() + static_cast<std::ptrdiff_t>(done));
}

}  // namespace octavo::emulation
