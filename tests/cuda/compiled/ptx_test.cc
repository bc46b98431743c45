#include "tests/cuda/compiled/ptx.h"

#include <stdexcept>

#include <gtest/gtest.h>

namespace octavo::compiled {
namespace {

constexpr std::string_view kHead = ".version 9.0\n.target sm_90a, texmode_independent\n";

PtxModule read(const std::string& functions) {
  return read_ptx(std::string(kHead) + functions);
}

std::vector<std::string> opcodes_of(const PtxFunction& function) {
  std::vector<std::string> opcodes;
  for (const PtxInstruction& instruction : function.instructions) {
    opcodes.push_back(instruction.opcode);
  }
  return opcodes;
}

TEST(Ptx, TellsTargetAndCompiler) {
  const PtxModule module =
      read("// Cuda compilation tools, release 13.0, V13.0.88\n// Based on NVVM 7.0.1\n");
  EXPECT_EQ(module.target, "sm_90a");
  EXPECT_EQ(module.compiler, "13.0.88");
  EXPECT_TRUE(module.functions.empty());
}

TEST(Ptx, ReadsTheInstructionsOfAKernel) {
  const PtxModule module = read(R"(
.visible .entry kernel(
  .param .align 8 .b8 kernel_param_0[464]
)
.maxntid 256, 1, 1
{
  .reg .pred %p<5>; .reg .f32 %f<2>;
  .loc 1 20 3
  ld.param.v2.u32 {%r1, %r2}, [kernel_param_0+8];
$L__BB0_1:
  .pragma "nounroll; not an instruction";
  @%p1 bra $L__BB0_1; // mul.f32 here is a comment
  @!%p2 fma.rn.f32 %f1, %f0,
      %f0, 0f3F800000;
  /* add.f32 too,
     over two lines */ ret;
}
)");
  ASSERT_EQ(module.functions.size(), 1u);
  const PtxFunction& kernel = module.functions[0];
  EXPECT_EQ(kernel.name, "kernel");
  EXPECT_TRUE(kernel.is_kernel);
  EXPECT_EQ(opcodes_of(kernel),
            (std::vector<std::string>{"ld.param.v2.u32", "bra", "fma.rn.f32", "ret"}));
  EXPECT_EQ(kernel.instructions[0].line, 11);
  EXPECT_EQ(kernel.instructions[3].line, 18);
}

TEST(Ptx, ReadsInlineAssemblyAndCalls) {
  const PtxModule module = read(R"(
.func (.param .b32 out) helper(.param .b32 in)
{
  // begin inline asm
  { .reg .b16 low; cvt.rn.f16x2.e4m3x2 %r1, low; }
  // end inline asm
  { call.uni (out), other, (in); }
}
)");
  ASSERT_EQ(module.functions.size(), 1u);
  EXPECT_EQ(module.functions[0].name, "helper");
  EXPECT_FALSE(module.functions[0].is_kernel);
  EXPECT_EQ(opcodes_of(module.functions[0]),
            (std::vector<std::string>{"cvt.rn.f16x2.e4m3x2", "call.uni"}));
}

TEST(Ptx, PassesOverDataAndDeclarations) {
  const PtxModule module = read(R"(
.global .align 4 .b8 table[4] = {1, 2, 3, 4};
.extern .shared .align 16 .b8 shared[];
.extern .func other(.param .b32 x);
.entry first() { ret; }
.entry second() { exit; }
)");
  ASSERT_EQ(module.functions.size(), 2u);
  EXPECT_EQ(module.functions[0].name, "first");
  EXPECT_EQ(opcodes_of(module.functions[1]), (std::vector<std::string>{"exit"}));
}

TEST(Ptx, SaysWhereTextIsNotPtx) {
  const auto message = [](const std::string& text) {
    try {
      read_ptx(text);
    } catch (const std::runtime_error& error) {
      return std::string(error.what());
    }
    return std::string("nothing thrown");
  };
  const std::string head(kHead);
  EXPECT_EQ(message(""), "PTX: no .target");
  EXPECT_EQ(message(head + "}"), "PTX line 3: a brace outside of functions");
  EXPECT_EQ(message(head + ".entry k() { ret;\n"), "PTX line 4: the file ends within k");
  EXPECT_EQ(message(head + ".entry k() { ret\n"), "PTX line 4: the file ends within a statement");
  EXPECT_EQ(message(head + ".entry k() { ,; }"), "PTX line 3: no instruction");
  EXPECT_EQ(message(head + ".entry { ret; }"), "PTX line 3: a function without a name");
  EXPECT_EQ(message(head + ".section { ret; }"), "PTX line 3: a body that belongs to no function");
}

}  // namespace
}  // namespace octavo::compiled
