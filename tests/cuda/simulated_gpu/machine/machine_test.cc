// Threads, memory and messages of the machine.
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/cuda/simulated_gpu/machine/kernel_text.h"

namespace octavo::simulated_gpu {
namespace {

constexpr std::uint64_t kSeeds[] = {0, 1, 2, 3, 4, 5};

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Machine, LanesPartAndMeetAgain) {
  // Odd lanes go round 3 times, even ones as often as their number says; then all shuffle.
  const std::string body =
      "and.b32 %r2, %r1, 1; setp.eq.s32 %p1, %r2, 1; mov.u32 %r3, 0; mov.u32 %r4, 0;\n"
      "@%p1 bra ODD;\n"
      "EVEN: setp.ge.s32 %p2, %r4, %r1; @%p2 bra MEET;\n"
      "add.s32 %r4, %r4, 1; add.s32 %r3, %r3, 10; bra EVEN;\n"
      "ODD: add.s32 %r4, %r4, 1; add.s32 %r3, %r3, 100; setp.lt.s32 %p3, %r4, 3; @%p3 bra ODD;\n"
      "MEET: shfl.sync.bfly.b32 %r5|%p4, %r3, 1, 31, -1; st.global.u32 [%rd2], %r5;";
  for (const std::uint64_t seed : kSeeds) {
    const Words words = run_body(body, Words(32), 32, seed);
    for (std::uint32_t lane = 0; lane < 32; ++lane) {
      EXPECT_EQ(words[lane], lane % 2 == 0 ? 300 : (lane - 1) * 10) << lane;
    }
  }
}

// Even lanes are at the shuffle again while odd ones are still further on.
TEST(Machine, LanesThatWaitAreJoined) {
  const std::string body =
      "and.b32 %r2, %r1, 1; setp.eq.s32 %p1, %r2, 1; mov.u32 %r3, %r1; mov.u32 %r4, 0;\n"
      "TOP: shfl.sync.bfly.b32 %r3|%p2, %r3, 1, 31, -1; add.s32 %r4, %r4, 1;\n"
      "setp.ge.s32 %p3, %r4, 5; @%p3 bra END; @%p1 bra FAR; bra TOP;\n"
      "FAR: add.s32 %r3, %r3, 100; bra TOP;\n"
      "END: st.global.u32 [%rd2], %r3;";
  for (const std::uint64_t seed : kSeeds) {
    const Words words = run_body(body, Words(32), 32, seed);
    for (std::uint32_t lane = 0; lane < 32; ++lane) {
      // Four times an odd lane adds to what it has by then: twice to each of the two numbers.
      EXPECT_EQ(words[lane], (lane ^ 1u) + 200) << lane;
    }
  }
}

TEST(Machine, LanesThatEndLeaveTheOthers) {
  const Words words = run_body(
      "setp.gt.u32 %p1, %r1, 3; @%p1 ret; mov.u32 %r2, 7; @!%p1 st.global.u32 [%rd2], %r2;",
      Words(32));
  EXPECT_EQ(words, [] {
    Words expected(32);
    expected[0] = expected[1] = expected[2] = expected[3] = 7;
    return expected;
  }());
}

TEST(Machine, ShufflesStayWithinTheirSegments) {
  const auto shuffle = [](const std::string& what) {
    return run_body("shfl.sync." + what +
                        ", -1; selp.u32 %r3, 100, 0, %p1;\n"
                        "add.s32 %r3, %r3, %r2; st.global.u32 [%rd2], %r3;",
                    Words(32));
  };
  // Segments of 8 lanes: a mask of 24 from bit 8 on.
  const Words up = shuffle("up.b32 %r2|%p1, %r1, 3, 6144");
  const Words indexed = shuffle("idx.b32 %r2|%p1, %r1, 13, 6175");
  const Words across = shuffle("bfly.b32 %r2|%p1, %r1, 16, 31");
  for (std::uint32_t lane = 0; lane < 32; ++lane) {
    EXPECT_EQ(up[lane], lane % 8 >= 3 ? 100 + lane - 3 : lane);
    EXPECT_EQ(indexed[lane], 100 + lane / 8 * 8 + 5);
    EXPECT_EQ(across[lane], 100 + (lane ^ 16u));
  }
}

TEST(Machine, PartOfAWarpMayShuffleAlone) {
  const Words words = run_body(
      "setp.lt.u32 %p1, %r1, 4; mov.u32 %r2, 9; @!%p1 bra END;\n"
      "shfl.sync.bfly.b32 %r2|%p2, %r1, 1, 31, 15;\n"
      "END: st.global.u32 [%rd2], %r2;",
      Words(32));
  EXPECT_EQ(Words(words.begin(), words.begin() + 5), (Words{1, 0, 3, 2, 9}));
}

TEST(Machine, ACollectiveWaitsForTheLanesThatItNames) {
  const std::string missing = message_of([] {
    run_body(
        "setp.lt.u32 %p1, %r1, 4; @%p1 bra END; shfl.sync.bfly.b32 %r2|%p2, %r1, 1, 31, -1;\n"
        "END: st.global.u32 [%rd2], %r2;",
        Words(32));
  });
  EXPECT_TRUE(has(missing, "lanes that a collective names do not come to it")) << missing;
  EXPECT_TRUE(has(missing, "test.ptx:")) << missing;
  EXPECT_TRUE(has(missing, "thread 4")) << missing;
  const std::string unnamed =
      message_of([] { run_body("shfl.sync.bfly.b32 %r2|%p2, %r1, 1, 31, 15;", Words(32)); });
  EXPECT_TRUE(has(unnamed, "a lane is at a collective that does not name it")) << unnamed;
  const std::string absent = message_of([] {
    run_body("setp.lt.u32 %p1, %r1, 4; @!%p1 ret; shfl.sync.idx.b32 %r2|%p2, %r1, 9, 31, 15;",
             Words(32));
  });
  EXPECT_TRUE(has(absent, "from a lane that takes no part")) << absent;
}

// Each thread passes its number to the one 37 further on, round and round.
std::string round_robin(const std::string& barrier) {
  return kernel_text(
      "mov.u32 %r2, room; shl.b32 %r3, %r1, 2; add.s32 %r3, %r2, %r3;\n"
      "st.shared.u32 [%r3], %r1; " +
          barrier +
          "\nadd.s32 %r4, %r1, 37; and.b32 %r4, %r4, 127; shl.b32 %r4, %r4, 2;\n"
          "add.s32 %r4, %r4, %r2; ld.shared.u32 %r5, [%r4]; st.global.u32 [%rd2], %r5;",
      ".shared .align 4 .b8 room[512];\n");
}

TEST(Machine, ABarrierIsForAllWarps) {
  bool without_differs = false;
  for (const std::uint64_t seed : kSeeds) {
    const Words with = run_text(round_robin("bar.sync 0;"), Words(128), 128, seed);
    const Words without = run_text(round_robin(""), Words(128), 128, seed);
    for (std::uint32_t thread = 0; thread < 128; ++thread) {
      EXPECT_EQ(with[thread], (thread + 37) % 128);
    }
    without_differs |= with != without;
  }
  EXPECT_TRUE(without_differs);
}

TEST(Machine, ABarrierThatNotAllComeToIsAnError) {
  const std::string some_lanes = message_of([] {
    run_body("setp.lt.u32 %p1, %r1, 4; @%p1 bra END; bar.sync 0; END: mov.u32 %r2, 1;", Words(64),
             64);
  });
  EXPECT_TRUE(has(some_lanes, "the rest does not come to")) << some_lanes;
  const std::string ended = message_of(
      [] { run_body("setp.lt.u32 %p1, %r1, 32; @%p1 ret; bar.sync 0;", Words(64), 64); });
  EXPECT_TRUE(has(ended, "threads from 0 on have ended")) << ended;
  const std::string another = message_of([] {
    run_body(
        "setp.lt.u32 %p1, %r1, 32; @%p1 bra ONE; bar.sync 0; bra END; ONE: bar.sync 0;\n"
        "END: mov.u32 %r2, 1;",
        Words(64), 64);
  });
  EXPECT_TRUE(has(another, "wait at that of line")) << another;
}

TEST(Machine, ABarrierAsksAllThreads) {
  for (const std::uint32_t who : {5u, 77u, 500u}) {
    const Words words = run_body("setp.eq.s32 %p1, %r1, " + std::to_string(who) +
                                     "; bar.red.or.pred %p2, 0, %p1; selp.u32 %r2, 1, 0, %p2;\n"
                                     "st.global.u32 [%rd2], %r2;",
                                 Words(128), 128);
    EXPECT_EQ(words, Words(128, who < 128 ? 1 : 0));
  }
}

TEST(Machine, BlocksRunOnceEachInAnyOrder) {
  // The order in which they came, and how often.
  const std::string text = kernel_text(
      "mov.u32 %r2, %ctaid.x; mul.wide.u32 %rd3, %r2, 4; add.s64 %rd3, %rd1, %rd3;\n"
      "atom.global.inc.u32 %r3, [%rd1+400], 1000; add.s32 %r3, %r3, 1; st.global.u32 [%rd3], %r3;");
  const Words in_order = run_text(text, Words(101), 1, 0, 100);
  EXPECT_EQ(in_order[99], 100u);
  EXPECT_NE(in_order, run_text(text, Words(101), 1, 7, 100));
  for (const std::uint64_t seed : kSeeds) {
    const Words words = run_text(text, Words(101), 1, seed, 100);
    EXPECT_EQ(words[100], 100u);
    EXPECT_EQ(std::set<std::uint32_t>(words.begin(), words.end() - 1).size(), 100u);
  }
}

TEST(Machine, AtomicsCountEveryLane) {
  const Words words =
      run_text(kernel_text("mov.u32 %r2, room; setp.eq.s32 %p1, %r1, 0; mov.u32 %r3, 0; @%p1 "
                           "st.shared.u32 [%r2], %r3;\n"
                           "bar.sync 0; atom.shared.add.u32 %r3, [%r2], 3; bar.sync 0;\n"
                           "ld.shared.u32 %r4, [room]; st.global.u32 [%rd2], %r4;\n"
                           "atom.global.inc.u32 %r5, [%rd1+256], 40;",
                           ".shared .align 4 .b8 room[4];\n"),
               Words(65), 64, 3);
  EXPECT_EQ(words[5], 192u);
  EXPECT_EQ(words[64], 64u - 41u);
}

TEST(Machine, LoadsAndStoresOfEveryWidth) {
  const Words words = run_body(
      "ld.global.u8 %rs2, [%rd1+3]; ld.global.u8 %r3, [%rd1+3]; ld.global.s32 %rd3, [%rd1];\n"
      "cvt.u32.u16 %r2, %rs2; shr.u64 %rd3, %rd3, 32; cvt.u32.u64 %r4, %rd3;\n"
      "ld.global.v2.u32 {%r5, %r6}, [%rd1+8];\n"
      "st.global.v4.u32 [%rd1+16], {%r2, %r3, %r4, %r6}; st.global.u16 [%rd1+34], %rs2;\n"
      "st.global.u8 [%rd1+33], %r5;",
      {0x80123456, 0, 1, 2, 0, 0, 0, 0, 0xFFFFFFFF}, 1);
  EXPECT_EQ(words, (Words{0x80123456, 0, 1, 2, 0x80, 0x80, 0xFFFFFFFF, 2, 0x008001FF}));
}

TEST(Machine, MemoryThatIsNotThereIsAnError) {
  const auto message = [](const std::string& body) {
    return message_of(
        [&] { run_text(kernel_text(body, ".shared .align 16 .b8 room[64];\n"), Words(32), 1); });
  };
  EXPECT_TRUE(has(message("ld.global.u32 %r2, [%rd1+128];"), "lies outside of what is allocated"));
  EXPECT_TRUE(has(message("st.global.u32 [%rd1+-4], %r1;"), "lies outside of what is allocated"));
  EXPECT_TRUE(has(message("ld.global.v2.u32 {%r2, %r3}, [%rd1+124];"), "is not aligned"));
  EXPECT_TRUE(has(message("ld.shared.u32 %r2, [room+64];"), "outside of the block's shared"));
  EXPECT_TRUE(has(message("ld.global.v4.u32 {%r2, %r3, %r4, %r5}, [%rd1+128];"), "outside"));
  EXPECT_TRUE(has(message("ld.shared.u32 %r2, [room+2];"), "is not aligned"));
  EXPECT_TRUE(has(message("ld.shared.v2.u32 {%r2, %r3}, [room+4];"), "is not aligned"));
  EXPECT_TRUE(has(message("mov.u32 %r2, 0; ld.shared.u32 %r2, [%r2];"), "outside of the block's"));
  EXPECT_EQ(message("ld.global.u32 %r2, [%rd1+124]; ld.shared.u32 %r2, [room+60];"), "");
  const std::string across = message_of(
      [] { run_body("ld.global.v4.u32 {%r2, %r3, %r4, %r5}, [%rd1+16];", Words(6), 1); });
  EXPECT_TRUE(has(across, "lies outside of what is allocated")) << across;
}

TEST(Machine, SharedMemoryThatNobodyHasWrittenIsPoison) {
  const std::string text = kernel_text("ld.shared.u32 %r2, [room]; st.global.u32 [%rd2], %r2;",
                                       ".shared .align 4 .b8 room[4];\n");
  EXPECT_EQ(run_text(text, Words(1), 1, 0), Words(1, 0xFFFFFFFF));
  EXPECT_NE(run_text(text, Words(1), 1, 1), run_text(text, Words(1), 1, 2));
}

TEST(Machine, ACopyArrivesWhenItIsWaitedFor) {
  const std::string copy =
      "mov.u32 %r2, room; mov.u32 %r3, 16; mov.u32 %r4, 4;\n"
      "cp.async.cg.shared.global [%r2], [%rd1], 16, %r3; cp.async.commit_group;\n"
      "add.s64 %rd3, %rd1, 16; add.s32 %r5, %r2, 16;\n"
      "cp.async.ca.shared.global [%r5], [%rd3], 8, %r4; cp.async.commit_group;\n";
  const std::string read =
      "ld.shared.u32 %r6, [room+4]; ld.shared.v2.u32 {%r7, %r8}, [room+16];\n"
      "st.global.u32 [%rd1], %r6; st.global.u32 [%rd1+4], %r7; st.global.u32 [%rd1+8], %r8;";
  const auto run = [&](const std::string& wait, std::uint64_t seed) {
    Words words = run_text(kernel_text(copy + wait + read, ".shared .align 16 .b8 room[32];\n"),
                           {1, 2, 3, 4, 5, 6}, 1, seed);
    words.resize(3);
    return words;
  };
  constexpr std::uint32_t kPoison = 0xFFFFFFFF;
  EXPECT_EQ(run("", 0), (Words{kPoison, kPoison, kPoison}));
  EXPECT_EQ(run("cp.async.wait_group 1;\n", 0), (Words{2, kPoison, kPoison}));
  for (const std::uint64_t seed : kSeeds) {
    EXPECT_EQ(run("cp.async.wait_group 0;\n", seed), (Words{2, 5, 0}));
  }
}

TEST(Machine, CopiesThatReadNothingNeedNoMemory) {
  const std::string text = kernel_text(
      "mov.u32 %r2, room; mov.u32 %r3, 0; mov.u64 %rd3, 4096;\n"
      "cp.async.cg.shared.global [%r2], [%rd3], 16, %r3; cp.async.commit_group;\n"
      "cp.async.wait_group 0; ld.shared.u32 %r4, [room+12]; st.global.u32 [%rd1], %r4;",
      ".shared .align 16 .b8 room[16];\n");
  EXPECT_EQ(run_text(text, {5}, 1), Words{0});
}

TEST(Machine, RefusesWhatItDoesNotKnow) {
  const auto message = [](const std::string& body) {
    return message_of([&] { run_body(body, Words(1), 1); });
  };
  EXPECT_EQ(message("mov.u32 %r2, 1;\nsin.approx.f32 %f1, %f2;"),
            "test.ptx:20: an instruction that the machine does not know: sin.approx.f32 with 2 "
            "operands");
  EXPECT_TRUE(has(message("add.s32 %r2, %r1;"), "add.s32 with 2 operands"));
  EXPECT_TRUE(has(message("add.s32 %r2, %r1, %rd1;"), "another size"));
  EXPECT_TRUE(has(message("add.s32 %r2, %r1, %r99;"), "neither a register nor a constant: %r99"));
  EXPECT_EQ(message("@%p10 bra END; END: mov.u32 %r2, 1;"), "test.ptx:19: no predicate: %p10");
  EXPECT_TRUE(has(message("bra NOWHERE;"), "no label NOWHERE"));
  EXPECT_TRUE(has(message("ld.global.u32 %rs1, [%rd1];"), "no register for what is loaded"));
}

TEST(Machine, KnowsWhatALaunchPasses) {
  Machine machine;
  machine.load(
      ".visible .entry a(\n .param .u32 a_0,\n .param .align 8 .b8 a_1[24],\n .param .u8 a_2\n)\n"
      ".maxntid 96, 1, 1\n{\n.shared .align 16 .b8 s[40];\n.shared .align 8 .b8 t[3];\nret;\n}\n"
      ".visible .entry b()\n{\nret;\n}\n"
      ".visible .entry d(\n .param .u32 d_0,\n .param .u64 d_1\n)\n{\n.shared .b8 s[1];\n"
      ".shared .b32 t;\nret;\n}\n",
      "three.ptx");
  const KernelInterface& a = Machine::interface_of(*machine.find("a"));
  ASSERT_EQ(a.parameters.size(), 3u);
  EXPECT_EQ(a.parameters[1].offset_bytes, 8u);
  EXPECT_EQ(a.parameters[1].size_bytes, 24u);
  EXPECT_EQ(a.parameters[2].offset_bytes, 32u);
  EXPECT_EQ(a.parameter_bytes, 33u);
  EXPECT_EQ(a.threads_max, 96u);
  EXPECT_EQ(a.static_shared_bytes, 43u);
  EXPECT_TRUE(Machine::interface_of(*machine.find("b")).parameters.empty());
  EXPECT_EQ(machine.find("c"), nullptr);
  const KernelInterface& d = Machine::interface_of(*machine.find("d"));
  EXPECT_EQ(d.parameters[1].offset_bytes, 8u);
  EXPECT_EQ(d.static_shared_bytes, 8u);
  EXPECT_EQ(machine.names(), (std::vector<std::string>{"a", "b", "d"}));
}

}  // namespace
}  // namespace octavo::simulated_gpu
