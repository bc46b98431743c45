// What nvcc made of the library's kernels, as the build kept it.

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <set>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "tests/cuda/compiled/allowances.h"
#include "tests/cuda/compiled/expectations.h"
#include "tests/cuda/compiled/kept_files.h"
#include "tests/cuda/compiled/loops.h"
#include "tests/cuda/compiled/ptx_lint.h"
#include "tests/cuda/compiled/ratchet.h"
#include "tests/cuda/compiled/slots.h"

namespace octavo::compiled {
namespace {

const std::filesystem::path kRatchetFile =
    std::filesystem::path(OCTAVO_SOURCE_DIR) / "cuda" / "compiled_kernels.txt";

const KeptKernels& kept() {
  static const KeptKernels kernels = read_kept_kernels();
  return kernels;
}

bool has_kernel(const PtxModule& module) {
  return std::any_of(module.functions.begin(), module.functions.end(),
                     [](const PtxFunction& function) { return function.is_kernel; });
}

TEST(CompiledKernels, ExactOnesHoldNoFloatArithmeticButThatOfTheContract) {
  std::size_t instructions = 0;
  for (const KeptPtx& ptx : kept().ptx) {
    for (const LintFinding& finding : lint(ptx.module, ptx.source, kAllowances)) {
      ADD_FAILURE() << ptx.source << " for " << ptx.module.target << ", line " << finding.line
                    << " of the PTX: " << finding.opcode << " (" << finding.objection << "), in "
                    << short_name(finding.function);
    }
    for (const PtxFunction& function : ptx.module.functions) {
      instructions += function.instructions.size();
    }
  }
  EXPECT_GT(instructions, 1000u) << "hardly anything was looked at";
}

TEST(CompiledKernels, NoAllowanceIsIdle) {
  for (const Allowance& allowance : kAllowances) {
    OpcodeCounts counts;
    bool any_kernel = false;
    for (const KeptPtx& ptx : kept().ptx) {
      if (ptx.source == allowance.source && has_kernel(ptx.module)) {
        any_kernel = true;
        count_opcodes(ptx.module, counts);
      }
    }
    EXPECT_TRUE(!any_kernel || counts.contains(std::string(allowance.opcode)))
        << allowance.source << " has no " << allowance.opcode << " any more";
    EXPECT_FALSE(allowance.reason.empty());
  }
}

int architecture_of(const PtxModule& module) {
  return std::stoi(module.target.substr(3));  // "sm_90a"
}

TEST(CompiledKernels, AllOfThePtxIsThereAsMachineCode) {
  std::set<std::pair<int, std::string>> compiled;
  for (const CompiledKernel& kernel : kept().kernels) {
    compiled.emplace(kernel.architecture, kernel.mangled);
  }
  EXPECT_FALSE(compiled.empty());
  for (const KeptPtx& ptx : kept().ptx) {
    for (const PtxFunction& function : ptx.module.functions) {
      const std::pair key(architecture_of(ptx.module), function.name);
      EXPECT_TRUE(!function.is_kernel || compiled.contains(key))
          << short_name(function.name) << " for " << ptx.module.target;
    }
  }
}

// compiled_kernels counts in these loops; a kernel that is written otherwise wants another count.
TEST(CompiledKernels, LoopsThatSlotsAreCountedInAreFound) {
  for (const SlotCount& count : count_slots(kept().kernels)) {
    const std::string title = count.kernel + " " + count.format + " " +
                              std::to_string(count.head_dim) + " " + std::to_string(count.rows);
    EXPECT_TRUE(count.softmax_of_row) << title;
    EXPECT_TRUE(count.plain_softmax_of_row) << title;
    EXPECT_TRUE(count.keys) << title;
    EXPECT_TRUE(count.values) << title;
    EXPECT_TRUE(count.rest) << title;
    EXPECT_TRUE(count.combined_row) << title;
    EXPECT_EQ(count.chunks_at_once, count.kernel == "attend_float" && count.rows == 8 ? 16 : 8)
        << title;
  }
}

TEST(CompiledKernels, EveryCaseOfTheRooflineIsFound) {
  std::string names;
  const std::vector<Expectation> found = expectations(kH200, kept().kernels);
  for (const Expectation& item : found) {
    names += item.name + "\n";
    EXPECT_GT(item.main.us, kH200.launch_us) << item.name;
  }
  EXPECT_EQ(found.size(), num_expectations()) << names;
}

TEST(CompiledKernels, TakeNoMoreThanTheirLinesAllow) {
  const std::vector<KernelFigures> found = figures_of(kept().kernels);
  if (std::getenv("OCTAVO_UPDATE_RATCHET") != nullptr) {  // NOLINT(concurrency-mt-unsafe)
    std::ofstream out(kRatchetFile, std::ios::binary);
    out << write_ratchet({.compiler = kept().compiler, .kernels = found});
    ASSERT_TRUE(out.flush()) << kRatchetFile;
    std::cout << kRatchetFile << " is written: " << found.size() << " kernels\n";
    return;
  }
  std::ifstream in(kRatchetFile, std::ios::binary);
  ASSERT_TRUE(in) << kRatchetFile;
  const Ratchet ratchet = read_ratchet(
      std::string(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()));
  if (ratchet.compiler != kept().compiler) {
    GTEST_SKIP() << kRatchetFile << " is of nvcc " << ratchet.compiler << ", this build of "
                 << kept().compiler << ": not compared";
  }
  const RatchetFindings findings = compare(ratchet.kernels, found);
  for (const std::string& failure : findings.failures) {
    ADD_FAILURE() << failure;
  }
  for (const std::string& improvement : findings.improvements) {
    std::cout << improvement << '\n';
  }
  if (!findings.failures.empty() || !findings.improvements.empty()) {
    std::cout << "Where that is meant, run this test with OCTAVO_UPDATE_RATCHET=1: it writes "
              << kRatchetFile << " anew.\n";
  }
}

}  // namespace
}  // namespace octavo::compiled
