#include "prompt_blocks.h"

#include <algorithm>

namespace octavo::sim {
namespace {

constexpr std::size_t kAhead = 8;  // Ids whose slots are fetched before they are looked up.

}  // namespace

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

void PromptBlocks::walk_split(const TraceRequest& request, std::int64_t whole) {
  const std::int64_t factor = trace_block_ / block_size_;
  const auto& ids = request.block_ids;
  const auto add = [this, factor](std::uint32_t piece, std::int64_t blocks) {
    if (factor == 1) {
      path_.push_back({piece, 1});
    } else {
      add_part(piece, static_cast<std::uint32_t>(blocks));
    }
    return blocks;
  };
  std::uint32_t node = PrefixNodes::kNone;
  std::int64_t left = whole;
  for (std::size_t i = 0; i < ids.size() && left > 0; ++i) {
    if (i + kAhead < ids.size()) {
      nodes_.prefetch(ids[i + kAhead]);
    }
    node = nodes_.find_or_add(node, ids[i]);
    left -= add(node, std::min(factor, left));
  }
  while (left > 0) {
    left -= add(nodes_.add_unnamed(), std::min(factor, left));
  }
}

void PromptBlocks::walk_joined(const TraceRequest& request, std::int64_t whole) {
  const auto factor = static_cast<std::size_t>(block_size_ / trace_block_);
  const auto& ids = request.block_ids;
  std::uint32_t node = PrefixNodes::kNone;
  for (std::size_t i = 0; i < ids.size() && path_.size() < static_cast<std::size_t>(whole); ++i) {
    if (i + kAhead < ids.size()) {
      nodes_.prefetch(ids[i + kAhead]);
    }
    node = nodes_.find_or_add(node, ids[i]);
    if ((i + 1) % factor == 0) {
      path_.push_back({node, 1});
    }
  }
  while (path_.size() < static_cast<std::size_t>(whole)) {
    path_.push_back({nodes_.add_unnamed(), 1});
  }
}

void PromptBlocks::walk_across(const TraceRequest& request, std::int64_t whole) {
  const auto& ids = request.block_ids;
  std::uint32_t id_node = PrefixNodes::kNone;
  std::int64_t named = 0;  // Tokens that id_node and those before it stand for.
  std::size_t next_id = 0;
  for (std::int64_t block = 0; block < whole; ++block) {
    const std::int64_t last_token = (block + 1) * block_size_ - 1;
    while (named <= last_token && next_id < ids.size()) {
      id_node = ids_.find_or_add(id_node, ids[next_id++]);
      named += trace_block_;
    }
    if (named <= last_token) {
      path_.push_back({nodes_.add_unnamed(), 1});
      continue;
    }
    const auto offset = static_cast<std::uint64_t>(last_token % trace_block_);
    const std::uint64_t name = (std::uint64_t{id_node} << 32) | offset;
    path_.push_back({nodes_.find_or_add(PrefixNodes::kNone, name), 1});
  }
}

PromptBlocks::Extent& PromptBlocks::extent(std::uint32_t piece) {
  if (piece >= extents_.size()) {
    extents_.resize(std::max<std::size_t>(piece + std::size_t{1}, extents_.size() * 2));
  }
  return extents_[piece];
}

// Appends the pieces of the first `blocks` blocks of a trace block. Equal prefix ids stand for
// equally long blocks, so one piece it is, unless a trace breaks that rule.
void PromptBlocks::add_part(std::uint32_t node, std::uint32_t blocks) {
  std::uint32_t piece = node;
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
      const std::uint32_t rest = nodes_.add_unnamed();
      extent(piece).rest = rest;
    }
    piece = extent(piece).rest;
  }
}

void PromptBlocks::cut(std::uint32_t piece, std::uint32_t blocks) {
  const std::uint32_t rest = nodes_.add_unnamed();
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
