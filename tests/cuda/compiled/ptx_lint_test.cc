#include "tests/cuda/compiled/ptx_lint.h"

#include <gtest/gtest.h>

namespace octavo::compiled {
namespace {

TEST(PtxLint, AcceptsWhatRoundsWhereItIsWritten) {
  for (const char* opcode :
       {"add.rn.f32", "sub.rn.f32", "mul.rn.f32", "fma.rn.f32", "div.rn.f32", "sqrt.rn.f32"}) {
    EXPECT_EQ(objection_to(opcode), std::nullopt) << opcode;
  }
}

TEST(PtxLint, AcceptsWhatMovesAndChooses) {
  for (const char* opcode : {"mov.f32", "ld.global.nc.v4.f32", "st.shared.f32", "ld.param.f32",
                             "selp.f32", "setp.ltu.f32", "min.f32", "max.NaN.f32", "neg.f32",
                             "abs.f32", "copysign.f32", "testp.finite.f32", "mov.b64"}) {
    EXPECT_EQ(objection_to(opcode), std::nullopt) << opcode;
  }
}

TEST(PtxLint, AcceptsConversionsThatStorageFormatsSpecify) {
  for (const char* opcode :
       {"cvt.rn.f32.s32", "cvt.rn.f32.u8", "cvt.rni.s32.f32", "cvt.rzi.u32.f32", "cvt.rni.f32.f32",
        "cvt.f32.f16", "cvt.f32.bf16", "cvt.rn.f16.f32", "cvt.rn.bf16.f32", "cvt.rn.bf16x2.f32",
        "cvt.rn.satfinite.e4m3x2.f32", "cvt.rn.satfinite.e5m2x2.f32", "cvt.rn.f16x2.e4m3x2",
        "cvt.rn.f16x2.e5m2x2"}) {
    EXPECT_EQ(objection_to(opcode), std::nullopt) << opcode;
  }
}

TEST(PtxLint, LooksAtFloatsOnly) {
  for (const char* opcode : {"add.s32", "mad.lo.s32", "atom.global.add.u32", "red.shared.max.s32",
                             "mul.wide.u32", "cvt.sat.s8.s32",
                             "mma.sync.aligned.m16n8k32.row.col."
                             "s32.s8.s8.s32",
                             "cp.async.cg.shared.global", "shfl.sync.bfly.b32", "bra.uni"}) {
    EXPECT_EQ(objection_to(opcode), std::nullopt) << opcode;
    EXPECT_FALSE(is_float(opcode)) << opcode;
  }
}

TEST(PtxLint, RefusesArithmeticThatMayBeFused) {
  for (const char* opcode : {"add.f32", "sub.f32", "mul.f32"}) {
    EXPECT_EQ(objection_to(opcode), "its rounding is not written, so ptxas may fuse it") << opcode;
  }
}

TEST(PtxLint, RefusesOtherRoundingsAndWidths) {
  for (const char* opcode :
       {"add.rz.f32", "fma.rm.f32", "mul.rn.sat.f32", "mad.rn.f32", "add.rn.f16x2", "fma.rn.bf16",
        "fma.rn.relu.f16", "add.rn.f32x2", "rcp.rn.f32", "mul.rn.bf16x2"}) {
    EXPECT_NE(objection_to(opcode), std::nullopt) << opcode;
  }
}

TEST(PtxLint, RefusesWhatIsApproximateOrFlushes) {
  for (const char* opcode :
       {"div.approx.f32", "ex2.approx.f32", "sqrt.approx.f32", "rcp.approx.f32", "div.full.f32",
        "tanh.approx.bf16x2", "sin.approx.ftz.f32"}) {
    EXPECT_EQ(objection_to(opcode), "approximate") << opcode;
  }
  for (const char* opcode :
       {"add.rn.ftz.f32", "setp.lt.ftz.f32", "max.ftz.f32", "cvt.rn.ftz.f16.f32"}) {
    EXPECT_EQ(objection_to(opcode), "flushes denormals to zero") << opcode;
  }
}

TEST(PtxLint, RefusesFloatAtomics) {
  for (const char* opcode : {"atom.global.add.f32", "red.global.add.f32", "red.add.noftz.f16x2",
                             "atom.shared.add.noftz.bf16"}) {
    EXPECT_EQ(objection_to(opcode), "the order of float atomics is nobody's") << opcode;
  }
}

TEST(PtxLint, RefusesDoublePrecision) {
  for (const char* opcode :
       {"add.rn.f64", "fma.rn.f64", "cvt.f64.f32", "cvt.rn.f32.f64", "setp.lt.f64", "div.rn.f64"}) {
    EXPECT_EQ(objection_to(opcode), "double precision") << opcode;
  }
}

TEST(PtxLint, RefusesConversionsThatNoFormatAsksFor) {
  for (const char* opcode :
       {"cvt.rz.f32.s32", "cvt.f32.s32", "cvt.rn.sat.f32.s32", "cvt.sat.f32.f32", "cvt.rz.bf16.f32",
        "cvt.rna.tf32.f32", "cvt.rn.relu.bf16x2.f32", "cvt.rn.e4m3x2.f32", "cvt.rni.sat.f32.f32"}) {
    EXPECT_EQ(objection_to(opcode), "a conversion that no storage format asks for") << opcode;
  }
}

TEST(PtxLint, RefusesFloatInstructionsItDoesNotKnow) {
  for (const char* opcode :
       {"mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32",
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16", "lg2.f32", "future.f32"}) {
    EXPECT_EQ(objection_to(opcode), "float arithmetic that is not on the list") << opcode;
  }
}

TEST(PtxLint, AnAllowanceHoldsForItsFileAndOpcode) {
  const PtxModule module = read_ptx(
      ".target sm_90\n.entry k() { ex2.approx.f32 %f0, %f1;\nmul.f32 %f0, %f1, %f2; ret; }");
  const std::vector<Allowance> allowances = {{"fast", "ex2.approx.f32", "a reason"}};
  ASSERT_EQ(lint(module, "exact", allowances).size(), 2u);
  const std::vector<LintFinding> findings = lint(module, "fast", allowances);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].function, "k");
  EXPECT_EQ(findings[0].opcode, "mul.f32");
  EXPECT_EQ(findings[0].line, 3);
}

TEST(PtxLint, CountsOpcodesOverModules) {
  OpcodeCounts counts;
  for (const char* body : {"add.rn.f32 a, b, c; add.rn.f32 a, b, c;", "add.rn.f32 a, b, c; ret;"}) {
    count_opcodes(read_ptx(".target sm_90\n.entry k() { " + std::string(body) + " }"), counts);
  }
  EXPECT_EQ(counts, (OpcodeCounts{{"add.rn.f32", 3}, {"ret", 1}}));
}

}  // namespace
}  // namespace octavo::compiled
