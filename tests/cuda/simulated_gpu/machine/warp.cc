#include "tests/cuda/simulated_gpu/machine/warp.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "tests/cuda/simulated_gpu/machine/block_run.h"

namespace octavo::simulated_gpu {
namespace {

constexpr std::uint32_t kNowhere = std::numeric_limits<std::uint32_t>::max();

std::string text_of(const Extent& extent) {
  return "(" + std::to_string(extent.x) + ", " + std::to_string(extent.y) + ", " +
         std::to_string(extent.z) + ")";
}

}  // namespace

Warp::Warp(
    BlockRun& block, const Program& program, unsigned number, Mask lanes, RegisterFile registers)
    : block_(block),
      program_(program),
      number_(number),
      threads_(lanes),
      storage_(std::move(registers)) {
  // What a register holds that nobody has set is nothing a kernel may rely on.
  constexpr std::uint64_t kPoison = 0xC7D3A59B7FB1E86Du;
  const bool are_new = storage_.empty();
  storage_.resize(program.register_bytes / sizeof(std::uint64_t) + 1, kPoison);
  registers_ = reinterpret_cast<std::byte*>(storage_.data());
  if (are_new) {
    set_constants();
  }
}

void Warp::set_constants() {
  for (const Constant& constant : program_.constants) {
    if (constant.bytes == 0) {
      set<Mask>(constant.at, 0, constant.value != 0 ? kAllLanes : 0);
    }
    for (std::size_t lane = 0; lane < kLanes && constant.bytes != 0; ++lane) {
      std::memcpy(registers_ + constant.at + lane * constant.bytes, &constant.value,
                  constant.bytes);
    }
  }
}

void Warp::set_special(const std::uint32_t (&registers)[3], const Extent& values) {
  const std::uint32_t numbers[] = {values.x, values.y, values.z};
  for (unsigned i = 0; i < 3; ++i) {
    for (unsigned lane = 0; lane < kLanes && registers[i] != kNoRegister; ++lane) {
      set<std::uint32_t>(registers[i], lane, numbers[i]);
    }
  }
}

void Warp::set_thread_numbers() {
  const Extent& size = block_.shape().block;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const std::uint32_t thread = number_ * kLanes + lane;
    const std::uint32_t numbers[] = {thread % size.x, thread / size.x % size.y,
                                     thread / size.x / size.y};
    for (unsigned i = 0; i < 3; ++i) {
      if (program_.special.tid[i] != kNoRegister) {
        set<std::uint32_t>(program_.special.tid[i], lane, numbers[i]);
      }
    }
  }
}

void Warp::start() {
  set_thread_numbers();
  set_special(program_.special.ctaid, block_.index());
  set_special(program_.special.ntid, block_.shape().block);
  set_special(program_.special.nctaid, block_.shape().grid);
  copies_.forget();
  fragments_.assign(1, Fragment{0, threads_, false});
  state_ = State::Running;
}

void Warp::run(std::uint64_t steps_max) {
  std::uint64_t steps = steps_max;
  while (state_ == State::Running && steps > 0) {
    merge();
    if (fragments_.empty()) {
      state_ = State::Ended;
    } else if (Fragment* const fragment = furthest_behind()) {
      run_fragment(*fragment, steps);
    } else {
      stop_or_fail();
    }
  }
}

void Warp::merge() {
  for (std::size_t i = 0; i < fragments_.size(); ++i) {
    Fragment& first = fragments_[i];
    for (std::size_t j = fragments_.size() - 1; j > i; --j) {
      if (fragments_[j].at == first.at) {
        first.lanes |= fragments_[j].lanes;
        first.is_waiting = false;  // There are more of them now.
        fragments_.erase(fragments_.begin() + static_cast<std::ptrdiff_t>(j));
      }
    }
  }
  std::erase_if(fragments_, [](const Fragment& fragment) { return fragment.lanes == 0; });
}

Warp::Fragment* Warp::furthest_behind() {
  Fragment* found = nullptr;
  for (Fragment& fragment : fragments_) {
    if (!fragment.is_waiting && (found == nullptr || fragment.at < found->at)) {
      found = &fragment;
    }
  }
  return found;
}

std::uint32_t Warp::next_above(std::uint32_t at) const {
  std::uint32_t next = kNowhere;
  for (const Fragment& fragment : fragments_) {
    if (fragment.at > at) {
      next = std::min(next, fragment.at);
    }
  }
  return next;
}

