// One thread block being run: its threads as fibers that take turns, and what they share.
//
// A thread runs until it waits; then the next of the ready ones does, in the order of their numbers
// or, with a seed, any of them. A block is run from beginning to end by one OS thread.
#pragma once

#include <array>
#include <cstddef>
#include <deque>
#include <memory>
#include <string>

#include "barrier.h"
#include "options.h"
#include "random.h"
#include "ready_queue.h"
#include "sanitizers.h"
#include "shared_memory.h"
#include "thread.h"
#include "vector_types.h"
#include "warp.h"

namespace octavo::emulation {

inline constexpr unsigned kWarpSize = 32;
inline constexpr unsigned kMaxBlockThreads = 1024;

/// A kernel with its arguments.
struct KernelCall {
  void (*run)(const void* closure) = nullptr;
  const void* closure = nullptr;
};

/// What all blocks of a launch have in common.
struct Grid {
  cuda::dim3 grid_size;
  cuda::dim3 block_size;
  std::size_t shared_bytes = 0;
  KernelCall kernel;
  Options options;
  // Addresses to order by: the launch before its threads, and these before what follows the launch.
  char started = 0;
  char finished = 0;
};

/// Where the threads of a block wait for each other.
struct Meetings {
  Barrier barrier;
  std::array<Warp, kMaxBlockThreads / kWarpSize> warps;
};

class Block {
 public:
  Block();
  ~Block();
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  /// Runs the block `index` of `grid`. What the kernel did wrong, empty if nothing; another block
  /// can be run after either.
  std::string run(Grid& grid, cuda::uint3 index, Random random);

  const Grid& grid() const { return *grid_; }
  const cuda::uint3& index() const { return index_; }
  unsigned threads() const { return threads_; }
  unsigned exited() const { return exited_; }
  bool shuffles() const { return grid_->options.seed != 0; }
  Random& random() { return random_; }
  SharedMemory& shared() { return shared_; }
  Barrier& barrier() { return meetings_->barrier; }
  Thread& thread(unsigned number) { return *by_number_[number]; }

  /// Lets others run until somebody wakes the thread that calls. Never within a Quiet.
  void suspend();
  void wake(Thread& thread);
  void wake_all_but(const Thread& thread);
  /// Where a thread could go on: with a seed, others may come first.
  void maybe_yield();

  /// The kernel is in error: ends the run of the block, from whichever thread finds it.
  [[noreturn]] void raise(Quiet& quiet, std::string&& what);

  /// For memory order (atomics.h): makes what happened before the thread's last fence happen before
  /// whoever orders by `address`.
  void publish(Thread& thread, void* address);

 private:
  static void run_thread();
  void begin_thread(Thread& thread);
  void end_thread(Thread& thread);
  void assign_threads();
  void drop_threads();
  [[noreturn]] void raise_deadlock(Quiet& quiet);

  Grid* grid_ = nullptr;
  cuda::uint3 index_{};
  unsigned threads_ = 0;
  unsigned exited_ = 0;
  bool is_dropping_ = false;
  std::string error_;
  Random random_;
  ReadyQueue ready_;
  SharedMemory shared_;
  std::unique_ptr<Meetings> meetings_;
  std::deque<Thread> pool_;  // Kept from block to block, with their stacks.
  std::array<Thread*, kMaxBlockThreads> by_number_{};
  std::size_t rotation_ = 0;
  Fiber caller_;
  [[maybe_unused]] void* courier_ = nullptr;  // ThreadSanitizer's: see publish().
};

}  // namespace octavo::emulation
