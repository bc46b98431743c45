// Small kernels for tests of the machine, written as PTX.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/cuda/simulated_gpu/machine/machine.h"
#include "tests/cuda/simulated_gpu/machine/memory.h"
#include "tests/cuda/simulated_gpu/machine/program.h"

namespace octavo::simulated_gpu {

using Words = std::vector<std::uint32_t>;

/// A kernel "k" of one pointer, which %rd1 holds; %r1 holds the thread, %rd2 the address of its own
/// word. Registers %p0 to %p9, %rs0 to %rs19, %r0 to %r59, %f0 to %f19, %rd0 to %rd19.
inline std::string kernel_text(const std::string& body, const std::string& declarations = "") {
  return ".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k(\n"
         "  .param .u64 k_param_0\n)\n.maxntid 1024, 1, 1\n{\n"
         ".reg .pred %p<10>;\n.reg .b16 %rs<20>;\n.reg .b32 %r<60>;\n.reg .f32 %f<20>;\n"
         ".reg .b64 %rd<20>;\n" +
         declarations +
         "ld.param.u64 %rd1, [k_param_0];\ncvta.to.global.u64 %rd1, %rd1;\nmov.u32 %r1, %tid.x;\n"
         "mul.wide.u32 %rd2, %r1, 4;\nadd.s64 %rd2, %rd1, %rd2;\n" +
         body + "\nret;\n}\n";
}

/// What `words` hold afterwards.
inline Words run_text(const std::string& text,
                      Words words,
                      std::uint32_t threads = kLanes,
                      std::uint64_t seed = 0,
                      std::uint32_t blocks = 1) {
  Machine machine;
  machine.load(text, "test.ptx");
  const Kernel* const kernel = machine.find("k");
  const auto address = reinterpret_cast<std::uint64_t>(words.data());
  GpuMemory memory;
  memory.add(address, words.size() * sizeof(std::uint32_t));
  std::byte parameters[sizeof(address)];
  std::memcpy(parameters, &address, sizeof(address));
  machine.run(*kernel, {{blocks}, {threads}, 0}, parameters, memory, seed);
  return words;
}

inline Words run_body(const std::string& body,
                      const Words& words,
                      std::uint32_t threads = kLanes,
                      std::uint64_t seed = 0) {
  return run_text(kernel_text(body), words, threads, seed);
}

/// Of `throwing`: what it throws says; "" when it does not throw.
template <typename Function>
std::string message_of(Function throwing) {
  try {
    throwing();
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "";
}

}  // namespace octavo::simulated_gpu
