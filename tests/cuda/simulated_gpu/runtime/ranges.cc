#include "tests/cuda/simulated_gpu/runtime/ranges.h"

#include <iterator>
#include <sstream>

namespace octavo::simulated_gpu {
namespace {

/// The entry of `ranges`, which are named by where they begin, that `address` may lie in.
template <class Ranges>
auto find_before(Ranges& ranges, std::uint64_t address) {
  const auto next = ranges.upper_bound(address);
  return next == ranges.begin() ? ranges.end() : std::prev(next);
}

std::string to_text(const void* data, std::uint64_t size_bytes) {
  std::ostringstream text;
  text << size_bytes << " bytes at " << data;
  return text.str();
}

}  // namespace

bool is_allocated(const Gpu& gpu, const void* data, std::uint64_t size_bytes) {
  const std::uint64_t address = address_of(data);
  const auto found = find_before(gpu.allocations, address);
  return found != gpu.allocations.end() &&
         address + size_bytes <= found->first + found->second.size_bytes;
}

HostRange find_host_range(const Runtime& runtime, const void* data, std::uint64_t size_bytes) {
  const std::uint64_t begin = address_of(data);
  const std::uint64_t end = begin + size_bytes;
  if (data == nullptr || runtime.space.holds(begin)) {
    return HostRange::Wrong;
  }
  const auto last = find_before(runtime.pinned, end - 1);
  if (last == runtime.pinned.end() || last->first + last->second.size_bytes <= begin) {
    return HostRange::Pageable;
  }
  const bool is_within = last->first <= begin && end <= last->first + last->second.size_bytes;
  return is_within && last->second.is_live ? HostRange::Pinned : HostRange::Wrong;
}

void require_allocated(const Gpu& gpu,
                       const void* data,
                       std::uint64_t size_bytes,
                       const char* what) {
  const std::uint64_t address = address_of(data);
  const MemoryRange range = gpu.memory.find(address);
  if (range.end == 0 || address + size_bytes > range.end) {
    throw Fault(std::string(what) + ", " + to_text(data, size_bytes) +
                ", is not allocated: not yet, or not any more, in the order of its stream");
  }
}

void require_pinned(const Runtime& runtime,
                    const void* data,
                    std::uint64_t size_bytes,
                    const char* what) {
  if (find_host_range(runtime, data, size_bytes) != HostRange::Pinned) {
    throw Fault(std::string(what) + ", " + to_text(data, size_bytes) +
                ", was pinned and has been freed meanwhile");
  }
}

}  // namespace octavo::simulated_gpu
