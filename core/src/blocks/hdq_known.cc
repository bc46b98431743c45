#include "blocks/hdq_known.h"

#include <algorithm>
#include <bit>

namespace octavo::blocks::hdq {
namespace {

// Records that are not in use, so that one beside a block's parent often is: a part of the limit.
constexpr std::int64_t kSpare = 4;

std::size_t capacity(std::int64_t limit) {
  return at(std::min(limit + limit / kSpare, (std::int64_t{1} << 32) - 2));
}

// Between one and two lines a record, and at least two, so that the shift stays below 64.
int line_bits(std::int64_t limit) {
  return std::max(1, static_cast<int>(std::bit_width(static_cast<std::uint64_t>(limit))));
}

}  // namespace

KnownBlocks::KnownBlocks(std::int64_t num_blocks, std::int64_t limit)
    : num_blocks_(num_blocks),
      limit_(limit),
      capacity_(capacity(limit)),
      shift_(64 - line_bits(limit)),
      // The first record is nobody, the last one has another beside it.
      records_(capacity_ + 2, VirtualMemory::Pages::Huge, "the records of HDQ"),
      lines_(std::size_t{1} << line_bits(limit), VirtualMemory::Pages::Huge, "the table of HDQ"),
      of_block_(at(num_blocks), VirtualMemory::Pages::Huge, "the blocks of HDQ") {}

std::size_t KnownBlocks::unused() const noexcept {
  std::size_t count = 0;
  for (KnownId id = records_[0].chained; id != 0; id = records_[id].chained) {
    ++count;
  }
  return count;
}

void KnownBlocks::clear() noexcept {
  records_.clear(used_ + 1);
  used_ = 0;
  lines_.clear(std::size_t{1} << (64 - shift_));
  of_block_.clear(at(num_blocks_));
  count_ = 0;
  latest_ = 0;
}

}  // namespace octavo::blocks::hdq
