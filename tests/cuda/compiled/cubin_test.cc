#include "tests/cuda/compiled/cubin.h"

#include <algorithm>
#include <stdexcept>

#include <gtest/gtest.h>

#include "tests/cuda/compiled/cubin_builder.h"

namespace octavo::compiled {
namespace {

constexpr unsigned kNop = 0x918;
constexpr unsigned kLoadLocal = 0x983;
constexpr unsigned kStoreLocal = 0x387;

CubinBuilder small_cubin() {
  SassWriter code;
  code.add(kStoreLocal);
  code.add(kMultiplyAdd);
  code.add(kLoadLocal);
  code.add(kExit);
  code.branch(-1);
  code.add(kNop);
  code.add(kNop);
  CubinBuilder cubin;
  cubin.code = code.words;
  return cubin;
}

CompiledKernel only_kernel(const CubinBuilder& cubin) {
  const std::vector<std::byte> bytes = cubin.build();
  const std::vector<CompiledKernel> kernels = read_cubin(bytes);
  EXPECT_EQ(kernels.size(), 1u);
  return kernels.at(0);
}

std::string error_of(const std::vector<std::byte>& bytes) {
  try {
    read_cubin(bytes);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return {};
}

TEST(Cubin, TellsWhatAKernelNeeds) {
  CubinBuilder cubin = small_cubin();
  cubin.registers = 104;
  cubin.frame_bytes = 48;
  cubin.shared_bytes = 1024 + 31072;
  const CompiledKernel kernel = only_kernel(cubin);
  EXPECT_EQ(kernel.mangled, "_Z6kernelPf");
  EXPECT_EQ(kernel.name, "kernel");
  EXPECT_EQ(kernel.architecture, 90);
  EXPECT_EQ(kernel.registers, 104u);
  EXPECT_EQ(kernel.frame_bytes, 48u);
  EXPECT_EQ(kernel.shared_bytes, 31072u);
  EXPECT_EQ(kernel.local_accesses, 2u);
  EXPECT_EQ(kernel.instructions, 5u);
  EXPECT_EQ(kernel.code.size(), 7u);
}

TEST(Cubin, BeforeHopperNothingOfSharedMemoryIsReserved) {
  CubinBuilder cubin = small_cubin();
  cubin.architecture = 80;
  cubin.shared_bytes = 512;
  SassWriter code{.architecture = 80, .words = {}};
  code.add(kExit);
  code.branch(-1);
  cubin.code = code.words;
  EXPECT_EQ(only_kernel(cubin).shared_bytes, 512u);
  cubin.shared_bytes = 0;
  EXPECT_EQ(only_kernel(cubin).shared_bytes, 0u);
}

TEST(Cubin, KnowsWhereOlderCompilersPutTheArchitecture) {
  CubinBuilder cubin = small_cubin();
  cubin.abi_version = 7;
  EXPECT_EQ(only_kernel(cubin).architecture, 90);
}

TEST(Cubin, FollowsTablesOfBranchTargets) {
  SassWriter code;
  code.add(0x949);
  code.add(kExit);
  code.add(kExit);
  CubinBuilder cubin;
  cubin.code = code.words;
  cubin.indirect_targets = {0, 0, 2, 16, 32};
  EXPECT_EQ(only_kernel(cubin).code[0].targets, (std::vector<std::size_t>{1, 2}));
  cubin.indirect_targets = {0, 0, 1, 48};
  EXPECT_EQ(error_of(cubin.build()), "SASS: the branch at 0 leads to no instruction");
  cubin.indirect_targets = {0, 0, 9, 16};
  EXPECT_EQ(error_of(cubin.build()), "ELF: a number lies beyond the end of its section");
}

TEST(Cubin, KnowsItsSubroutines) {
  SassWriter code;
  code.call(1);
  code.add(kExit);
  code.add(0x950);
  CubinBuilder cubin;
  cubin.code = code.words;
  EXPECT_EQ(only_kernel(cubin).code[0].flow, SassFlow::Jump) << "a symbol of other code";
  cubin.subroutines = {32};
  EXPECT_EQ(only_kernel(cubin).code[0].flow, SassFlow::Next);
  SassWriter again;
  again.call(-1);
  cubin.code = again.words;
  EXPECT_EQ(only_kernel(cubin).code[0].flow, SassFlow::Jump);
}

TEST(Cubin, SaysWhatIsWrong) {
  std::vector<std::byte> bytes = small_cubin().build();
  bytes[18] = std::byte{62};
  EXPECT_EQ(error_of(bytes), "cubin: an ELF file of another machine");
  EXPECT_EQ(error_of({}), "ELF: not a 64-bit little-endian ELF file");
  EXPECT_EQ(error_of(std::vector<std::byte>(100)), "ELF: not a 64-bit little-endian ELF file");
  bytes = small_cubin().build();
  bytes.resize(bytes.size() - 1);
  EXPECT_EQ(error_of(bytes), "ELF: the section table lies beyond the end of the file");
  CubinBuilder cubin = small_cubin();
  bytes = cubin.build();
  const std::size_t last_section = bytes.size() - 64;
  std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(last_section) + 25, 7, std::byte{0xFF});
  bytes[last_section + 24] = std::byte{0xFC};
  bytes[last_section + 32] = std::byte{8};  // From 2^64 - 4 to 4.
  EXPECT_EQ(error_of(bytes), "ELF: a section lies beyond the end of the file");
  cubin.code.push_back(0);
  EXPECT_EQ(error_of(cubin.build()), "SASS: code that is no whole number of instructions");
}

// Damage is found or does not matter; it never leads a read astray.
TEST(Cubin, SurvivesAnyDamage) {
  CubinBuilder cubin = small_cubin();
  cubin.shared_bytes = 2048;
  cubin.indirect_targets = {0, 0, 1, 16};
  cubin.subroutines = {48};
  const std::vector<std::byte> whole = cubin.build();
  const auto try_to_read = [](const std::vector<std::byte>& bytes) {
    try {
      read_cubin(bytes);
      return true;
    } catch (const std::runtime_error&) {
      return false;
    }
  };
  ASSERT_TRUE(try_to_read(whole));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const auto end = whole.begin() + static_cast<std::ptrdiff_t>(size);
    EXPECT_FALSE(try_to_read(std::vector<std::byte>(whole.begin(), end))) << size;
  }
  std::size_t refused = 0;
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (const unsigned mask : {0x01u, 0x10u, 0x80u, 0xFFu}) {
      std::vector<std::byte> bytes = whole;
      bytes[at] ^= static_cast<std::byte>(mask);
      refused += try_to_read(bytes) ? 0u : 1u;
    }
  }
  EXPECT_GT(refused, 100u);
}

TEST(ShortName, IsWithoutScopeReturnAndParameters) {
  EXPECT_EQ(short_name("_ZN6octavo4cuda3gpu14attend_generalILb1ELb0EEEvNS1_10AttendPlanE"),
            "attend_general<true, false>");
  EXPECT_EQ(short_name("_ZN6octavo4cuda3gpu12_GLOBAL__N_14copyEPf"), "copy");
  EXPECT_EQ(short_name("_ZN6octavo4cuda3gpu1kILNS1_6FormatE2ELin1EEEvv"), "k<(Format)2, -1>");
  EXPECT_EQ(short_name("plain_c"), "plain_c");
}

}  // namespace
}  // namespace octavo::compiled
