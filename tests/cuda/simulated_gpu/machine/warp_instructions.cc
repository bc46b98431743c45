// What the lanes of a warp do together: shuffles and the warp's barrier.
#include <cstdint>

#include "tests/cuda/simulated_gpu/machine/instruction_set.h"
#include "tests/cuda/simulated_gpu/machine/warp.h"

namespace octavo::simulated_gpu {
namespace {

struct Source {
  unsigned lane;
  bool is_in_range;
};

// By the pseudocode of the PTX ISA, 9.7.9 (shfl.sync): `clamp` holds the end of a segment in its
// low five bits, and a mask of its size from bit 8 on.
struct Segment {
  unsigned mask;
  unsigned last;
  unsigned first;
};

Segment segment_of(unsigned lane, std::uint32_t clamp) {
  const unsigned mask = clamp >> 8 & 31u;
  return {mask, (lane & mask) | (clamp & 31u & ~mask), lane & mask};
}

Source butterfly(unsigned lane, unsigned by, const Segment& segment) {
  const unsigned from = lane ^ by;
  return {from, from <= segment.last};
}
Source indexed(unsigned /*lane*/, unsigned by, const Segment& segment) {
  const unsigned from = segment.first | (by & ~segment.mask);
  return {from, from <= segment.last};
}
Source up(unsigned lane, unsigned by, const Segment& segment) {
  const int from = static_cast<int>(lane) - static_cast<int>(by);
  return {static_cast<unsigned>(from), from >= static_cast<int>(segment.last)};
}

// Operands: result, whether it was in range, value, lane, clamp, members.
template <Source (*kSource)(unsigned, unsigned, const Segment&)>
void shuffle(Warp& warp, const Instruction& instruction, Mask lanes) {
  std::uint32_t values[kLanes];
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    values[lane] = warp.get<std::uint32_t>(instruction.operands[2], lane);
  }
  Mask in_range = 0;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    if ((lanes >> lane & 1u) == 0) {
      continue;
    }
    const unsigned by = warp.get<std::uint32_t>(instruction.operands[3], lane) & 31u;
    const auto clamp = warp.get<std::uint32_t>(instruction.operands[4], lane);
    Source source = kSource(lane, by, segment_of(lane, clamp));
    if (!source.is_in_range) {
      source.lane = lane;
    }
    if ((lanes >> source.lane & 1u) == 0) {
      warp.fail(instruction, lane, "a shuffle from a lane that takes no part");
    }
    warp.set(instruction.operands[0], lane, values[source.lane]);
    in_range |= static_cast<Mask>(source.is_in_range) << lane;
  }
  warp.set_predicate(instruction.operands[1], lanes, in_range);
}

}  // namespace

void add_warp_instructions(InstructionSet& set) {
  const auto add = [&](const char* opcode, const char* operands, int members, Handler execute) {
    Definition definition;
    definition.operands = operands;
    definition.form.flow = Flow::Collective;
    definition.form.execute = execute;
    definition.members_operand = members;
    set.add(opcode, definition);
  };
  add("shfl.sync.bfly.b32", "wpwwww", 5, &shuffle<&butterfly>);
  add("shfl.sync.idx.b32", "wpwwww", 5, &shuffle<&indexed>);
  add("shfl.sync.up.b32", "wpwwww", 5, &shuffle<&up>);
  add("bar.warp.sync", "w", 0, nullptr);
}

}  // namespace octavo::simulated_gpu
