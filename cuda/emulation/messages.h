// The words of error messages.
#pragma once

#include <string>

#include "operation.h"
#include "site.h"
#include "vector_types.h"

namespace octavo::emulation {

class Block;
struct Thread;

std::string to_text(const cuda::uint3& index);       ///< "(1,0,0)"
std::string to_text(const cuda::dim3& extent);       ///< "(32,1,1)"
std::string to_text(Site site);                      ///< "append.cu:12:3"
std::string to_hex(unsigned mask);                   ///< "0xffff0000"
std::string placed(Operation operation, Site site);  ///< "__syncwarp at append.cu:12:3"
std::string named(const Thread& thread);             ///< "thread (5,0,0)"

/// Where the threads of a block wait: one clause for each place, the first few.
std::string waits_of(Block& block);

}  // namespace octavo::emulation
