// The machine knows every instruction of every kernel that the library has, whether or not a test
// comes to it.
#include <string>

#include <gtest/gtest.h>

#include "tests/cuda/simulated_gpu/device/machine_runner.h"

namespace octavo::simulated_gpu {
namespace {

TEST(BuiltKernels, AreKnownToTheLastInstruction) {
  for (const int capability : {80, 90}) {
    const auto kernels = built_kernels(capability);
    EXPECT_GT(kernels->names().size(), 200u);
    for (const std::string& name : kernels->names()) {
      EXPECT_NE(kernels->find(name), nullptr) << name;
    }
  }
}

TEST(BuiltKernels, WideTilesAreForHopper) {
  const auto has_wide = [](int capability) {
    for (const std::string& name : built_kernels(capability)->names()) {
      if (name.find("attend_fast_wide") != std::string::npos) {
        return true;
      }
    }
    return false;
  };
  EXPECT_FALSE(has_wide(80));
  EXPECT_TRUE(has_wide(90));
}

}  // namespace
}  // namespace octavo::simulated_gpu
