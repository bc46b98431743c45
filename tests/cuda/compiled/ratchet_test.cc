#include "tests/cuda/compiled/ratchet.h"

#include <stdexcept>

#include <gtest/gtest.h>

namespace octavo::compiled {
namespace {

const KernelFigures kKernel = {.architecture = 90,
                               .name = "attend<true, (Format)2>",
                               .registers = 96,
                               .local_accesses = 2,
                               .shared_bytes = 31072,
                               .instructions = 4567};

TEST(Ratchet, ReadsWhatItWrites) {
  KernelFigures other = kKernel;
  other.architecture = 80;
  other.shared_bytes = 0;
  const Ratchet ratchet = {.compiler = "13.0.88", .kernels = {other, kKernel}};
  EXPECT_EQ(read_ratchet(write_ratchet(ratchet)), ratchet);
}

TEST(Ratchet, RefusesDamagedLines) {
  const std::string head = "compiler 13.0.88\n";
  EXPECT_THROW(read_ratchet(""), std::runtime_error);
  EXPECT_THROW(read_ratchet("sm_80 1 2 3 4 kernel\n"), std::runtime_error);
  for (const char* line :
       {"sm_80 1 2 3 kernel", "sm_80 1 2 3 4", "80 1 2 3 4 kernel", "sm_x 1 2 3 4 kernel",
        "sm_99999999999 1 2 3 4 kernel", "nonsense", "sm_80 1 2 3 4 k\nsm_80 1 2 3 4 k"}) {
    EXPECT_THROW(read_ratchet(head + line), std::runtime_error) << line;
  }
  EXPECT_NO_THROW(read_ratchet(head + "# a comment\n\nsm_80 1 2 3 4 k\nsm_90 1 2 3 4 k"));
}

TEST(Ratchet, IsSilentAboutTheSame) {
  const std::vector<KernelFigures> kernels = {kKernel};
  const RatchetFindings findings = compare(kernels, kernels);
  EXPECT_TRUE(findings.failures.empty());
  EXPECT_TRUE(findings.improvements.empty());
}

TEST(Ratchet, FailsWhereAKernelTakesMore) {
  const std::vector<KernelFigures> allowed = {kKernel};
  std::vector<KernelFigures> found = {kKernel};
  found[0].registers += 1;
  EXPECT_EQ(compare(allowed, found).failures,
            (std::vector<std::string>{"sm_90 attend<true, (Format)2>: 97 registers, 96 allowed"}));
  found[0] = kKernel;
  found[0].local_accesses += 1;
  EXPECT_EQ(compare(allowed, found).failures.size(), 1u);
  found[0] = kKernel;
  found[0].shared_bytes += 16;
  EXPECT_EQ(compare(allowed, found).failures.size(), 1u);
  found[0] = kKernel;
  found[0].instructions += 1000;
  EXPECT_TRUE(compare(allowed, found).failures.empty());
}

TEST(Ratchet, TellsOfKernelsThatTakeLess) {
  const std::vector<KernelFigures> allowed = {kKernel};
  std::vector<KernelFigures> found = {kKernel};
  found[0].registers -= 8;
  const RatchetFindings findings = compare(allowed, found);
  EXPECT_TRUE(findings.failures.empty());
  EXPECT_EQ(findings.improvements.size(), 1u);
}

TEST(Ratchet, LinesAndKernelsBelongToEachOther) {
  const std::vector<KernelFigures> kernels = {kKernel};
  EXPECT_EQ(compare({}, kernels).failures,
            (std::vector<std::string>{"sm_90 attend<true, (Format)2>: a kernel without a line"}));
  EXPECT_EQ(compare(kernels, {}).failures,
            (std::vector<std::string>{"sm_90 attend<true, (Format)2>: a line without a kernel"}));
  std::vector<KernelFigures> other = kernels;
  other[0].architecture = 80;
  EXPECT_EQ(compare(kernels, other).failures.size(), 2u);
}

TEST(Ratchet, AKernelOfSeveralFilesCountsOnceByItsLargerFigures) {
  std::vector<CompiledKernel> kernels(2);
  kernels[0] = {.mangled = "k",
                .name = "k",
                .architecture = 80,
                .registers = 40,
                .shared_bytes = 16,
                .frame_bytes = 0,
                .local_accesses = 0,
                .instructions = 100,
                .code = {}};
  kernels[1] = kernels[0];
  kernels[1].registers = 32;
  kernels[1].local_accesses = 4;
  EXPECT_EQ(figures_of(kernels), (std::vector<KernelFigures>{{.architecture = 80,
                                                              .name = "k",
                                                              .registers = 40,
                                                              .local_accesses = 4,
                                                              .shared_bytes = 16,
                                                              .instructions = 100}}));
}

}  // namespace
}  // namespace octavo::compiled
