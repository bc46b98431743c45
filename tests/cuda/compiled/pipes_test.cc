#include "tests/cuda/compiled/pipes.h"

#include <utility>

#include <gtest/gtest.h>

namespace octavo::compiled {
namespace {

SassInstruction instruction(unsigned operation, std::uint64_t width = 0) {
  SassInstruction result;
  result.low = operation;
  result.high = width << 9;
  return result;
}

TEST(Pipes, EveryInstructionTakesAnIssueSlot) {
  for (unsigned operation = 0; operation < 0x200; ++operation) {
    EXPECT_EQ(pipe_clocks(instruction(operation))[Pipe::Issue], 0.25) << operation;
  }
}

TEST(Pipes, AWarpTakesAPipeAsLongAsItHasTooFewLanes) {
  EXPECT_EQ(pipe_clocks(instruction(0x223))[Pipe::Float], 0.25);                // FFMA
  EXPECT_EQ(pipe_clocks(instruction(0x224))[Pipe::Float], 0.5);                 // IMAD
  EXPECT_EQ(pipe_clocks(instruction(0x212))[Pipe::Integer], 0.5);               // LOP3
  EXPECT_EQ(pipe_clocks(instruction(0x23E))[Pipe::Narrow], 0.5);                // F2FP
  EXPECT_EQ(pipe_clocks(instruction(0x308))[Pipe::Special], 2.0);               // MUFU
  EXPECT_EQ(pipe_clocks(instruction(0xF89))[Pipe::Memory], 1.0);                // SHFL
  EXPECT_EQ(pipe_clocks(instruction(0x23C))[Pipe::Tensor], 2.0);                // HMMA
  EXPECT_EQ(pipe_clocks(instruction(0x947)), pipe_clocks(instruction(0x94D)));  // BRA, EXIT
}

TEST(Pipes, AccessesTakeAsLongAsTheirBytes) {
  for (const auto& [width, bytes] : {std::pair(0u, 1u), {2u, 2u}, {4u, 4u}, {5u, 8u}, {6u, 16u}}) {
    const SassInstruction load = instruction(0x981, width);
    EXPECT_EQ(access_bytes(load), bytes);
    EXPECT_EQ(pipe_clocks(load)[Pipe::Memory], bytes <= 4 ? 1.0 : bytes / 4.0);
  }
  EXPECT_EQ(access_bytes(instruction(0x223, 6)), 0u);
}

TEST(Pipes, MatricesTakeAClockEach) {
  for (const unsigned power : {0u, 1u, 2u}) {
    SassInstruction load = instruction(0x83B);
    load.high = 0x4000u | power << 8;
    EXPECT_EQ(pipe_clocks(load)[Pipe::Memory], 1u << power);
  }
}

TEST(Pipes, WhatIsNeverExecutedTakesAnIssueSlotAlone) {
  SassInstruction load = instruction(0x984, 6);  // LDS.128
  EXPECT_EQ(pipe_clocks(load)[Pipe::Memory], 4.0);
  load.low |= 0x7000;  // Always.
  EXPECT_EQ(pipe_clocks(load)[Pipe::Memory], 4.0);
  load.low |= 0x8000;  // Never.
  EXPECT_EQ(pipe_clocks(load)[Pipe::Memory], 0.0);
  EXPECT_EQ(pipe_clocks(load)[Pipe::Issue], 0.25);
}

TEST(Pipes, ClocksAddUp) {
  PipeClocks clocks = pipe_clocks(instruction(0x223)) * 8.0;
  clocks += pipe_clocks(instruction(0x308)) * 2.0;
  EXPECT_EQ(clocks[Pipe::Issue], 2.5);
  EXPECT_EQ(clocks[Pipe::Float], 2.0);
  EXPECT_EQ(clocks[Pipe::Special], 4.0);
  EXPECT_EQ(clocks.busiest(), Pipe::Special);
  EXPECT_EQ(to_string(clocks.busiest()), "special functions");
  EXPECT_EQ(pipe_clocks(instruction(0x223)).busiest(), Pipe::Issue);
}

}  // namespace
}  // namespace octavo::compiled
