#include "barrier.h"

#include <utility>

#include "block.h"
#include "messages.h"
#include "thread.h"

namespace octavo::emulation {

void Barrier::reset() {
  waiting_ = 0;
  first_ = nullptr;
}

std::string Barrier::waits() const {
  return std::to_string(waiting_) + " from " + named(*first_) + " on wait in " +
         placed(operation_, site_);
}

unsigned Barrier::pass(Thread& thread, Operation operation, bool predicate, Site site) {
  Block& block = *thread.block;
  const unsigned round = round_;
  bool is_last = false;
  {
    Quiet quiet;
    if (block.exited() > 0) {
      std::string what = placed(operation, site) + ", where " + named(thread) +
                         " waits for the whole block, after " + std::to_string(block.exited()) +
                         " of its threads have ended";
      block.raise(quiet, std::move(what));
    }
    if (waiting_ == 0) {
      operation_ = operation;
      site_ = site;
      first_ = &thread;
      passed_ = 0;
    } else if (operation != operation_ || !(site == site_)) {
      std::string what = "divergent barrier: " + named(thread) + " comes to " +
                         placed(operation, site) + " while " + named(*first_) + " waits in " +
                         placed(operation_, site_);
      block.raise(quiet, std::move(what));
    }
    order_release(&orders_[round]);
    passed_ += predicate ? 1u : 0u;
    is_last = ++waiting_ == block.threads();
    if (is_last) {
      results_[round] = passed_;
      round_ = 1 - round;
      waiting_ = 0;
      block.wake_all_but(thread);
    } else {
      thread.waits_in = operation;
      thread.waits_at = site;
    }
  }
  if (is_last) {
    block.maybe_yield();
  } else {
    block.suspend();
  }
  order_acquire(&orders_[round]);
  return results_[round];
}

}  // namespace octavo::emulation
