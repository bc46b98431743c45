#include "tests/cuda/compiled/expectations.h"

#include <algorithm>
#include <utility>

#include "tests/cuda/compiled/expectation_parts.h"

namespace octavo::compiled {

const CompiledKernel* find_kernel(Kernels kernels, std::string_view name) {
  const auto found = std::find_if(kernels.begin(), kernels.end(), [&](const CompiledKernel& k) {
    return k.architecture == kExpectedArchitecture && k.name == name;
  });
  return found == kernels.end() ? nullptr : &*found;
}

Instructions accesses(const SassCode& code, unsigned operation, unsigned bytes) {
  Instructions found;
  for (std::size_t i = 0; i < code.size(); ++i) {
    if (code[i].operation() == operation && access_bytes(code[i]) == bytes) {
      found.push_back(i);
    }
  }
  return found;
}

Instructions all_of(const SassCode& code, unsigned operation) {
  Instructions found;
  for (std::size_t i = 0; i < code.size(); ++i) {
    if (code[i].operation() == operation) {
      found.push_back(i);
    }
  }
  return found;
}

void join(Instructions& list, const Instructions& more) {
  list.insert(list.end(), more.begin(), more.end());
}

PipeClocks clocks_of(const SassCode& code, const Instructions& run) {
  PipeClocks clocks;
  for (const std::size_t i : run) {
    clocks += pipe_clocks(code[i]);
  }
  return clocks;
}

double fraction_of_copy(const GpuFigures& gpu, double bytes, double us) {
  return bytes / (us * 1e3) / gpu.memory_gb_per_s;
}

bool Expectation::meets_goal() const {
  return goal == 0.0 || (unit == ExpectedUnit::Microseconds ? value <= goal : value >= goal);
}

std::vector<Expectation> expectations(const GpuFigures& gpu, Kernels kernels) {
  std::vector<Expectation> results;
  for (const auto& expect :
       {expect_append, expect_attention, expect_copies, expect_recurrences, expect_convolution}) {
    for (Expectation& result : expect(gpu, kernels)) {
      results.push_back(std::move(result));
    }
  }
  return results;
}

std::size_t num_expectations() {
  return 4 + 23 + 2 + 4 + 1;
}

}  // namespace octavo::compiled
