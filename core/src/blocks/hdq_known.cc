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

KnownId KnownBlocks::find(std::uint64_t fingerprint) const noexcept {
  KnownId id = lines_[line(fingerprint)];
  while (id != 0 && records_[id].fingerprint != fingerprint) {
    id = records_[id].chained;
  }
  return id;
}

KnownId KnownBlocks::add(std::uint64_t fingerprint, KnownId parent, bool nameless) noexcept {
  const KnownId id = records_.take();
  Known& known = records_[id];
  known.fingerprint = fingerprint;
  known.parent = parent;
  known.block = kNoBlock;
  known.touches = 1;
  known.nameless = nameless;
  if (!nameless) {
    known.chained = lines_[line(fingerprint)];
    lines_[line(fingerprint)] = id;
  }
  ++count_;
  ++ghosts_;
  return id;
}

void KnownBlocks::forget(KnownId id) noexcept {
  const Known& known = records_[id];
  if (!known.nameless) {
    KnownId* link = &lines_[line(known.fingerprint)];
    while (*link != id) {
      link = &records_[*link].chained;
    }
    *link = known.chained;
  }
  records_.give(id);
  --count_;
  --ghosts_;
}

void KnownBlocks::settle(KnownId id, BlockId block) noexcept {
  records_[id].block = block;
  of_block_[at(block)] = id;
  --ghosts_;
  if (records_[id].parent != 0) {
    ++records_[records_[id].parent].children;
  }
}

void KnownBlocks::leave(KnownId id) noexcept {
  of_block_[at(records_[id].block)] = 0;
  records_[id].block = kNoBlock;
  ++ghosts_;
  if (records_[id].parent != 0) {
    --records_[records_[id].parent].children;
  }
}

void KnownBlocks::clear() noexcept {
  records_.clear();
  lines_.clear(std::size_t{1} << (64 - shift_));
  of_block_.clear(at(num_blocks_));
  count_ = ghosts_ = 0;
}

}  // namespace octavo::blocks::hdq
