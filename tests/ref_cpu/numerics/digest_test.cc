// Every build of the digest program, with and without the vectorised compilations and the machine's
// FMA, prints the recorded digests.

#include <array>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

namespace octavo::ref_cpu {
namespace {

std::string output_of(const std::string& command) {
  std::FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) {
    return "could not start " + command;
  }
  std::string output;
  std::array<char, 4096> part{};
  while (const std::size_t count = std::fread(part.data(), 1, part.size(), pipe)) {
    output.append(part.data(), count);
  }
  const int status = pclose(pipe);
  return status == 0 ? output : command + " ended with status " + std::to_string(status);
}

std::string recorded() {
  std::ifstream file(OCTAVO_DIGESTS);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// `program` is a path, or empty where there is no such build.
struct Build {
  const char* name;
  const char* program;
};

constexpr Build kBuilds[] = {
    {"Unoptimised", OCTAVO_DIGEST_UNOPTIMISED},
    {"Optimised", OCTAVO_DIGEST_OPTIMISED},
    {"OptimisedForFma", OCTAVO_DIGEST_FMA},
    {"OtherCompiler", OCTAVO_DIGEST_OTHER},
};

class Digests : public testing::TestWithParam<Build> {
 protected:
  void SetUp() override {
    if (std::string(GetParam().program).empty()) {
      GTEST_SKIP() << "this build needs another compiler or another machine";
    }
    ASSERT_NE(recorded(), "") << OCTAVO_DIGESTS;
  }
  std::string print(const std::string& environment) {
    return output_of("env " + environment + " '" + GetParam().program + "'");
  }
};

INSTANTIATE_TEST_SUITE_P(Builds, Digests, testing::ValuesIn(kBuilds), [](const auto& build) {
  return std::string(build.param.name);
});

TEST_P(Digests, AreTheRecordedOnes) {
  EXPECT_EQ(print(""), recorded());
}

TEST_P(Digests, AreTheRecordedOnesWithoutTheVectorisedCompilations) {
  EXPECT_EQ(print("OCTAVO_NO_SIMD=1"), recorded());
}

TEST_P(Digests, AreTheRecordedOnesWithSoftwareFma) {
  // glibc's fmaf then computes what the instruction would.
  EXPECT_EQ(print("OCTAVO_NO_SIMD=1 GLIBC_TUNABLES=glibc.cpu.hwcaps=-FMA,-FMA4,-AVX2"), recorded());
}

}  // namespace
}  // namespace octavo::ref_cpu
