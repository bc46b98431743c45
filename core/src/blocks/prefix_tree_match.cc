// How a prompt finds its cached prefix.
//
// Per run, one index lookup (a hash of one block) and then plain token compares, with the tokens of
// the blocks ahead prefetched. Where runs are short, because every block is a branch point, the
// chained hashes of the next blocks are computed first and their index lines, nodes and tokens
// prefetched in a pipeline, so that the misses of memory overlap.

#include "blocks/prefix_tree.h"

namespace octavo::blocks {
namespace {

constexpr std::uint32_t kTokensAhead = 20;  // Rows of tokens prefetched before they are compared.
constexpr std::uint32_t kBranchBatch = 64;  // Blocks hashed ahead where prefixes branch often.
constexpr std::uint32_t kNodesAhead = 16;
constexpr std::uint32_t kHeadsAhead = 8;
constexpr std::uint32_t kShortRun = 2;  // Blocks; this many short runs in a row start a batch.

}  // namespace

// How many blocks of the run, whose first is known to agree, the tokens agree with; `keep` is told
// of each, with its place.
template <typename Keep>
inline std::uint32_t PrefixTree::walk(const Node& run,
                                      const std::int32_t* tokens,
                                      std::uint32_t max_blocks,
                                      Keep keep) const noexcept {
  keep(0, run.head);
  const std::uint32_t limit = std::min(run.size, max_blocks);
  return limit == 1 ? 1 : walk_behind_head(run, tokens, limit, keep);
}

template <typename Keep>
[[gnu::noinline]] std::uint32_t PrefixTree::walk_behind_head(const Node& run,
                                                             const std::int32_t* tokens,
                                                             std::uint32_t limit,
                                                             Keep keep) const noexcept {
  std::uint32_t done = 1;
  // True when all of `count` blocks agree.
  const auto compare = [&](const BlockId* blocks, std::uint32_t count) {
    count = std::min(count, limit - done);
    if (block_size_ == 1) {  // Many rows a line: nothing to prefetch.
      for (std::uint32_t i = 0; i < count; ++i) {
        if (*tokens_.row(blocks[i]) != tokens[done]) {
          return false;
        }
        keep(done++, blocks[i]);
      }
      return true;
    }
    for (std::uint32_t i = 0; i < std::min(count, kTokensAhead); ++i) {
      tokens_.prefetch(blocks[i]);
    }
    for (std::uint32_t i = 0; i < count; ++i) {
      if (i + kTokensAhead < count) {
        tokens_.prefetch(blocks[i + kTokensAhead]);
      }
      if (!tokens_.block_equals(blocks[i], tokens + done * block_size_)) {
        return false;
      }
      keep(done++, blocks[i]);
    }
    return true;
  };
  if (run.first_chunk != 0) {
    store_.prefetch_chunk(run.first_chunk);
  }
  if (!compare(run.inline_blocks, run.inline_count)) {
    return done;
  }
  for (ChunkId id = run.first_chunk; done < limit; id = store_.chunk(id).next) {
    const Chunk& chunk = store_.chunk(id);
    if (chunk.next != 0) {
      store_.prefetch_chunk(chunk.next);
    }
    if (!compare(chunk.blocks, chunk.count)) {
      return done;
    }
  }
  return done;
}

PrefixTree::Match PrefixTree::match(NodeId from,
                                    const std::int32_t* tokens,
                                    std::uint32_t max_blocks,
                                    BlockId* cells) noexcept {
  missed_ = {};
  NodeId node = from;
  std::uint32_t done = 0;
  std::uint32_t short_runs = 0;
  while (done < max_blocks && store_.node(node).children > 0) {
    if (short_runs >= kShortRun && max_blocks - done > 4) {
      Match found{node, done};
      if (!match_branches(found, tokens, max_blocks, cells)) {
        return found;
      }
      node = found.node;
      done = found.blocks;
      short_runs = 0;
      continue;
    }
    const std::int32_t* rest = tokens + done * block_size_;
    const std::uint64_t hash = chain(end_hash(node), rest);
    const NodeId child = find_child(node, hash, rest);
    if (child == kNoNode) {
      missed_ = {node, true, hash};
      return {node, done};
    }
    const Node& run = store_.node(child);
    BlockId* out = cells + done;
    const std::uint32_t agreed =
        walk(run, rest, max_blocks - done,
             [out](std::uint32_t index, BlockId block) { out[index] = block; });
    done += agreed;
    if (agreed < run.size) {
      node = cut(child, agreed);
      break;
    }
    node = child;
    short_runs = agreed <= kShortRun ? short_runs + 1 : 0;
  }
  if (done < max_blocks) {
    missed_ = {node, false, 0};
  }
  return {node, done};
}

// Continues a match through a stretch of short runs. False: the match ended here.
bool PrefixTree::match_branches(Match& found,
                                const std::int32_t* tokens,
                                std::uint32_t max_blocks,
                                BlockId* cells) noexcept {
  const std::int32_t* rest = tokens + found.blocks * block_size_;
  cells += found.blocks;
  const std::uint32_t count = std::min(max_blocks - found.blocks, kBranchBatch);
  std::uint64_t hashes[kBranchBatch];
  std::uint64_t hash = end_hash(found.node);
  for (std::uint32_t i = 0; i < count; ++i) {
    hash = chain(hash, rest + i * block_size_);
    hashes[i] = hash;
    index_.prefetch(hash);
  }

  NodeId candidates[kBranchBatch];
  std::uint32_t nodes_ahead = 0;
  std::uint32_t heads_ahead = 0;
  std::uint32_t done = 0;
  while (done < count) {
    for (; nodes_ahead < std::min(count, done + kNodesAhead); ++nodes_ahead) {
      candidates[nodes_ahead] = index_.candidate(hashes[nodes_ahead]);
      __builtin_prefetch(&store_.node(candidates[nodes_ahead]), 1);
    }
    for (; heads_ahead < std::min(count, done + kHeadsAhead); ++heads_ahead) {
      const NodeId candidate = candidates[heads_ahead];
      if (candidate != kNoNode && store_.node(candidate).kind == NodeKind::Run) {
        tokens_.prefetch(store_.node(candidate).head);
      }
    }
    const std::int32_t* here = rest + done * block_size_;
    const NodeId child = store_.node(found.node).children == 0
                             ? kNoNode
                             : find_child(found.node, hashes[done], here);
    if (child == kNoNode) {
      missed_ = {found.node, true, hashes[done]};
      return false;
    }
    const Node& run = store_.node(child);
    BlockId* out = cells + done;
    const std::uint32_t agreed =
        walk(run, here, max_blocks - found.blocks,
             [out](std::uint32_t index, BlockId block) { out[index] = block; });
    done += agreed;
    found.blocks += agreed;
    if (agreed < run.size) {
      found.node = cut(child, agreed);
      if (found.blocks < max_blocks) {
        missed_ = {found.node, false, 0};
      }
      return false;
    }
    found.node = child;
    if (agreed > 8) {
      return true;  // Runs are long again.
    }
  }
  return true;
}

// As match, run by run, but with no run cut and no hash kept.
PrefixTree::Peek PrefixTree::peek(NodeId from,
                                  const std::int32_t* tokens,
                                  std::uint32_t max_blocks) const noexcept {
  Peek found{from, 0, 0};
  while (found.blocks < max_blocks && store_.node(found.node).children > 0) {
    const Node& parent = store_.node(found.node);
    const std::uint64_t hash =
        parent.end_hash_known ? parent.end_hash : hash_at(parent, parent.size);
    const std::int32_t* rest = tokens + found.blocks * block_size_;
    const NodeId child = find_child(found.node, chain(hash, rest), rest);
    if (child == kNoNode) {
      return found;
    }
    const Node& run = store_.node(child);
    const std::uint32_t agreed =
        walk(run, rest, max_blocks - found.blocks, [](std::uint32_t, BlockId) {});
    found.blocks += agreed;
    found.parked += run.parked ? agreed : 0;
    found.node = agreed == run.size ? child : kNoNode;
    if (agreed < run.size) {
      return found;
    }
  }
  return found;
}

}  // namespace octavo::blocks
