// The whole blocks of a prompt, named by what a trace knows of them.
//
// A trace names blocks of its own size, a pool has blocks of another. Where a trace block holds a
// number of pool blocks they share one name, since they are always used together: a *piece*. Only
// the end of a prompt can cut one; then its rest gets a name of its own. Where a pool block holds a
// number of trace blocks it is named by the last of them, and in any other case by the prefix that
// it ends in and where. So memory follows the distinct names, and a walk touches one a trace block.
//
// What a trace does not name (the tail of a prompt where tails have no ids) is shared by none.
// Driven from one thread.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "octavo/sim/trace.h"
#include "prefix_paths.h"

namespace octavo::sim {

/// `blocks` pool blocks that are told by `piece`.
struct PathPiece {
  std::uint32_t piece = 0;
  std::uint32_t blocks = 0;
};

class PromptBlocks {
 public:
  /// Tokens a trace block and a pool block, both at least 1.
  PromptBlocks(std::int64_t trace_block, std::int64_t block_size);

  /// The whole blocks of the request's prompt, in order. A piece is new when its number is not
  /// below the `size()` of before. Valid until the next call.
  std::span<const PathPiece> walk(const TraceRequest& request);

  /// Pieces that the last walk cut in two: the first number now stands for the front, the second
  /// one for the rest of what the first one stood for.
  std::span<const std::pair<std::uint32_t, std::uint32_t>> cuts() const noexcept { return cuts_; }

  /// Appends the pieces, as they are cut by now, of what walk returned as `part` at some time.
  void append_pieces(const PathPiece& part, std::vector<PathPiece>& out) const;

  std::uint32_t size() const noexcept { return pieces_.size(); }
  std::int64_t block_size() const noexcept { return block_size_; }

  /// Blocks that a prompt of so many tokens holds, its partial one included.
  std::int64_t blocks_of(std::int64_t tokens) const noexcept {
    return (tokens + block_size_ - 1) / block_size_;
  }

 private:
  // What a piece stands for, where pieces hold more than one block.
  struct Extent {
    std::uint32_t blocks = 0;                 // 0: the piece has not been walked.
    std::uint32_t rest = PrefixNodes::kNone;  // What follows in the same trace block, if known.
  };

  static std::span<const std::uint64_t> ids_of(const TraceRequest& request, std::int64_t most);
  void walk_split(const TraceRequest& request, std::int64_t whole);
  void walk_joined(const TraceRequest& request, std::int64_t whole);
  void walk_across(const TraceRequest& request, std::int64_t whole);
  void add_blocks(std::span<const std::uint32_t> named, std::int64_t whole);
  void add_part(std::uint32_t piece, std::uint32_t blocks);
  void cut(std::uint32_t piece, std::uint32_t blocks);
  Extent& extent(std::uint32_t piece);

  std::int64_t trace_block_;
  std::int64_t block_size_;
  PrefixPaths pieces_;                // Told by the trace's ids, in walk_across by names_.
  PrefixPaths ids_;                   // Prefixes of the trace's ids, only in walk_across.
  std::vector<std::uint64_t> names_;  // Of the blocks at hand: the prefix that each ends in, where.
  std::vector<Extent> extents_;  // By piece; only in walk_split with several blocks a trace block.
  std::vector<PathPiece> path_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> cuts_;
};

}  // namespace octavo::sim
