#include "tests/cuda/simulated_gpu/machine/access.h"

#include <span>
#include <sstream>

#include "tests/cuda/simulated_gpu/machine/block_run.h"

namespace octavo::simulated_gpu {
namespace {

[[noreturn]] void fail(const Warp& warp, const Access& access, const char* what) {
  std::ostringstream text;
  text << "an access of " << access.size_bytes << " bytes at 0x" << std::hex << access.address
       << " " << what;
  warp.fail(access.instruction, access.lane, text.str());
}

}  // namespace

const std::byte* find_parameter(Warp& warp, const Access& access) {
  const std::span<const std::byte> parameters = warp.block().parameters();
  if (access.address % access.size_bytes != 0 || access.address > parameters.size() ||
      parameters.size() - access.address < access.size_bytes) {
    fail(warp, access, "is none of the parameters");
  }
  return parameters.data() + access.address;
}

std::byte* find_shared(Warp& warp, const Access& access) {
  SharedMemory& shared = warp.block().shared();
  if (const char* wrong = shared.misplaced(access.address, access.size_bytes)) {
    fail(warp, access, wrong);
  }
  return shared.at(static_cast<std::uint32_t>(access.address));
}

std::byte* find_global(Warp& warp, const Access& access) {
  if (const char* wrong =
          warp.block().misplaced(access.instruction, access.address, access.size_bytes)) {
    fail(warp, access, wrong);
  }
  return warp.block().memory().host(access.address);
}

}  // namespace octavo::simulated_gpu
