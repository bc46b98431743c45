// Atomics, fences, and asynchronous copies.
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "tests/cuda/simulated_gpu/machine/access.h"
#include "tests/cuda/simulated_gpu/machine/block_run.h"
#include "tests/cuda/simulated_gpu/machine/instruction_set.h"
#include "tests/cuda/simulated_gpu/machine/warp.h"

namespace octavo::simulated_gpu {
namespace {

std::uint32_t increased(std::uint32_t old, std::uint32_t x) {
  return old + x;
}
// Counts to x and begins again.
std::uint32_t count_to(std::uint32_t old, std::uint32_t x) {
  return old >= x ? 0 : old + 1;
}

template <auto kFind, std::uint32_t (*kNext)(std::uint32_t, std::uint32_t)>
void atomic(Warp& warp, const Instruction& instruction, Mask lanes) {
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    if ((lanes >> lane & 1u) == 0) {
      continue;
    }
    const std::uint64_t address = address_of(warp, instruction, 1, lane);
    std::uint32_t old = 0;
    std::byte* const place = kFind(warp, {instruction, lane, address, sizeof(old)});
    std::memcpy(&old, place, sizeof(old));
    const std::uint32_t next = kNext(old, warp.get<std::uint32_t>(instruction.operands[2], lane));
    std::memcpy(place, &next, sizeof(next));
    warp.set(instruction.operands[0], lane, old);
  }
}

// cp.async [to], [from], size, read size: operands 0 and 1 are addresses with an offset each; that
// of `to` is none, as nvcc writes these from assembly that names registers alone.
void issue_copy(Warp& warp, const Instruction& instruction, Mask lanes) {
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    if ((lanes >> lane & 1u) == 0) {
      continue;
    }
    const std::uint32_t size = instruction.number;
    const auto to = warp.get<std::uint32_t>(instruction.operands[0], lane);
    const auto from = warp.get<std::uint64_t>(instruction.operands[1], lane);
    const auto read = warp.get<std::uint32_t>(instruction.operands[3], lane);
    SharedMemory& shared = warp.block().shared();
    if (shared.misplaced(to, size) != nullptr) {
      warp.fail(instruction, lane, "an asynchronous copy to no place of shared memory");
    }
    if (read > size) {
      warp.fail(instruction, lane, "an asynchronous copy that reads more than it writes");
    }
    // Aligned even where nothing is read.
    if (from % size != 0 ||
        (read > 0 && warp.block().misplaced(instruction, from, size) != nullptr)) {
      warp.fail(instruction, lane, "an asynchronous copy from no place of global memory");
    }
    const AsyncCopy issued{to, warp.block().memory().host(from), static_cast<std::uint8_t>(size),
                           static_cast<std::uint8_t>(read)};
    warp.copies().issue(lane, issued, warp.block().copies_at_once(), shared);
  }
}

void commit_copies(Warp& warp, const Instruction& /*instruction*/, Mask lanes) {
  warp.copies().commit(lanes);
}

void wait_for_copies(Warp& warp, const Instruction& instruction, Mask lanes) {
  warp.copies().wait(lanes, instruction.number, warp.block().shared());
}

// Instructions take effect in the order in which they run here.
void nothing(Warp& /*warp*/, const Instruction& /*instruction*/, Mask /*lanes*/) {}

}  // namespace

void add_atomics_and_copies(InstructionSet& set) {
  const auto add_with = [&](const char* opcode, const char* operands, Handler execute) {
    Definition definition;
    definition.operands = operands;
    definition.form.execute = execute;
    set.add(opcode, definition);
  };
  add_with("atom.shared.add.u32", "waw", &atomic<&find_shared, &increased>);
  add_with("atom.global.inc.u32", "waw", &atomic<&find_global, &count_to>);
  add_with("membar.gl", "", &nothing);
  add_with("cp.async.cg.shared.global", "wdnw", &issue_copy);
  add_with("cp.async.ca.shared.global", "wdnw", &issue_copy);
  add_with("cp.async.commit_group", "", &commit_copies);
  add_with("cp.async.wait_group", "n", &wait_for_copies);
}

}  // namespace octavo::simulated_gpu
