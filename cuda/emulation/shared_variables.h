// Declarations of shared memory, as kernels/platform.cuh has them.
#pragma once

#include <type_traits>

#include "shared_memory.h"
#include "site.h"

#define OCTAVO_SHARED(Type, name)                                                              \
  static_assert(std::is_trivially_default_constructible_v<Type>, "shared memory is not made"); \
  static constexpr ::octavo::emulation::SharedArray name##_declaration{#name, sizeof(Type),    \
                                                                       alignof(Type)};         \
  Type& name = *static_cast<Type*>(::octavo::emulation::shared_array(name##_declaration))

#define OCTAVO_SHARED_ARRAY(Type, name, size)                                                     \
  static_assert(std::is_trivially_default_constructible_v<Type>, "shared memory is not made");    \
  static constexpr ::octavo::emulation::SharedArray name##_declaration{#name, sizeof(Type[size]), \
                                                                       alignof(Type)};            \
  Type(&name)[size] =                                                                             \
      *static_cast<Type(*)[size]>(::octavo::emulation::shared_array(name##_declaration))

#define OCTAVO_DYNAMIC_SHARED(name) \
  unsigned char* const name = ::octavo::emulation::dynamic_shared_memory()

namespace octavo::emulation {

/// The array of the running block. An error of the kernel when it does not fit.
void* shared_array(const SharedArray& declaration, Site site = Site::current());
unsigned char* dynamic_shared_memory();

}  // namespace octavo::emulation
