// The requests of a replica that generate, in the order in which they began to, as parallel arrays:
// what a step does to all of them is a loop over a few of these.
//
// While a request is in the batch, its `past` and `emitted` are here and stale in the request;
// `leave` and `store` write them back.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "context_sums.h"
#include "request.h"

namespace octavo::sim {

class DecodeBatch {
 public:
  DecodeBatch(std::span<const std::int64_t> spans, std::int64_t longest) : sums_(spans, longest) {}

  std::size_t size() const noexcept { return requests_.size(); }
  Request& request(std::size_t i) const noexcept { return *requests_[i]; }
  std::int32_t past(std::size_t i) const noexcept { return past_[i]; }
  std::int32_t left(std::size_t i) const noexcept { return left_[i]; }
  std::int32_t room(std::size_t i) const noexcept { return room_[i]; }
  std::span<const std::int32_t> slots() const noexcept { return slots_; }
  std::span<const std::int32_t> pasts() const noexcept { return past_; }
  /// Over all sequences, each feeding one token.
  const ContextSums& sums() const noexcept { return sums_; }

  /// Takes a request in whose prompt is computed; `room`: positions that its blocks hold.
  void join(Request& request, std::int64_t room);

  /// How many sequences have no room for one more position.
  std::int64_t without_room() const noexcept;

  /// The blocks of the sequence now hold so many positions.
  void set_room(std::size_t i, std::int64_t room) noexcept {
    room_[i] = static_cast<std::int32_t>(room);
  }

  /// Every sequence has fed one token and generated one. Returns whether one has none left.
  bool advance_all(std::int32_t block_size) noexcept;
  /// One sequence has generated so many, and holds as many positions more.
  void advance(std::size_t i, std::int32_t tokens) noexcept;

  /// Writes the request's state back.
  void store(std::size_t i) const noexcept;
  /// Writes the state back and marks the entry as gone; `compact` then removes what is marked.
  void leave(std::size_t i) noexcept;
  bool gone(std::size_t i) const noexcept { return requests_[i] == nullptr; }
  void compact() noexcept;

 private:
  std::vector<Request*> requests_;
  std::vector<std::int32_t> slots_;
  std::vector<std::int32_t> past_;  ///< Positions computed or served.
  std::vector<std::int32_t> room_;  ///< Positions that the bound blocks hold.
  std::vector<std::int32_t> left_;  ///< Tokens still to generate.
  ContextSums sums_;
};

}  // namespace octavo::sim
