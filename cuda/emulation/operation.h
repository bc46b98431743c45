// What a thread can wait in.
#pragma once

namespace octavo::emulation {

enum class Operation : unsigned char {
  None,
  Syncthreads,
  SyncthreadsCount,
  SyncthreadsAnd,
  SyncthreadsOr,
  Syncwarp,
  Shuffle,
  ShuffleUp,
  ShuffleDown,
  ShuffleXor,
  Ballot,
  Any,
  All,
  MatrixProduct,
  MatrixLoad,
};

/// As CUDA calls it.
constexpr const char* name_of(Operation operation) {
  constexpr const char* kNames[] = {"nothing",
                                    "__syncthreads",
                                    "__syncthreads_count",
                                    "__syncthreads_and",
                                    "__syncthreads_or",
                                    "__syncwarp",
                                    "__shfl_sync",
                                    "__shfl_up_sync",
                                    "__shfl_down_sync",
                                    "__shfl_xor_sync",
                                    "__ballot_sync",
                                    "__any_sync",
                                    "__all_sync",
                                    "mma",
                                    "load_transposed"};
  return kNames[static_cast<unsigned char>(operation)];
}

}  // namespace octavo::emulation
