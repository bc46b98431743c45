// The tiles that attention in fast mode may work in.
//
// Constant data.
#pragma once

namespace octavo {

/// Sixteen rows and a chunk a thread block, or 128 rows and all of their chunks. Nothing of a
/// result depends on it. Any: the faster one. Narrow and Wide are for tests; Wide only where there
/// is a kernel of it.
enum class FastTiles { Any, Narrow, Wide };

}  // namespace octavo
