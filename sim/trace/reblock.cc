#include "reblock.h"

#include <algorithm>
#include <bit>

#include "octavo/error.h"

namespace octavo::sim {

Reblock::Reblock(const TraceTraits& traits, std::int64_t trace_block, std::int64_t block_size)
    : has_ids_(traits.prefix_ids),
      is_identity_(traits.prefix_ids && traits.tail_has_id && trace_block == block_size),
      trace_block_(traits.prefix_ids ? trace_block : block_size),
      block_size_(block_size),
      parts_(static_cast<std::uint64_t>(trace_block_ / block_size_)),
      own_names_((std::uint64_t{1} << 63) / std::bit_ceil(parts_)) {}

// Names lie below 2 * own_names_, so that name * parts + part fits 64 bits.
std::uint64_t Reblock::new_name() {
  if (given_ == own_names_) {
    throw Error(ErrorCode::ResourceExhausted,
                "convert_trace: too many distinct ids for blocks of " +
                    std::to_string(block_size_) + " tokens");
  }
  return own_names_ + given_++;
}

std::uint64_t Reblock::name_of(std::uint64_t id) {
  if (id < own_names_) {
    return id;
  }
  const auto known = names_.find(id);
  if (known != names_.end()) {
    return known->second;
  }
  const std::uint64_t name = new_name();
  names_.emplace(id, name);
  return name;
}

void Reblock::apply(TraceRequest& request) {
  if (is_identity_) {
    return;
  }
  ids_.clear();
  std::int64_t left = request.input_tokens;
  for (std::size_t i = 0; left > 0; ++i) {
    const bool named = has_ids_ && i < request.block_ids.size();
    const std::uint64_t name = named ? name_of(request.block_ids[i]) : new_name();
    const std::int64_t here = std::min(left, trace_block_);
    const auto parts = static_cast<std::uint64_t>((here + block_size_ - 1) / block_size_);
    for (std::uint64_t part = 0; part < parts; ++part) {
      ids_.push_back(name * parts_ + part);
    }
    left -= here;
  }
  request.block_ids.swap(ids_);
}

}  // namespace octavo::sim
