#include "launch.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <numeric>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "messages.h"
#include "octavo/error.h"

namespace octavo::emulation {
namespace {

// Blocks that nobody runs. They own the stacks of their threads, so making one anew for every
// launch would cost more than most launches.
class BlockPool {
 public:
  BlockPool() = default;
  BlockPool(const BlockPool&) = delete;
  BlockPool& operator=(const BlockPool&) = delete;
  ~BlockPool() {
    const Quiet quiet;
    idle_.clear();
  }

  std::unique_ptr<Block> take() {
    const std::lock_guard lock(mutex_);
    if (idle_.empty()) {
      return std::make_unique<Block>();
    }
    std::unique_ptr<Block> block = std::move(idle_.back());
    idle_.pop_back();
    return block;
  }

  void put(std::unique_ptr<Block> block) {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(block));
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<Block>> idle_;
};

BlockPool& block_pool() {
  static BlockPool pool;
  return pool;
}

[[noreturn]] void refuse(const std::string& what) {
  throw Error(ErrorCode::DeviceError, "emulated launch: " + what);
}

// What cudaLaunchKernel refuses on a GPU of compute capability 9.0.
void check_shape(const Grid& grid) {
  const cuda::dim3& blocks = grid.grid_size;
  const cuda::dim3& threads = grid.block_size;
  if (blocks.x == 0 || blocks.y == 0 || blocks.z == 0 || blocks.x > 0x7FFFFFFFu ||
      blocks.y > 65535 || blocks.z > 65535) {
    refuse("a grid of " + to_text(blocks) + " blocks; each extent is at least 1 and at most " +
           "2147483647, 65535, 65535");
  }
  if (threads.x == 0 || threads.y == 0 || threads.z == 0 || threads.x > 1024 || threads.y > 1024 ||
      threads.z > 64 || threads.x * threads.y * threads.z > kMaxBlockThreads) {
    refuse("a block of " + to_text(threads) + " threads; 1 to 1024 in all, z up to 64");
  }
  if (grid.shared_bytes > kSharedBytes) {
    refuse(std::to_string(grid.shared_bytes) + " bytes of dynamic shared memory; at most " +
           std::to_string(kSharedBytes));
  }
}

// One launch being run by some OS threads, which take block after block.
class Run {
 public:
  Run(Grid& grid, std::uint64_t launch_number)
      : grid_(grid), random_(Random(grid.options.seed).part(launch_number)) {
    const cuda::dim3& size = grid.grid_size;
    blocks_ = std::uint64_t{size.x} * size.y * size.z;
    if (grid.options.seed != 0) {
      order_.resize(blocks_);
      std::iota(order_.begin(), order_.end(), std::uint64_t{0});
      for (std::uint64_t i = blocks_; i > 1; --i) {
        std::swap(order_[i - 1], order_[random_.next() % i]);
      }
    }
  }

  std::uint64_t blocks() const { return blocks_; }
  const std::string& error() const { return error_; }

  void work() {
    std::unique_ptr<Block> block = block_pool().take();
    while (!has_failed_.load(std::memory_order_relaxed)) {
      const std::uint64_t turn = next_.fetch_add(1, std::memory_order_relaxed);
      if (turn >= blocks_) {
        break;
      }
      const std::uint64_t number = order_.empty() ? turn : order_[turn];
      // A block's draws are its own, so they do not depend on who runs it.
      std::string error = block->run(grid_, index_of(number), random_.part(number));
      if (!error.empty()) {
        fail(turn, std::move(error));
      }
    }
    block_pool().put(std::move(block));
  }

 private:
  cuda::uint3 index_of(std::uint64_t number) const {
    const std::uint64_t across = grid_.grid_size.x;
    const std::uint64_t down = grid_.grid_size.y;
    return {static_cast<unsigned>(number % across), static_cast<unsigned>(number / across % down),
            static_cast<unsigned>(number / across / down)};
  }

  // Of several errors, that of the block whose turn came first.
  void fail(std::uint64_t turn, std::string error) {
    const std::lock_guard lock(mutex_);
    if (error_.empty() || turn < error_turn_) {
      error_ = std::move(error);
      error_turn_ = turn;
    }
    has_failed_.store(true, std::memory_order_relaxed);
  }

  Grid& grid_;
  Random random_;
  std::uint64_t blocks_ = 0;
  std::vector<std::uint64_t> order_;  // Empty: as numbered.
  std::atomic<std::uint64_t> next_{0};
  std::atomic<bool> has_failed_{false};
  std::mutex mutex_;
  std::string error_;
  std::uint64_t error_turn_ = 0;
};

std::uint64_t worker_count(int workers, std::uint64_t blocks) {
  const unsigned cores = std::max(std::thread::hardware_concurrency(), 1u);
  const unsigned wanted = workers > 0 ? static_cast<unsigned>(workers) : cores;
  return std::min<std::uint64_t>(wanted, blocks);
}

}  // namespace

void run_grid(Grid& grid, LaunchSequence* sequence) {
  if (current_thread != nullptr) {
    Quiet quiet;
    current_thread->block->raise(quiet, "a kernel launches a kernel");
  }
  std::uint64_t launch_number = 0;
  if (sequence != nullptr) {
    grid.options = sequence->options;
    launch_number = sequence->launches++;
  }
  check_shape(grid);
  Run run(grid, launch_number);
  order_release(&grid.started);
  {
    std::vector<std::jthread> helpers;
    const std::uint64_t workers = worker_count(grid.options.workers, run.blocks());
    for (std::uint64_t i = 1; i < workers; ++i) {
      helpers.emplace_back([&run] { run.work(); });
    }
    run.work();
  }
  order_acquire(&grid.finished);
  if (!run.error().empty()) {
    throw Error(ErrorCode::Internal, run.error());
  }
}

}  // namespace octavo::emulation
