// Pool sizes that cover a range evenly on a logarithmic axis.
#pragma once

#include <cstdint>
#include <vector>

namespace octavo::sim {

/// About `count` >= 2 ascending sizes from `least` >= 1 to `most` >= least, both included.
std::vector<std::int64_t> spread_sizes(std::int64_t least, std::int64_t most, int count);

}  // namespace octavo::sim
