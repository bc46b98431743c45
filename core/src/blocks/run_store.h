// Memory of the prefix tree's records, and the list of blocks inside a run.
//
// A run's blocks are its head, up to sixteen in the node itself, and the rest in chunks; cutting a
// run or taking blocks off its tail never touches more than the chunk where it happens.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/slab.h"
#include "blocks/run.h"

namespace octavo::blocks {

class RunStore {
 public:
  /// At most `num_blocks` runs and leaves and `num_roots` roots exist at a time.
  RunStore(std::int64_t num_blocks, std::int64_t num_roots)
      : nodes_(at(num_blocks + num_roots), "the prefix tree's nodes"),
        chunks_(at(num_blocks), "the prefix tree's chunks"),
        key_lists_(at(num_blocks), "the prefix tree's partial keys") {}

  Node& node(NodeId id) noexcept { return nodes_[id]; }
  const Node& node(NodeId id) const noexcept { return nodes_[id]; }
  NodeId take_node(NodeKind kind) noexcept {
    const NodeId id = nodes_.take();
    nodes_[id].kind = kind;
    return id;
  }
  void give_node(NodeId id) noexcept { nodes_.give(id); }
  std::size_t nodes_used() const noexcept { return nodes_.used(); }

  KeyList& keys(KeyListId id) noexcept { return key_lists_[id]; }
  const KeyList& keys(KeyListId id) const noexcept { return key_lists_[id]; }
  KeyListId take_keys() noexcept { return key_lists_.take(); }
  void give_keys(KeyListId id) noexcept { key_lists_.give(id); }

  const Chunk& chunk(ChunkId id) const noexcept { return chunks_[id]; }
  void prefetch_chunk(ChunkId id) const noexcept {
    const char* bytes = reinterpret_cast<const char*>(&chunks_[id]);
    for (std::size_t offset = 0; offset < sizeof(Chunk); offset += 64) {
      __builtin_prefetch(bytes + offset, 1);
    }
  }

  /// Adds blocks behind the run's last one. The first block of a fresh run becomes its head.
  void append(Node& run, const BlockId* blocks, std::uint32_t count) noexcept {
    std::uint32_t done = 0;
    if (run.size == 0) {
      run.head = blocks[done++];
    }
    run.size += count;
    if (done < count) {
      append_behind_head(run, blocks + done, count - done);
    }
  }

  /// Moves up to `count` blocks off the run's tail to `out`, last block first; returns how many.
  std::uint32_t take_tail(Node& run, std::uint32_t count, BlockId* out) noexcept {
    const std::uint32_t wanted = std::min(count, run.size);
    std::uint32_t done = 0;
    if (run.size > 1) {
      done = take_behind_head(run, wanted, out);
    }
    if (done < wanted) {
      out[done] = run.head;
    }
    run.size -= wanted;
    return wanted;
  }

  /// Takes the run's last block off it. REQUIRES: it has one.
  BlockId take_last(Node& run) noexcept {
    --run.size;
    if (run.last_chunk != 0) {
      Chunk& chunk = chunks_[run.last_chunk];
      const BlockId block = chunk.blocks[--chunk.count];
      if (chunk.count == 0) {
        pop_chunk(run);
      }
      return block;
    }
    return run.inline_count > 0 ? run.inline_blocks[--run.inline_count] : run.head;
  }

  /// Moves the first `count` blocks (0 < count < run.size) of `run` to the fresh run `front`.
  void cut(Node& run, std::uint32_t count, Node& front) noexcept;

  /// Calls visit(block) for the run's blocks in order until it returns false.
  template <class Visit>
  void visit_blocks(const Node& run, Visit&& visit) const {
    if (run.size == 0 || !visit(run.head)) {
      return;
    }
    for (std::uint32_t i = 0; i < run.inline_count; ++i) {
      if (!visit(run.inline_blocks[i])) {
        return;
      }
    }
    for (ChunkId id = run.first_chunk; id != 0; id = chunks_[id].next) {
      for (std::uint32_t i = 0; i < chunks_[id].count; ++i) {
        if (!visit(chunks_[id].blocks[i])) {
          return;
        }
      }
    }
  }

  /// Calls visit(block) for the run's blocks from the last to the first.
  template <class Visit>
  void visit_blocks_backward(const Node& run, Visit&& visit) const {
    for (ChunkId id = run.last_chunk; id != 0; id = chunks_[id].prev) {
      for (std::uint32_t i = chunks_[id].count; i-- > 0;) {
        visit(chunks_[id].blocks[i]);
      }
    }
    for (std::uint32_t i = run.inline_count; i-- > 0;) {
      visit(run.inline_blocks[i]);
    }
    visit(run.head);
  }

  /// REQUIRES: the run has a block.
  BlockId last_block(const Node& run) const noexcept {
    if (run.last_chunk != 0) {
      const Chunk& chunk = chunks_[run.last_chunk];
      return chunk.blocks[chunk.count - 1];
    }
    return run.inline_count > 0 ? run.inline_blocks[run.inline_count - 1] : run.head;
  }

  void clear() noexcept {
    nodes_.clear();
    chunks_.clear();
    key_lists_.clear();
  }

 private:
  void append_behind_head(Node& run, const BlockId* blocks, std::uint32_t count) noexcept;
  std::uint32_t take_behind_head(Node& run, std::uint32_t count, BlockId* out) noexcept;
  void push_chunk(Node& run) noexcept;
  void pop_chunk(Node& run) noexcept;
  void cut_in_chunks(Node& run, std::uint32_t skip, Node& front) noexcept;

  Slab<Node> nodes_;
  Slab<Chunk> chunks_;
  Slab<KeyList> key_lists_;
};

}  // namespace octavo::blocks
