// The collectives of a warp by CUDA's names.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "thread.h"
#include "warp.h"

namespace octavo::emulation {

inline std::uint64_t take_part(const Collective& call, std::uint64_t value, int argument = 0) {
  Thread& thread = *current_thread;
  return thread.warp->take_part(thread, call, value, argument);
}

template <typename T>
T shuffle(const Collective& call, T value, int argument) {
  static_assert(std::is_arithmetic_v<T> && (sizeof(T) == 4 || sizeof(T) == 8),
                "CUDA shuffles numbers of 4 and 8 bytes");
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  bits = take_part(call, bits, argument);
  std::memcpy(&value, &bits, sizeof(T));
  return value;
}

}  // namespace octavo::emulation

namespace octavo::cuda {
inline namespace emulated {

inline void __syncwarp(unsigned mask = 0xFFFFFFFFu,
                       emulation::Site site = emulation::Site::current()) {
  emulation::take_part({emulation::Operation::Syncwarp, mask, 32, site}, 0);
}

template <typename T>
T __shfl_sync(unsigned mask,
              T value,
              int lane,
              int width = 32,
              emulation::Site site = emulation::Site::current()) {
  return emulation::shuffle({emulation::Operation::Shuffle, mask, width, site}, value, lane);
}
template <typename T>
T __shfl_up_sync(unsigned mask,
                 T value,
                 unsigned distance,
                 int width = 32,
                 emulation::Site site = emulation::Site::current()) {
  return emulation::shuffle({emulation::Operation::ShuffleUp, mask, width, site}, value,
                            static_cast<int>(distance));
}
template <typename T>
T __shfl_down_sync(unsigned mask,
                   T value,
                   unsigned distance,
                   int width = 32,
                   emulation::Site site = emulation::Site::current()) {
  return emulation::shuffle({emulation::Operation::ShuffleDown, mask, width, site}, value,
                            static_cast<int>(distance));
}
template <typename T>
T __shfl_xor_sync(unsigned mask,
                  T value,
                  int lane_mask,
                  int width = 32,
                  emulation::Site site = emulation::Site::current()) {
  return emulation::shuffle({emulation::Operation::ShuffleXor, mask, width, site}, value,
                            lane_mask);
}

inline unsigned __ballot_sync(unsigned mask,
                              int predicate,
                              emulation::Site site = emulation::Site::current()) {
  return static_cast<unsigned>(
      emulation::take_part({emulation::Operation::Ballot, mask, 32, site}, predicate != 0 ? 1 : 0));
}
inline int __any_sync(unsigned mask,
                      int predicate,
                      emulation::Site site = emulation::Site::current()) {
  return static_cast<int>(
      emulation::take_part({emulation::Operation::Any, mask, 32, site}, predicate != 0 ? 1 : 0));
}
inline int __all_sync(unsigned mask,
                      int predicate,
                      emulation::Site site = emulation::Site::current()) {
  return static_cast<int>(
      emulation::take_part({emulation::Operation::All, mask, 32, site}, predicate != 0 ? 1 : 0));
}

}  // namespace emulated
}  // namespace octavo::cuda
