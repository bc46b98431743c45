#include "prompt_blocks.h"

#include <algorithm>

namespace octavo::sim {

PromptBlocks::PromptBlocks(std::int64_t trace_block, std::int64_t block_size)
    : trace_block_(trace_block), block_size_(block_size) {}

std::span<const PathPiece> PromptBlocks::walk(const TraceRequest& request) {
  path_.clear();
  cuts_.clear();
  const std::int64_t whole = request.input_tokens / block_size_;
  if (trace_block_ % block_size_ == 0) {
    walk_split(request, whole);
  } else if (block_size_ % trace_block_ == 0) {
    walk_joined(request, whole);
  } else {
    walk_across(request, whole);
  }
  return path_;
}

// The first `most` ids, or as many as there are.
std::span<const std::uint64_t> PromptBlocks::ids_of(const TraceRequest& request,
                                                    std::int64_t most) {
  return std::span(request.block_ids)
      .first(std::min(request.block_ids.size(), static_cast<std::size_t>(most)));
}

void PromptBlocks::walk_split(const TraceRequest& request, std::int64_t whole) {
  const std::int64_t factor = trace_block_ / block_size_;
  const std::int64_t parts = (whole + factor - 1) / factor;
  const auto named = pieces_.walk(ids_of(request, parts));
  if (factor == 1) {
    add_blocks(named, whole);
    return;
  }
  std::int64_t left = whole;
  for (std::size_t i = 0; left > 0; ++i) {
    const std::uint32_t piece = i < named.size() ? named[i] : pieces_.add_unnamed();
    add_part(piece, static_cast<std::uint32_t>(std::min(factor, left)));
    left -= std::min(factor, left);
  }
}

void PromptBlocks::walk_joined(const TraceRequest& request, std::int64_t whole) {
  const std::int64_t factor = block_size_ / trace_block_;
  const auto pieces = pieces_.walk(ids_of(request, whole * factor));
  for (std::size_t block = 0; block < static_cast<std::size_t>(whole); ++block) {
    const std::size_t last = (block + 1) * static_cast<std::size_t>(factor) - 1;
    path_.push_back({last < pieces.size() ? pieces[last] : pieces_.add_unnamed(), 1});
  }
}

void PromptBlocks::walk_across(const TraceRequest& request, std::int64_t whole) {
  const std::int64_t tokens = whole * block_size_;
  const auto ids = ids_.walk(ids_of(request, (tokens + trace_block_ - 1) / trace_block_));
  names_.clear();
  for (std::int64_t last_token = block_size_ - 1; last_token < tokens; last_token += block_size_) {
    const auto id = static_cast<std::size_t>(last_token / trace_block_);
    if (id >= ids.size()) {
      break;
    }
    const auto offset = static_cast<std::uint64_t>(last_token % trace_block_);
    names_.push_back((std::uint64_t{ids[id]} << 32) | offset);
  }
  add_blocks(pieces_.walk(names_), whole);
}

// A block each of these pieces, and what is missing then.
void PromptBlocks::add_blocks(std::span<const std::uint32_t> named, std::int64_t whole) {
  path_.resize(static_cast<std::size_t>(whole));
  for (std::size_t block = 0; block < path_.size(); ++block) {
    path_[block] = {block < named.size() ? named[block] : pieces_.add_unnamed(), 1};
  }
}

PromptBlocks::Extent& PromptBlocks::extent(std::uint32_t piece) {
  if (piece >= extents_.size()) {
    extents_.resize(piece + std::size_t{1});
  }
  return extents_[piece];
}

// Appends the pieces of the first `blocks` blocks of a trace block. Equal prefix ids stand for
// equally long blocks, so one piece it is, unless a trace breaks that rule.
void PromptBlocks::add_part(std::uint32_t piece, std::uint32_t blocks) {
  for (;;) {
    if (extent(piece).blocks == 0) {
      extent(piece).blocks = blocks;
    }
    if (extent(piece).blocks > blocks) {
      cut(piece, blocks);
    }
    path_.push_back({piece, extent(piece).blocks});
    blocks -= extent(piece).blocks;
    if (blocks == 0) {
      return;
    }
    if (extent(piece).rest == PrefixNodes::kNone) {
      const std::uint32_t rest = pieces_.add_unnamed();
      extent(piece).rest = rest;
    }
    piece = extent(piece).rest;
  }
}

void PromptBlocks::cut(std::uint32_t piece, std::uint32_t blocks) {
  const std::uint32_t rest = pieces_.add_unnamed();
  extent(rest) = {extent(piece).blocks - blocks, extent(piece).rest};
  extent(piece) = {blocks, rest};
  cuts_.emplace_back(piece, rest);
}

void PromptBlocks::append_pieces(const PathPiece& part, std::vector<PathPiece>& out) const {
  if (extents_.empty()) {
    out.push_back(part);
    return;
  }
  std::uint32_t left = part.blocks;
  for (std::uint32_t piece = part.piece; left > 0; piece = extents_[piece].rest) {
    out.push_back({piece, extents_[piece].blocks});
    left -= extents_[piece].blocks;
  }
}

}  // namespace octavo::sim
