// Warp: the registers of 32 threads, and where in the program they are.
//
// Threads that have parted go on as fragments, each a set of lanes at one place. The fragment that
// is furthest behind in the text runs first and stops where it meets another: so lanes that part at
// a branch meet again behind it. A fragment that has come to a collective waits there for the lanes
// that it names; when nobody can go on, they will not come.
//
// Owned by the BlockRun of a launch. Threads: one at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "tests/cuda/simulated_gpu/machine/async_copies.h"
#include "tests/cuda/simulated_gpu/machine/program.h"

namespace octavo::simulated_gpu {

class BlockRun;

class Warp {
 public:
  enum class State { Running, AtBarrier, Ended };

  /// `lanes`: those that have a thread. `registers`: another warp's of the same program, or none.
  Warp(
      BlockRun& block, const Program& program, unsigned number, Mask lanes, RegisterFile registers);

  /// To the kernel's first instruction, in the block that `block` is at now.
  void start();

  /// Until it comes to a barrier, ends, or has done `steps_max` instructions.
  void run(std::uint64_t steps_max);
  State state() const { return state_; }

  /// Of a warp at a barrier: the instruction, and whether what it asks is true of any lane.
  const Instruction& barrier() const { return program_.code[fragments_.front().at]; }
  bool any_at_barrier() const;
  /// Past it. `any`: whether it was true of any lane of the block.
  void pass_barrier(bool any);

  /// At the end of its life.
  RegisterFile take_registers() { return std::move(storage_); }

  unsigned number() const { return number_; }
  BlockRun& block() { return block_; }
  AsyncCopies& copies() { return copies_; }

  template <typename T>
  T get(std::uint32_t at, unsigned lane) const {
    T value;
    std::memcpy(&value, registers_ + at + lane * sizeof(T), sizeof(T));
    return value;
  }
  template <typename T>
  void set(std::uint32_t at, unsigned lane, T value) {
    std::memcpy(registers_ + at + lane * sizeof(T), &value, sizeof(T));
  }
  Mask predicate(std::uint32_t at) const { return get<Mask>(at, 0); }
  void set_predicate(std::uint32_t at, Mask lanes, Mask values) {
    set<Mask>(at, 0, (predicate(at) & ~lanes) | (values & lanes));
  }

  [[noreturn]] void fail(const Instruction& instruction,
                         unsigned lane,
                         const std::string& what) const;

 private:
  struct Fragment {
    std::uint32_t at = 0;  ///< Index of an instruction.
    Mask lanes = 0;
    bool is_waiting = false;
  };

  void set_constants();
  void set_special(const std::uint32_t (&registers)[3], const Extent& values);
  void set_thread_numbers();
  void merge();
  Fragment* furthest_behind();
  std::uint32_t next_above(std::uint32_t at) const;
  void run_fragment(Fragment& fragment, std::uint64_t& steps);
  Mask taking_part(const Fragment& fragment, const Instruction& instruction) const;
  bool branch(Fragment& fragment, const Instruction& instruction, Mask taken);
  bool meet(Fragment& fragment, const Instruction& instruction, Mask lanes);
  void stop_or_fail();

  BlockRun& block_;
  const Program& program_;
  unsigned number_;
  Mask threads_;
  State state_ = State::Ended;
  RegisterFile storage_;
  std::byte* registers_;
  std::vector<Fragment> fragments_;
  AsyncCopies copies_;
};

}  // namespace octavo::simulated_gpu
