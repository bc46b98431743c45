#include "token_identity.h"

#include <algorithm>

#include "octavo/sim/rng.h"

namespace octavo::sim {
namespace {

constexpr std::uint64_t kOwnNames = 0x6f776e20746f6b65ULL;
constexpr std::uint32_t kNamedStride = 0x85EBCA77U;
constexpr std::uint32_t kOwnStride = 0xC2B2AE3DU;

// The two halves of a bijection of the name take turns.
struct Halves {
  std::uint32_t even;
  std::uint32_t odd;
};

Halves halves(std::uint64_t name) {
  const std::uint64_t mixed = splitmix64(name);
  return {static_cast<std::uint32_t>(mixed), static_cast<std::uint32_t>(mixed >> 32)};
}

// Tokens of offsets [begin, begin + count) under a name.
void write_run(
    Halves name, std::uint32_t stride, std::uint32_t begin, std::int64_t count, std::int32_t* out) {
  if ((begin & 1U) != 0) {
    std::swap(name.even, name.odd);
  }
  std::uint32_t step = begin * stride;
  std::int64_t i = 0;
  for (; i + 1 < count; i += 2) {
    out[i] = static_cast<std::int32_t>(name.even + step);
    out[i + 1] = static_cast<std::int32_t>(name.odd + step + stride);
    step += 2 * stride;
  }
  if (i < count) {
    out[i] = static_cast<std::int32_t>(name.even + step);
  }
}

}  // namespace

void TokenNames::write(std::int64_t begin, std::int64_t end, std::int32_t* out) const {
  std::int64_t position = begin;
  const std::int64_t named_end = std::min(end, named_tokens);
  while (position < named_end) {
    const std::int64_t block = position / trace_block;
    const std::int64_t offset = position - block * trace_block;
    const std::int64_t count = std::min(trace_block - offset, named_end - position);
    write_run(halves(ids[static_cast<std::size_t>(block)]), kNamedStride,
              static_cast<std::uint32_t>(offset), count, out);
    out += count;
    position += count;
  }
  if (position < end) {
    write_run(halves(static_cast<std::uint64_t>(owner) ^ kOwnNames), kOwnStride,
              static_cast<std::uint32_t>(position), end - position, out);
  }
}

bool TokenNamer::begin(const TraceRequest& request, std::int64_t index, TokenNames& names) {
  first_ = last_ = &request;
  names_ = &names;
  names.ids.clear();
  names.named_tokens = 0;
  names.owner = index;
  names.trace_block = trace_block_;
  end_ = request.input_tokens;
  if (!traits_.prefix_ids) {
    return false;
  }
  names.ids.assign(request.block_ids.begin(), request.block_ids.begin() + whole_blocks(request));
  return true;
}

bool TokenNamer::extend(const TraceRequest& later) {
  std::vector<std::uint64_t>& ids = names_->ids;
  const auto known = static_cast<std::ptrdiff_t>(ids.size());
  if (later.input_tokens < last_->input_tokens ||
      !std::equal(ids.begin(), ids.end(), later.block_ids.begin())) {
    return false;
  }
  if (last_ == first_) {
    end_ = std::max(end_, std::min(first_->input_tokens + first_->output_tokens,  //
                                   later.input_tokens));
  }
  ids.insert(ids.end(), later.block_ids.begin() + known,
             later.block_ids.begin() + whole_blocks(later));
  last_ = &later;
  return static_cast<std::int64_t>(ids.size()) * trace_block_ < end_;
}

void TokenNamer::finish() {
  if (!traits_.prefix_ids) {
    return;
  }
  std::vector<std::uint64_t>& ids = names_->ids;
  const std::int64_t whole = static_cast<std::int64_t>(ids.size()) * trace_block_;
  std::int64_t named = whole;
  if (whole < end_ && traits_.tail_has_id && last_->input_tokens > whole) {
    ids.push_back(last_->block_ids[ids.size()]);
    named = last_->input_tokens;
  }
  names_->named_tokens = std::min(named, end_);
}

}  // namespace octavo::sim
