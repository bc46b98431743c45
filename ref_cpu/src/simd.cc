#include "simd.h"

#include <atomic>
#include <cstdlib>
#include <string_view>

namespace octavo::ref_cpu {
namespace {

bool machine_has_avx2() noexcept {
#if OCTAVO_HAS_AVX2_TARGET
  return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
#else
  return false;
#endif
}

bool environment_forbids() noexcept {
  const char* value = std::getenv("OCTAVO_NO_SIMD");  // NOLINT(concurrency-mt-unsafe)
  return value != nullptr && std::string_view(value) == "1";
}

std::atomic<bool>& enabled() noexcept {
  static std::atomic<bool> flag{machine_has_avx2() && !environment_forbids()};
  return flag;
}

}  // namespace

bool simd_enabled() noexcept {
  return enabled().load(std::memory_order_relaxed);
}

void force_simd(bool wanted) noexcept {
  enabled().store(wanted && machine_has_avx2(), std::memory_order_relaxed);
}

}  // namespace octavo::ref_cpu
