#include "tests/cuda/simulated_gpu/machine/block_run.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

namespace octavo::simulated_gpu {

BlockRun::BlockRun(const Program& program,
                   const LaunchShape& shape,
                   std::span<const std::byte> parameters,
                   const GpuMemory& memory,
                   std::uint64_t seed,
                   std::vector<RegisterFile>& spare)
    : program_(program),
      shape_(shape),
      parameters_(parameters),
      memory_(memory),
      seed_(seed),
      random_(seed),
      shared_(program.interface.static_shared_bytes + shape.dynamic_shared_bytes),
      spare_(spare),
      last_ranges_(program.code.size()) {
  const std::uint32_t threads = shape.block.x * shape.block.y * shape.block.z;
  for (std::uint32_t first = 0; first < threads; first += kLanes) {
    const std::uint32_t count = std::min(threads - first, kLanes);
    const Mask lanes = count == kLanes ? kAllLanes : (Mask{1} << count) - 1;
    RegisterFile registers;
    if (!spare.empty()) {
      registers = std::move(spare.back());
      spare.pop_back();
    }
    warps_.push_back(
        std::make_unique<Warp>(*this, program, first / kLanes, lanes, std::move(registers)));
    turns_.push_back(warps_.back().get());
  }
}

BlockRun::~BlockRun() {
  for (const auto& warp : warps_) {
    spare_.push_back(warp->take_registers());
  }
}

// A warp may get far ahead of the others, or hardly from the spot.
std::uint64_t BlockRun::steps_of_a_turn() {
  constexpr std::uint32_t kMost = 400;
  return seed_ == 0 ? std::numeric_limits<std::uint64_t>::max() : 1 + random_.below(kMost);
}

void BlockRun::shuffle_warps() {
  for (std::size_t left = seed_ == 0 ? 0 : turns_.size(); left > 1; --left) {
    std::swap(turns_[left - 1], turns_[random_.below(static_cast<std::uint32_t>(left))]);
  }
}

void BlockRun::run(const Extent& index) {
  index_ = index;
  // Negative NaNs, and -1; or whatever is drawn.
  shared_.forget(seed_ == 0 ? ~std::uint64_t{0} : random_.next());
  for (const auto& warp : warps_) {
    warp->start();
  }
  do {
    bool anybody_ran = true;
    while (anybody_ran) {
      anybody_ran = false;
      shuffle_warps();
      for (Warp* warp : turns_) {
        if (warp->state() == Warp::State::Running) {
          warp->run(steps_of_a_turn());
          anybody_ran = true;
        }
      }
    }
  } while (pass_barrier());
}

// Nobody runs. False when all have ended.
bool BlockRun::pass_barrier() {
  const Warp* waiting = nullptr;
  bool any = false;
  for (const auto& warp : warps_) {
    if (warp->state() == Warp::State::AtBarrier) {
      waiting = waiting == nullptr ? warp.get() : waiting;
      any = any || warp->any_at_barrier();
    }
  }
  if (waiting == nullptr) {
    return false;
  }
  for (const auto& warp : warps_) {
    if (warp->state() == Warp::State::Ended) {
      waiting->fail(waiting->barrier(), 0,
                    "waits at a barrier while threads from " +
                        std::to_string(warp->number() * kLanes) + " on have ended");
    }
    if (&warp->barrier() != &waiting->barrier()) {
      waiting->fail(waiting->barrier(), 0,
                    "waits at a barrier while threads from " +
                        std::to_string(warp->number() * kLanes) + " on wait at that of line " +
                        std::to_string(warp->barrier().line));
    }
  }
  for (const auto& warp : warps_) {
    warp->pass_barrier(any);
  }
  return true;
}

const char* BlockRun::misplaced(const Instruction& instruction,
                                std::uint64_t address,
                                std::uint64_t size_bytes) {
  if (address % size_bytes != 0) {
    return "is not aligned to the access";
  }
  MemoryRange& range = last_ranges_[static_cast<std::size_t>(&instruction - program_.code.data())];
  if (address < range.begin || address >= range.end) {
    range = memory_.find(address);
  }
  if (address < range.begin || address >= range.end || range.end - address < size_bytes) {
    return "lies outside of what is allocated";
  }
  return nullptr;
}

}  // namespace octavo::simulated_gpu
