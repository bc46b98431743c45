// The parts of expectations.cc: what of machine code the cases are made of, and the cases by
// family.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "tests/cuda/compiled/expectations.h"

namespace octavo::compiled {

using Kernels = std::span<const CompiledKernel>;
using Instructions = std::vector<std::size_t>;

// Of all kernels and cases here.
inline constexpr int kExpectedArchitecture = 90;
inline constexpr std::size_t kBlockThreads = 128;
inline constexpr double kBlockWarps = 4;
inline constexpr double kCaseHeadDim = 128;
inline constexpr double kCaseKvHeads = 8;

/// Of kExpectedArchitecture, by short name; null where there is none.
const CompiledKernel* find_kernel(Kernels kernels, std::string_view name);

Instructions all_of(const SassCode& code, unsigned operation);

/// Accesses by `operation` of so many bytes a lane.
Instructions accesses(const SassCode& code, unsigned operation, unsigned bytes);

void join(Instructions& list, const Instructions& more);

PipeClocks clocks_of(const SassCode& code, const Instructions& run);

/// Of the ceiling of a copy.
double fraction_of_copy(const GpuFigures& gpu, double bytes, double us);

std::vector<Expectation> expect_append(const GpuFigures& gpu, Kernels kernels);
std::vector<Expectation> expect_attention(const GpuFigures& gpu, Kernels kernels);
std::vector<Expectation> expect_copies(const GpuFigures& gpu, Kernels kernels);
std::vector<Expectation> expect_recurrences(const GpuFigures& gpu, Kernels kernels);
std::vector<Expectation> expect_convolution(const GpuFigures& gpu, Kernels kernels);

}  // namespace octavo::compiled
