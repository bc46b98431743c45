// The records of the prefix tree.
//
// A *run* is a chain of sealed blocks that have always been bound and released together: one index
// entry, one holder count and one place in the parking list serve all of them, which is what makes
// a long shared prompt cost its token compare and little else. A run is cut where somebody begins
// to hold only a part of it, where prefixes branch and where partial keys stand under an inner
// block; so children, keys and holders always belong to a run's last block.
//
// A *root* is one generation of one namespace: a run of no blocks, never parked, never evicted.
// A *leaf* is a block that is not sealed but that partial keys name: the trailing block of a
// retired history. It hangs under the run that its keys continue.
#pragma once

#include <cstddef>
#include <cstdint>

#include "blocks/ids.h"

namespace octavo::blocks {

using ChunkId = std::uint32_t;    ///< 0 is nobody.
using KeyListId = std::uint32_t;  ///< 0 is nobody.

enum class NodeKind : std::uint8_t { Nobody, Root, Run, Leaf };

/// What a root alone has.
struct OfRoot {
  std::uint64_t namespace_id;
  std::int64_t users;        ///< Slots that were given this generation.
  std::uint32_t generation;  ///< Above that of every other generation of the namespace.
  NodeId earlier, later;     ///< Generations of the namespace that are still in memory.
};

/// What a leaf alone has.
struct OfLeaf {
  std::int32_t slot;  ///< The slot that has taken the leaf over, while held.
};

struct alignas(64) Node {
  static constexpr std::uint32_t kInline = 16;
  static constexpr std::size_t kZeroedBytes = 64;  ///< Not the union.

  // The first cache line serves every run of one block.
  NodeId parent;          ///< kNoNode for a root.
  std::uint32_t holders;  ///< Slots that end here plus children that are held.
  NodeId older;           ///< Neighbours in the parking list while parked.
  NodeId newer;
  std::uint32_t size;               ///< Blocks: 0 for a root, 1 for a leaf.
  std::uint32_t inline_count;       ///< Of the blocks after the head, those in `inline_blocks`.
  ChunkId first_chunk, last_chunk;  ///< The rest of them, in order.
  std::uint32_t children;           ///< Runs under the last block.
  KeyListId keys;                   ///< Partial keys under the last block.
  std::uint64_t head_hash;          ///< Chained hash of the first block: the index key.
  std::uint64_t end_hash;           ///< Chained hash of the last block, if known.
  BlockId head;                     ///< The first block.
  NodeKind kind;
  bool end_hash_known;
  bool stale;  ///< A root whose namespace was invalidated.
  bool parked;

  union {
    BlockId inline_blocks[kInline];  ///< A run's blocks after the head.
    OfRoot root;
    OfLeaf leaf;
  };
};
static_assert(sizeof(Node) == 128 && offsetof(Node, inline_blocks) == Node::kZeroedBytes);

/// A stretch of a run's blocks; at least one.
struct alignas(64) Chunk {
  static constexpr std::uint32_t kBlocks = 61;
  static constexpr std::size_t kZeroedBytes = 16;  ///< Blocks are read up to `count`.
  ChunkId next, prev;
  std::uint32_t count;
  BlockId blocks[kBlocks];
};
static_assert(sizeof(Chunk) == 256);

/// One partial key: the first `length` tokens of `block` continue the parent.
struct Key {
  BlockId block;
  std::int32_t length;
  NodeId leaf;  ///< kNoNode when the block is sealed (then it heads a child of the parent).
};

/// The keys under one parent, oldest first. At most kMax stand; one more has room while it is
/// named.
struct alignas(64) KeyList {
  static constexpr std::uint32_t kMax = 4;
  std::uint32_t count;
  Key keys[kMax + 1];
};
static_assert(sizeof(KeyList) == 64);

}  // namespace octavo::blocks
