#include "warp.h"

#include <bit>
#include <utility>

#include "block.h"
#include "messages.h"
#include "thread.h"

namespace octavo::emulation {
namespace {

constexpr std::uint32_t kAllLanes = 0xFFFFFFFFu;

bool agree(const Collective& a, const Collective& b) {
  return a.mask == b.mask && a.operation == b.operation && a.width == b.width && a.site == b.site &&
         a.function == b.function;
}

bool is_shuffle(Operation operation) {
  return operation >= Operation::Shuffle && operation <= Operation::ShuffleXor;
}

// The lane that `lane` reads; itself where the other lies outside of its group.
std::size_t source_of(Operation operation, std::size_t lane, std::int32_t argument, int width) {
  const auto size = static_cast<std::int32_t>(width);
  const auto own = static_cast<std::int32_t>(lane);
  const std::int32_t first = own & ~(size - 1);
  std::int32_t source = own;
  switch (operation) {
    case Operation::Shuffle:
      source = first + (argument & (size - 1));
      break;
    case Operation::ShuffleUp:
      source = own - argument >= first ? own - argument : own;
      break;
    case Operation::ShuffleDown:
      source = own + argument < first + size ? own + argument : own;
      break;
    default:  // Earlier groups can be read, later ones cannot.
      source = (own ^ argument) < first + size ? own ^ argument : own;
      break;
  }
  return static_cast<std::size_t>(source);
}

// What is wrong with the call in itself, empty if nothing.
std::string wrong_call(const Collective& call, const Thread& thread, std::int32_t argument) {
  if ((call.mask >> thread.lane & 1u) == 0) {
    return "lane " + std::to_string(thread.lane) + " is not in the mask " + to_hex(call.mask);
  }
  if (!is_shuffle(call.operation)) {
    return {};
  }
  if (call.width < 1 || call.width > 32 || (call.width & (call.width - 1)) != 0) {
    return "the width " + std::to_string(call.width) + " is no power of two up to 32";
  }
  if (call.operation != Operation::Shuffle && (argument < 0 || argument > 31)) {
    return "the distance " + std::to_string(argument) + " is outside [0, 32)";
  }
  return {};
}

}  // namespace

void Warp::reset(std::uint32_t lanes) {
  open_count_ = 0;
  lanes_ = lanes;
  ended_ = 0;
}

std::uint64_t Warp::take_part(Thread& thread,
                              const Collective& call,
                              std::uint64_t value,
                              std::int32_t argument) {
  Block& block = *thread.block;
  const std::uint32_t bit = 1u << thread.lane;
  char* order = nullptr;
  bool is_last = false;
  {
    Quiet quiet;
    if ((call.mask & bit) == 0 || is_shuffle(call.operation)) {
      if (std::string wrong = wrong_call(call, thread, argument); !wrong.empty()) {
        wrong = placed(call.operation, call.site) + ": " + wrong;
        block.raise(quiet, std::move(wrong));
      }
    }
    Open& open = join(quiet, thread, call);
    values_[thread.lane] = value;
    arguments_[thread.lane] = argument;
    open.arrived |= bit;
    order = open.order;
    if (call.operation == Operation::Syncwarp) {
      order_release(order);
    }
    is_last = open.arrived == open.lanes;
    if (is_last) {
      complete(quiet, thread, open);
      wake_others(thread, open);
      open = open_[--open_count_];
    } else {
      thread.waits_in = call.operation;
      thread.waits_at = call.site;
    }
  }
  if (is_last) {
    block.maybe_yield();
  } else {
    block.suspend();
  }
  // Only __syncwarp orders memory; the others move a register.
  if (call.operation == Operation::Syncwarp) {
    order_acquire(order);
  }
  return results_[thread.lane];
}

Warp::Open& Warp::join(Quiet& quiet, Thread& thread, const Collective& call) {
  for (std::size_t i = 0; i < open_count_; ++i) {
    Open& open = open_[i];
    if ((open.call.mask & call.mask) != 0) {
      if (!agree(open.call, call)) {
        raise_divergent(quiet, thread, call, open);
      }
      return open;
    }
  }
  if ((call.mask & ended_) != 0) {
    std::string what = placed(call.operation, call.site) + ", where " + named(thread) +
                       " comes: the mask " + to_hex(call.mask) + " names lane " +
                       std::to_string(std::countr_zero(call.mask & ended_)) + ", which has ended";
    thread.block->raise(quiet, std::move(what));
  }
  if (call.function != nullptr && (call.mask & lanes_) != kAllLanes) {
    std::string what = placed(call.operation, call.site) + " in a warp that has not 32 lanes";
    thread.block->raise(quiet, std::move(what));
  }
  Open& open = open_[open_count_++];
  open = {call, call.mask & lanes_, 0, &orders_[next_order_++ % orders_.size()]};
  return open;
}

void Warp::raise_divergent(Quiet& quiet, Thread& thread, const Collective& call, const Open& open) {
  std::string what =
      "divergent warp: " + named(thread) + " comes to " + placed(call.operation, call.site) +
      " with mask " + to_hex(call.mask) + " while lanes " + to_hex(open.arrived) + " wait in " +
      placed(open.call.operation, open.call.site) + " with mask " + to_hex(open.call.mask);
  thread.block->raise(quiet, std::move(what));
}

void Warp::end_lane(Quiet& quiet, Thread& thread) {
  for (std::size_t i = 0; i < open_count_; ++i) {
    const Open& open = open_[i];
    if ((open.lanes >> thread.lane & 1u) != 0) {
      std::string what = named(thread) + " ends while lanes " + to_hex(open.arrived) +
                         " wait for it in " + placed(open.call.operation, open.call.site);
      thread.block->raise(quiet, std::move(what));
    }
  }
  ended_ |= 1u << thread.lane;
}

void Warp::complete(Quiet& quiet, Thread& thread, const Open& open) {
  switch (open.call.operation) {
    case Operation::Syncwarp:
      break;
    case Operation::Ballot:
    case Operation::Any:
    case Operation::All:
      vote(open);
      break;
    case Operation::MatrixProduct:
    case Operation::MatrixLoad:
      open.call.function(values_.data());
      break;
    default:
      shuffle(quiet, thread, open);
      break;
  }
}

void Warp::vote(const Open& open) {
  std::uint32_t ballot = 0;
  for (std::uint32_t left = open.lanes; left != 0; left &= left - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(left));
    ballot |= (values_[lane] != 0 ? 1u : 0u) << lane;
  }
  std::uint64_t result = ballot;
  if (open.call.operation == Operation::Any) {
    result = ballot != 0 ? 1 : 0;
  } else if (open.call.operation == Operation::All) {
    result = ballot == open.lanes ? 1 : 0;
  }
  for (std::uint32_t left = open.lanes; left != 0; left &= left - 1) {
    results_[static_cast<unsigned>(std::countr_zero(left))] = result;
  }
}

void Warp::shuffle(Quiet& quiet, Thread& thread, const Open& open) {
  const Operation operation = open.call.operation;
  for (std::uint32_t left = open.lanes; left != 0; left &= left - 1) {
    const auto lane = static_cast<std::size_t>(std::countr_zero(left));
    const std::size_t source = source_of(operation, lane, arguments_[lane], open.call.width);
    if ((open.lanes >> source & 1u) == 0) {
      std::string what = placed(operation, open.call.site) + ": lane " + std::to_string(lane) +
                         " reads lane " + std::to_string(source) + ", which takes no part (mask " +
                         to_hex(open.call.mask) + ")";
      thread.block->raise(quiet, std::move(what));
    }
    results_[lane] = values_[source];
  }
}

void Warp::wake_others(Thread& thread, const Open& open) {
  Block& block = *thread.block;
  const unsigned first = thread.number - thread.lane;
  for (std::uint32_t left = open.lanes & ~(1u << thread.lane); left != 0; left &= left - 1) {
    block.wake(block.thread(first + static_cast<unsigned>(std::countr_zero(left))));
  }
}

}  // namespace octavo::emulation