Mask Warp::taking_part(const Fragment& fragment, const Instruction& instruction) const {
  if (instruction.guard == kNoRegister) {
    return fragment.lanes;
  }
  const Mask guard = predicate(instruction.guard);
  return fragment.lanes & (instruction.is_guard_negated ? ~guard : guard);
}

// Until it may have met another fragment, parted, or waits.
void Warp::run_fragment(Fragment& fragment, std::uint64_t& steps) {
  const std::uint32_t limit = next_above(fragment.at);
  for (bool goes_on = true; goes_on && steps > 0; --steps) {
    const Instruction& instruction = program_.code[fragment.at];
    const Mask lanes = taking_part(fragment, instruction);
    switch (instruction.flow) {
      case Flow::Next:
        if (lanes != 0) {
          instruction.execute(*this, instruction, lanes);
        }
        goes_on = ++fragment.at < limit;
        break;
      case Flow::Branch:
        goes_on = branch(fragment, instruction, lanes) && fragment.at < limit;
        break;
      case Flow::Exit:
        fragment.lanes &= ~lanes;
        ++fragment.at;
        goes_on = false;
        break;
      case Flow::Collective:
        goes_on = meet(fragment, instruction, lanes) && fragment.at < limit;
        break;
      case Flow::Barrier:
        if (instruction.guard != kNoRegister) {
          fail(instruction, 0, "a barrier that a predicate guards");
        }
        fragment.is_waiting = true;
        goes_on = false;
        break;
    }
  }
}

// Whether the fragment is still whole and may be run on.
bool Warp::branch(Fragment& fragment, const Instruction& instruction, Mask taken) {
  const Mask others = fragment.lanes & ~taken;
  if (taken == 0) {
    ++fragment.at;
    return true;
  }
  if (others == 0) {
    const bool is_alone = fragments_.size() == 1;
    fragment.at = instruction.target;
    return is_alone;
  }
  fragment.lanes = others;
  ++fragment.at;
  fragments_.push_back({instruction.target, taken, false});  // `fragment` may have moved.
  return false;
}

// Whether those that a collective names are all here, and it is done.
bool Warp::meet(Fragment& fragment, const Instruction& instruction, Mask lanes) {
  if (lanes == 0) {
    ++fragment.at;
    return true;
  }
  const auto first = static_cast<unsigned>(std::countr_zero(lanes));
  Mask members = kAllLanes;
  if (instruction.members != kNoRegister) {
    members = get<std::uint32_t>(instruction.members, first);
    for (unsigned lane = first; lane < kLanes; ++lane) {
      if ((lanes >> lane & 1u) != 0 && get<std::uint32_t>(instruction.members, lane) != members) {
        fail(instruction, lane, "lanes at a collective name different masks");
      }
    }
  }
  if ((lanes & ~members) != 0) {
    fail(instruction, first, "a lane is at a collective that does not name it");
  }
  if (lanes != members) {
    fragment.is_waiting = true;
    return false;
  }
  if (instruction.execute != nullptr) {
    instruction.execute(*this, instruction, lanes);
  }
  ++fragment.at;
  return true;
}

// All fragments wait.
void Warp::stop_or_fail() {
  const Fragment& first = fragments_.front();
  const Instruction& instruction = program_.code[first.at];
  const auto lane = static_cast<unsigned>(std::countr_zero(first.lanes));
  if (instruction.flow != Flow::Barrier) {
    fail(instruction, lane, "lanes that a collective names do not come to it");
  }
  if (first.lanes != threads_) {
    fail(instruction, lane, "a part of a warp is at a barrier that the rest does not come to");
  }
  state_ = State::AtBarrier;
}

bool Warp::any_at_barrier() const {
  const Instruction& instruction = barrier();
  return instruction.elements == 2 &&
         (predicate(instruction.operands[2]) & fragments_.front().lanes) != 0;
}

void Warp::pass_barrier(bool any) {
  Fragment& fragment = fragments_.front();
  const Instruction& instruction = program_.code[fragment.at];
  if (instruction.elements == 2) {
    set_predicate(instruction.operands[0], fragment.lanes, any ? kAllLanes : 0);
  }
  ++fragment.at;
  fragment.is_waiting = false;
  state_ = State::Running;
}

void Warp::fail(const Instruction& instruction, unsigned lane, const std::string& what) const {
  throw MachineError(program_.file + ":" + std::to_string(instruction.line) + ": " + program_.name +
                     ": block " + text_of(block_.index()) + ", thread " +
                     std::to_string(number_ * kLanes + lane) + ": " + what);
}

}  // namespace octavo::simulated_gpu
