#include "blocks/hdq_known.h"

#include <algorithm>
#include <bit>

namespace octavo::blocks::hdq {
namespace {

// Between one and two lines a record, and at least two, so that the shift stays below 64.
int line_bits(std::int64_t limit) {
  return std::max(1, static_cast<int>(std::bit_width(static_cast<std::uint64_t>(limit))));
}

}  // namespace

KnownBlocks::KnownBlocks(std::int64_t num_blocks, std::int64_t limit)
    : num_blocks_(num_blocks),
      limit_(limit),
      shift_(64 - line_bits(limit)),
      records_(at(limit), "the records of HDQ"),
      lines_(std::size_t{1} << line_bits(limit), VirtualMemory::Pages::Huge, "the table of HDQ"),
      of_block_(at(num_blocks), VirtualMemory::Pages::Huge, "the blocks of HDQ") {}

void KnownBlocks::clear() noexcept {
  records_.clear();
  lines_.clear(std::size_t{1} << (64 - shift_));
  of_block_.clear(at(num_blocks_));
  count_ = ghosts_ = 0;
}

}  // namespace octavo::blocks::hdq
