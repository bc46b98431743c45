// How many instructions the tuned attention kernels issue for a token of one KV head, counted in
// their machine code.
//
// What is counted: the loop over keys and the loop over values of a chunk that every row sees
// whole, each as (instructions of the loop body) * (warps that run it) / (tokens that one iteration
// of all those warps does). An instruction of a warp is one issue slot, whatever it costs after
// that. Both sides of every condition count, and inner loops once, but not what runs only where the
// threads of a warp have parted. The softmax is counted for a row: a warp does 256 tokens of one;
// all its conditions count, the cap's too, but not subroutines such as the slow path of a division.
// The rest, what a chunk costs once (addresses, ranges, queries, reductions across streams,
// stores, counting the block), is counted along the shortest way through the code that passes both
// loops: at least so much. What the last block of a tile and KV head does besides, the combination
// of its rows, is the way that passes the loop over chunks too, without that rest; and that loop.
//
// Where the compiler unrolled a loop of tensor core products whole, what stands between the
// barriers around them is counted instead, the fragments of the queries and the first loads of
// values too.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tests/cuda/compiled/cubin.h"
#include "tests/cuda/compiled/pipes.h"

namespace octavo::compiled {

/// Of a token.
struct Slots {
  double count = 0;
  bool is_loop = true;  ///< False: all between two barriers.
  PipeClocks clocks;    ///< Of a multiprocessor, for the same instructions.
};

struct SlotCount {
  std::string kernel;  ///< "attend_float"
  std::string format;  ///< Of keys and values: "BF16", "Int8/Int4".
  int architecture = 0;
  int head_dim = 0;
  int rows = 0;  ///< Query rows of a tile: what the figures are for, however few there are.
  std::size_t registers = 0;
  std::size_t shared_bytes = 0;
  std::optional<Slots> keys;    ///< Nothing where the code is not as this file knows it.
  std::optional<Slots> values;  ///< Likewise.
  std::optional<Slots> softmax_of_row;
  std::optional<Slots> plain_softmax_of_row;  ///< Where logits have no cap.
  std::optional<Slots> rest;
  /// Of one warp, not of a token: what a row that is combined costs once, and an iteration over its
  /// chunks, of which that takes so many.
  std::optional<Slots> combined_row;
  std::optional<Slots> combined_chunks;
  int chunks_at_once = 0;
};

/// Of the kernels among `kernels` whose loops are known here: attend_float, attend_int_kernel and
/// attend_fast_kernel. By kernel, format, architecture, head dim and rows.
std::vector<SlotCount> count_slots(std::span<const CompiledKernel> kernels);

}  // namespace octavo::compiled
