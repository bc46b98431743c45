// Every build of attention's digest program, with and without the vector kernels and the machine's
// FMA, prints the recorded digests.
#include <array>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace octavo::ops_test {
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

std::vector<std::string> programs() {
  std::vector<std::string> paths;
  std::istringstream list(OCTAVO_DIGEST_PROGRAMS);
  for (std::string path; std::getline(list, path, ',');) {
    paths.push_back(path);
  }
  return paths;
}

class AttendDigests : public testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(Builds,
                         AttendDigests,
                         testing::ValuesIn(programs()),
                         [](const auto& build) {
                           return build.param.substr(build.param.rfind("attend_digest_") + 14);
                         });

TEST_P(AttendDigests, AreTheRecordedOnes) {
  ASSERT_NE(recorded(), "") << OCTAVO_DIGESTS;
  EXPECT_EQ(output_of("'" + GetParam() + "'"), recorded());
}

TEST_P(AttendDigests, AreTheRecordedOnesWithoutTheVectorKernels) {
  EXPECT_EQ(output_of("env OCTAVO_NO_SIMD=1 '" + GetParam() + "'"), recorded());
}

TEST_P(AttendDigests, AreTheRecordedOnesWithSoftwareFma) {
  // glibc's fmaf then computes what the instruction would.
  EXPECT_EQ(output_of("env OCTAVO_NO_SIMD=1 GLIBC_TUNABLES=glibc.cpu.hwcaps=-FMA,-FMA4,-AVX2 '" +
                      GetParam() + "'"),
            recorded());
}

}  // namespace
}  // namespace octavo::ops_test
