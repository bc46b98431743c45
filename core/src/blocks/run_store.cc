#include "blocks/run_store.h"

namespace octavo::blocks {

void RunStore::push_chunk(Node& run) noexcept {
  const ChunkId id = chunks_.take();
  chunks_[id].prev = run.last_chunk;
  if (run.last_chunk != 0) {
    chunks_[run.last_chunk].next = id;
  } else {
    run.first_chunk = id;
  }
  run.last_chunk = id;
}

void RunStore::pop_chunk(Node& run) noexcept {
  const ChunkId id = run.last_chunk;
  run.last_chunk = chunks_[id].prev;
  if (run.last_chunk != 0) {
    chunks_[run.last_chunk].next = 0;
  } else {
    run.first_chunk = 0;
  }
  chunks_.give(id);
}

void RunStore::append_behind_head(Node& run, const BlockId* blocks, std::uint32_t count) noexcept {
  std::uint32_t done = 0;
  if (run.last_chunk == 0) {
    done = std::min(Node::kInline - run.inline_count, count);
    std::copy_n(blocks, done, run.inline_blocks + run.inline_count);
    run.inline_count += done;
  }
  while (done < count) {
    if (run.last_chunk == 0 || chunks_[run.last_chunk].count == Chunk::kBlocks) {
      push_chunk(run);
    }
    Chunk& chunk = chunks_[run.last_chunk];
    const std::uint32_t room = std::min(Chunk::kBlocks - chunk.count, count - done);
    std::copy_n(blocks + done, room, chunk.blocks + chunk.count);
    chunk.count += room;
    done += room;
  }
}

// Moves up to `count` blocks off the tail, but not the head.
std::uint32_t RunStore::take_behind_head(Node& run, std::uint32_t count, BlockId* out) noexcept {
  std::uint32_t done = 0;
  while (done < count && run.last_chunk != 0) {
    Chunk& chunk = chunks_[run.last_chunk];
    if (chunk.prev != 0) {
      prefetch_chunk(chunk.prev);
    }
    const std::uint32_t here = std::min(chunk.count, count - done);
    chunk.count -= here;
    std::reverse_copy(chunk.blocks + chunk.count, chunk.blocks + chunk.count + here, out + done);
    done += here;
    if (chunk.count == 0) {
      pop_chunk(run);
    }
  }
  const std::uint32_t here = std::min(run.inline_count, count - done);
  run.inline_count -= here;
  const BlockId* tail = run.inline_blocks + run.inline_count;
  std::reverse_copy(tail, tail + here, out + done);
  return done + here;
}

void RunStore::cut(Node& run, std::uint32_t count, Node& front) noexcept {
  front.head = run.head;
  const std::uint32_t kept = count - 1;  // Blocks of `front` after its head.
  if (kept < run.inline_count) {
    std::copy_n(run.inline_blocks, kept, front.inline_blocks);
    front.inline_count = kept;
    run.head = run.inline_blocks[kept];
    run.inline_count -= count;
    std::copy_n(run.inline_blocks + count, run.inline_count, run.inline_blocks);
  } else {
    std::copy_n(run.inline_blocks, run.inline_count, front.inline_blocks);
    front.inline_count = run.inline_count;
    const std::uint32_t skip = kept - run.inline_count;
    run.inline_count = 0;
    cut_in_chunks(run, skip, front);
  }
  front.size = count;
  run.size -= count;
}

// `front` takes the first `skip` blocks of the chunks, the block behind them becomes the run's
// head, and the run keeps the rest.
void RunStore::cut_in_chunks(Node& run, std::uint32_t skip, Node& front) noexcept {
  ChunkId id = run.first_chunk;
  while (skip >= chunks_[id].count) {
    skip -= chunks_[id].count;
    id = chunks_[id].next;
  }
  Chunk& chunk = chunks_[id];
  front.first_chunk = run.first_chunk;
  run.head = chunk.blocks[skip];
  const BlockId* rest = chunk.blocks + skip + 1;
  const std::uint32_t rest_count = chunk.count - skip - 1;
  std::copy_n(rest, std::min(rest_count, Node::kInline), run.inline_blocks);
  run.inline_count = std::min(rest_count, Node::kInline);

  // Detach the chunks behind this one, then put what did not fit into the node before them.
  const ChunkId behind = chunk.next;
  ChunkId remainder = 0;
  if (rest_count > Node::kInline) {
    remainder = chunks_.take();
    chunks_[remainder].count = rest_count - Node::kInline;
    std::copy_n(rest + Node::kInline, chunks_[remainder].count, chunks_[remainder].blocks);
    chunks_[remainder].next = behind;
  }
  if (behind != 0) {
    chunks_[behind].prev = remainder;
  }
  run.first_chunk = remainder != 0 ? remainder : behind;
  if (behind == 0) {
    run.last_chunk = remainder;
  }

  chunk.next = 0;
  chunk.count = skip;
  front.last_chunk = id;
  if (skip == 0) {
    pop_chunk(front);
  }
}

}  // namespace octavo::blocks
