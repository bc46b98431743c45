// BlockRun: the blocks of one launch, one after the other.
//
// Owned by Machine::run. Threads: one at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "cuda/emulation/random.h"
#include "tests/cuda/simulated_gpu/machine/machine.h"
#include "tests/cuda/simulated_gpu/machine/memory.h"
#include "tests/cuda/simulated_gpu/machine/program.h"
#include "tests/cuda/simulated_gpu/machine/shared_memory.h"
#include "tests/cuda/simulated_gpu/machine/warp.h"

namespace octavo::simulated_gpu {

class BlockRun {
 public:
  /// All outlive it. It takes its registers from `spare`, as far as there are, and leaves them
  /// there: they are megabytes, and most launches small.
  BlockRun(const Program& program,
           const LaunchShape& shape,
           std::span<const std::byte> parameters,
           const GpuMemory& memory,
           std::uint64_t seed,
           std::vector<RegisterFile>& spare);
  ~BlockRun();
  BlockRun(const BlockRun&) = delete;
  BlockRun& operator=(const BlockRun&) = delete;

  /// Throws MachineError.
  void run(const Extent& index);

  const LaunchShape& shape() const { return shape_; }
  const Extent& index() const { return index_; }
  std::span<const std::byte> parameters() const { return parameters_; }
  SharedMemory& shared() { return shared_; }

  /// Whether a copy that may happen now or later happens now.
  bool copies_at_once() { return seed_ != 0 && random_.below(2) == 0; }

  const GpuMemory& memory() const { return memory_; }

  /// What keeps an instruction from reaching global memory; null when nothing does.
  const char* misplaced(const Instruction& instruction,
                        std::uint64_t address,
                        std::uint64_t size_bytes);

 private:
  std::uint64_t steps_of_a_turn();
  void shuffle_warps();
  bool pass_barrier();

  const Program& program_;
  const LaunchShape& shape_;
  std::span<const std::byte> parameters_;
  const GpuMemory& memory_;
  std::uint64_t seed_;
  emulation::Random random_;
  Extent index_;
  SharedMemory shared_;
  std::vector<std::unique_ptr<Warp>> warps_;
  std::vector<Warp*> turns_;
  std::vector<RegisterFile>& spare_;
  std::vector<MemoryRange> last_ranges_;  ///< Where each instruction found its memory last.
};

}  // namespace octavo::simulated_gpu
