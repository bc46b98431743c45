// What a token writes and asks: functions of the whole history up to it.
//
// A position has a *chain*, a hash of every token up to it and of what the sequence began with (its
// namespace's generation). Keys, values, queries and state inputs are drawn from chain, layer and
// head. So a row that is read in the wrong place, too early, too late, or for another session holds
// other numbers, and a sequence's numbers are the same however it was cut into steps.
//
// Pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "octavo/tensor.h"

namespace octavo::sim::check {

using Chain = std::uint64_t;
using Tokens = std::vector<std::int32_t>;

/// The chain of `token` behind a history whose chain is `before`.
Chain extend(Chain before, std::int32_t token) noexcept;

/// The chains of all tokens, behind `before`.
std::vector<Chain> chains_of(Chain before, std::span<const std::int32_t> tokens);

/// What a sequence of this namespace begins with, in its given generation.
Chain first_chain(std::uint64_t namespace_id, std::uint64_t generation) noexcept;

/// What an operand is: different ones have different numbers.
enum class Role : std::uint32_t { Key, Value, Query, ConvInput, ConvWeight, Q, K, V, Decay, Beta };

struct Operand {
  Role role = Role::Key;
  int layer = 0;
  int part = 0;
};

/// The numbers of one head of one token, in (-1, 1), exact in F32: a common power of two from 1 to
/// 1/8 times multiples of 2^-15.
void draw_row(Chain chain, const Operand& operand, std::int64_t head, std::span<float> out);

/// [tokens, heads, elements] F32 on `device`; without `heads` (0), [tokens, elements].
Tensor draw_operand(std::span<const Chain> chains,
                    const Operand& operand,
                    std::int64_t heads,
                    std::int64_t elements,
                    const std::shared_ptr<Device>& device);

}  // namespace octavo::sim::check
