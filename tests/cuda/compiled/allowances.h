// What the fast kernels may do that exact ones may not. They are asked for by name (AttendMode) and
// promise nothing about bits.
//
// Constant data.
#pragma once

#include <array>

#include "tests/cuda/compiled/ptx_lint.h"

namespace octavo::compiled {

inline constexpr auto kAllowances = std::to_array<Allowance>({
    {"attend_fast", "ex2.approx.ftz.f32",
     "one instruction instead of the specified 2^x; weights below 2^-126 may vanish"},
    {"attend_fast", "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32",
     "tensor cores do not say how they round the sums of BF16 products"},
    {"attend_fast", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
     "tensor cores do not say how they round the sums of F16 products"},
    {"attend_fast_wide", "ex2.approx.ftz.f32", "as in narrow tiles"},
    {"attend_fast_wide", "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32",
     "as in narrow tiles"},
    {"attend_fast_wide", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "as in narrow tiles"},
});

}  // namespace octavo::compiled
