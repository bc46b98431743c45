#include "shared_variables.h"

#include <string>
#include <utility>

#include "block.h"
#include "messages.h"
#include "thread.h"

namespace octavo::emulation {

void* shared_array(const SharedArray& declaration, Site site) {
  Quiet quiet;
  Block& block = *current_thread->block;
  void* data = block.shared().array(declaration);
  if (data == nullptr) {
    std::string what = "no room for the shared memory " + std::string(declaration.name) + " (" +
                       std::to_string(declaration.size_bytes) + " bytes) at " + to_text(site) +
                       ": a block has " + std::to_string(kStaticSharedBytes) +
                       " bytes of static and " + std::to_string(kSharedBytes) +
                       " of all shared memory";
    block.raise(quiet, std::move(what));
  }
  return data;
}

unsigned char* dynamic_shared_memory() {
  const Quiet quiet;
  return current_thread->block->shared().dynamic();
}

}  // namespace octavo::emulation
