#include "prompt_tokens.h"

#include <algorithm>

#include "octavo/error.h"

namespace octavo::sim {
namespace {

constexpr std::uint64_t kOwnNames = std::uint64_t{1} << 31;

// For a fixed offset a bijection of the names: an odd factor and an addend, modulo 2^32.
std::int32_t token(std::uint32_t name, std::uint32_t offset) {
  return static_cast<std::int32_t>(name * 0x9E3779B1U + offset * 0x85EBCA77U);
}

}  // namespace

// Ids below 2^31 name themselves; larger ones are numbered above them as they appear.
std::uint32_t PromptTokens::name_of(std::uint64_t id) {
  if (id < kOwnNames) {
    return static_cast<std::uint32_t>(id);
  }
  const auto known = names_.find(id);
  if (known != names_.end()) {
    return known->second;
  }
  const std::uint32_t name = new_name();
  names_.emplace(id, name);
  return name;
}

std::uint32_t PromptTokens::new_name() {
  if (given_ == kOwnNames) {
    throw Error(ErrorCode::ResourceExhausted,
                "replay: more than 2^31 distinct ids of 2^31 and up and tails without an id");
  }
  return static_cast<std::uint32_t>(kOwnNames + given_++);
}

std::span<const std::int32_t> PromptTokens::expand(const TraceRequest& request) {
  const std::int64_t unit = pseudo_block_ > 0 ? pseudo_block_ : 1;
  const std::int64_t count = (request.input_tokens + unit - 1) / unit;
  const std::int64_t per_id = trace_block_ / unit;
  if (static_cast<std::int64_t>(tokens_.size()) < count) {
    tokens_.resize(static_cast<std::size_t>(count));
  }
  std::int32_t* out = tokens_.data();
  std::int64_t done = 0;
  const auto write = [&](std::uint32_t name) {
    const std::int64_t here = std::min(per_id, count - done);
    for (std::int64_t offset = 0; offset < here; ++offset) {
      *out++ = token(name, static_cast<std::uint32_t>(offset));
    }
    done += here;
  };
  for (const std::uint64_t id : request.block_ids) {
    write(name_of(id));
  }
  while (done < count) {  // A tail that the trace does not name.
    write(new_name());
  }
  return {tokens_.data(), static_cast<std::size_t>(done)};
}

}  // namespace octavo::sim
