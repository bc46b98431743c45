#include "block.h"

#include <algorithm>
#include <utility>

#include "messages.h"

namespace octavo::emulation {

constinit thread_local Thread* current_thread = nullptr;

namespace {

// Where races are looked for, a block's threads are other fibers than those of the block before:
// one fiber cannot race with itself, and keeps what its block's barriers told it. Two blocks' worth
// is what memory allows: such a fiber takes most of a megabyte.
constexpr std::size_t kFewestFibers = 64;

std::size_t fibers_for(unsigned threads) {
  return kDetectsRaces ? std::max(kFewestFibers, std::size_t{2} * threads) : threads;
}

// Stacks begin at different places of a page: equal ones would share a few sets of the cache.
std::size_t stagger_of(std::size_t number) {
  constexpr std::size_t kCacheLine = 64;
  return number % 61 * 7 * kCacheLine;
}

}  // namespace

Block::Block() {
#if defined(OCTAVO_EMULATION_TSAN)
  courier_ = __tsan_create_fiber(0);
#endif
}

Block::~Block() {
#if defined(OCTAVO_EMULATION_TSAN)
  __tsan_destroy_fiber(courier_);
#endif
}

std::string Block::run(Grid& grid, cuda::uint3 index, Random random) {
  Quiet quiet;
  grid_ = &grid;
  index_ = index;
  random_ = random;
  threads_ = grid.block_size.x * grid.block_size.y * grid.block_size.z;
  exited_ = 0;
  error_.clear();
  shared_.reset(grid.shared_bytes);
  ready_.clear();
  // Their addresses order memory: new ones, or the threads of one block would be ordered behind
  // those of the block before.
  if (meetings_ == nullptr || kDetectsRaces) {
    meetings_ = std::make_unique<Meetings>();
  }
  meetings_->barrier.reset();
  assign_threads();
  caller_.adopt_caller();
  order_release(&grid.started);  // This OS thread's own variables were made before.
  Thread* first = shuffles() ? ready_.pop_any(random_) : ready_.pop_first();
  current_thread = first;
  Fiber::switch_to(caller_, first->fiber);
  if (!error_.empty()) {
    drop_threads();
  }
  current_thread = nullptr;
  return std::exchange(error_, {});
}

void Block::assign_threads() {
  while (pool_.size() < fibers_for(threads_)) {
    pool_.emplace_back();
  }
  for (unsigned i = 0; i < threads_; ++i) {
    const std::size_t place = (i + rotation_) % pool_.size();
    Thread& thread = pool_[place];
    const unsigned across = grid_->block_size.x;
    const unsigned down = grid_->block_size.y;
    thread.block = this;
    thread.number = i;
    thread.index = {i % across, i / across % down, i / across / down};
    thread.lane = i % kWarpSize;
    thread.warp = &meetings_->warps[i / kWarpSize];
    thread.waits_in = Operation::None;
    thread.copies.reset();
    thread.fences.observations = 0;
    if (!thread.is_prepared) {
      thread.fiber.prepare(&Block::run_thread, stagger_of(place));
      thread.is_prepared = true;
    }
    by_number_[i] = &thread;
    ready_.push(&thread);
  }
  rotation_ += kDetectsRaces ? threads_ : 0;
  for (unsigned first = 0; first < threads_; first += kWarpSize) {
    const unsigned lanes = std::min(threads_ - first, kWarpSize);
    meetings_->warps[first / kWarpSize].reset(0xFFFFFFFFu >> (kWarpSize - lanes));
  }
}

// The fibers that an error left within the kernel are resumed once, to leave for good: only the
// fiber itself can give back what AddressSanitizer keeps for it.
void Block::drop_threads() {
  is_dropping_ = true;
  for (unsigned i = 0; i < threads_; ++i) {
    Thread& thread = *by_number_[i];
    if (thread.is_running) {
      current_thread = &thread;
      Fiber::switch_to(caller_, thread.fiber);
    }
    if (thread.is_running || !thread.is_prepared) {
      thread.fiber.abandon();
      thread.is_running = false;
      thread.is_prepared = false;
    }
  }
  is_dropping_ = false;
}

OCTAVO_EMULATION_UNSANITIZED void Block::run_thread() {
  Fiber::arrive();
  Thread& thread = *current_thread;  // A fiber stays the same thread's.
  for (;;) {
    Block& block = *thread.block;
    block.begin_thread(thread);
    block.grid_->kernel.run(block.grid_->kernel.closure);
    block.end_thread(thread);
  }
}

void Block::begin_thread(Thread& thread) {
  const Quiet quiet;
  thread.is_running = true;
  order_acquire(&grid_->started);
}

// Returns when the thread is one of the next block.
void Block::end_thread(Thread& thread) {
  thread.copies.finish();
  Fiber* next = &caller_;
  {
    Quiet quiet;
    if (meetings_->barrier.waiting() > 0) {
      std::string what = named(thread) + " ends while " + meetings_->barrier.waits();
      raise(quiet, std::move(what));
    }
    thread.warp->end_lane(quiet, thread);
    order_release(&grid_->finished);
    thread.is_running = false;
    current_thread = nullptr;
    if (++exited_ < threads_) {
      if (ready_.empty()) {
        current_thread = &thread;
        raise_deadlock(quiet);
      }
      current_thread = shuffles() ? ready_.pop_any(random_) : ready_.pop_first();
      next = &current_thread->fiber;
    }
  }
  Fiber::switch_to(thread.fiber, *next);
}

void Block::suspend() {
  Thread& thread = *current_thread;
  Thread* next = nullptr;
  {
    Quiet quiet;
    if (ready_.empty()) {
      raise_deadlock(quiet);
    }
    next = shuffles() ? ready_.pop_any(random_) : ready_.pop_first();
    current_thread = next;
  }
  if (next != &thread) {
    Fiber::switch_to(thread.fiber, next->fiber);
    if (is_dropping_) {
      order_release(&grid_->finished);
      Fiber::leave(thread.fiber, caller_);
    }
  }
  thread.waits_in = Operation::None;
}

void Block::wake(Thread& thread) {
  ready_.push(&thread);
}

void Block::wake_all_but(const Thread& thread) {
  for (unsigned i = 0; i < threads_; ++i) {
    if (by_number_[i] != &thread) {
      wake(*by_number_[i]);
    }
  }
}

void Block::maybe_yield() {
  if (shuffles()) {
    {
      const Quiet quiet;
      ready_.push(current_thread);
    }
    suspend();
  }
}

void Block::raise(Quiet& quiet, std::string&& what) {
  Thread& thread = *current_thread;
  error_ = "kernel error: " + what + " [block " + to_text(index_) + " of grid " +
           to_text(grid_->grid_size) + ", found in " + named(thread) + " of " +
           to_text(grid_->block_size) + "]";
  std::string().swap(what);  // Nobody comes back to free it.
  thread.is_running = false;
  thread.is_prepared = false;
  current_thread = nullptr;
  order_release(&grid_->finished);
  quiet.end();
  Fiber::leave(thread.fiber, caller_);
}

void Block::raise_deadlock(Quiet& quiet) {
  std::string what = "deadlock: " + waits_of(*this);
  raise(quiet, std::move(what));
}

OCTAVO_EMULATION_UNSANITIZED void Block::publish(Thread& thread, void* address) {
#if defined(OCTAVO_EMULATION_TSAN)
  // Released by somebody who knows of the thread's past what the fence knew, and no more: what the
  // thread wrote since then stays unordered.
  __tsan_switch_to_fiber(courier_, __tsan_switch_to_fiber_no_sync);
  __tsan_acquire(&thread.fences.released);
  __tsan_release(address);
  __tsan_switch_to_fiber(thread.fiber.identity(), __tsan_switch_to_fiber_no_sync);
#else
  static_cast<void>(thread);
  static_cast<void>(address);
#endif
}

}  // namespace octavo::emulation
