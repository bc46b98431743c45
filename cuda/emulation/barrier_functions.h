// __syncthreads and its kin, by CUDA's names.
#pragma once

#include "block.h"
#include "thread.h"

namespace octavo::cuda {
inline namespace emulated {

inline void __syncthreads(emulation::Site site = emulation::Site::current()) {
  emulation::Thread& thread = *emulation::current_thread;
  thread.block->barrier().pass(thread, emulation::Operation::Syncthreads, false, site);
}

/// For how many threads of the block `predicate` holds; whether for all; whether for any.
inline int __syncthreads_count(int predicate, emulation::Site site = emulation::Site::current()) {
  emulation::Thread& thread = *emulation::current_thread;
  return static_cast<int>(thread.block->barrier().pass(
      thread, emulation::Operation::SyncthreadsCount, predicate != 0, site));
}
inline int __syncthreads_and(int predicate, emulation::Site site = emulation::Site::current()) {
  emulation::Thread& thread = *emulation::current_thread;
  return thread.block->barrier().pass(thread, emulation::Operation::SyncthreadsAnd, predicate != 0,
                                      site) == thread.block->threads()
             ? 1
             : 0;
}
inline int __syncthreads_or(int predicate, emulation::Site site = emulation::Site::current()) {
  emulation::Thread& thread = *emulation::current_thread;
  return thread.block->barrier().pass(thread, emulation::Operation::SyncthreadsOr, predicate != 0,
                                      site) != 0
             ? 1
             : 0;
}

}  // namespace emulated
}  // namespace octavo::cuda
