// How the reference is vectorised without a bit depending on it.
//
// Hot loops are written once, as OCTAVO_LANES functions: always inlined, over lanes that do not
// talk to each other. Each is compiled twice, for the build's own target and for AVX2 with FMA, and
// simd_enabled() picks at run time. Every operation is one IEEE-754 binary32 operation, so both
// compilations give the same bits; only the speed differs.
//
// Threads: anything here may be called from any thread.
#pragma once

#if defined(__x86_64__) && defined(__GNUC__)
#define OCTAVO_HAS_AVX2_TARGET 1
#define OCTAVO_AVX2 __attribute__((target("avx2,fma")))
#else
#define OCTAVO_HAS_AVX2_TARGET 0
#define OCTAVO_AVX2
#endif

/// A function that takes over the target of whoever calls it.
#define OCTAVO_LANES inline __attribute__((always_inline))

/// Defines `name(params)`, which runs `body args` compiled for the best target of this machine.
///   OCTAVO_DISPATCH(void, scale_row, (const float* x, float* y), scale_row_lanes, (x, y))
#if OCTAVO_HAS_AVX2_TARGET
#define OCTAVO_DISPATCH(result, name, params, body, args)                           \
  namespace {                                                                       \
  OCTAVO_AVX2 result name##_avx2 params {                                           \
    return body args;                                                               \
  }                                                                                 \
  result name##_base params {                                                       \
    return body args;                                                               \
  }                                                                                 \
  }                                                                                 \
  result name params {                                                              \
    return ::octavo::ref_cpu::simd_enabled() ? name##_avx2 args : name##_base args; \
  }
#else
#define OCTAVO_DISPATCH(result, name, params, body, args) \
  result name params {                                    \
    return body args;                                     \
  }
#endif

namespace octavo::ref_cpu {

/// Whether the AVX2 compilations are used: true on machines that have AVX2 and FMA, unless the
/// environment says OCTAVO_NO_SIMD=1 or force_simd has said otherwise.
bool simd_enabled() noexcept;

/// For tests: false forces the plain compilations; true goes back to what the machine has.
void force_simd(bool wanted) noexcept;

/// a * b + c, rounded once. The instruction where the target has one; glibc's exact fmaf elsewhere.
OCTAVO_LANES float fma_rn(float a, float b, float c) noexcept {
  return __builtin_fmaf(a, b, c);
}

}  // namespace octavo::ref_cpu
