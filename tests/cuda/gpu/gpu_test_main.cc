// GoogleTest's main() for tests that a GPU runs: without one nothing would have been tested, which
// is no success.
#include <cstdio>

#include "octavo/cuda/cuda_device.h"
#include <gtest/gtest.h>

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (!GTEST_FLAG_GET(list_tests) && octavo::cuda_device_count() == 0) {
    std::fprintf(stderr, "%s: no GPU that this process may use: nothing was tested\n", argv[0]);
    return 70;
  }
  return RUN_ALL_TESTS();
}
