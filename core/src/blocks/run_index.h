// A hash index from chained hashes to nodes of the prefix tree.
//
// Buckets of one cache line hold twelve entries: a tag byte and a node id each. An entry whose home
// bucket is full goes to the next bucket with room, and the home counts it, so a lookup that misses
// reads one line unless its home is marked. The index never decides equality: the caller's `verify`
// does. With a hash that puts everything into one bucket it degrades to a linear walk, nothing
// else.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "base/virtual_memory.h"
#include "blocks/ids.h"

namespace octavo::blocks {

class RunIndex {
 public:
  /// Room for `capacity` nodes at no more than half load.
  explicit RunIndex(std::int64_t capacity) {
    std::uint64_t buckets = 1;
    while (buckets * (kEntries / 2) < static_cast<std::uint64_t>(capacity)) {
      buckets *= 2;
    }
    mask_ = buckets - 1;
    const bool dense = buckets * sizeof(Bucket) <= (std::uint64_t{1} << 30);
    buckets_ = VirtualArray<Bucket>(
        buckets, dense ? VirtualMemory::Pages::Huge : VirtualMemory::Pages::Small,
        "the prefix index");
  }

  /// The node with this hash for which `verify(node)` holds, or kNoNode.
  template <class Verify>
  [[gnu::always_inline]] NodeId find(std::uint64_t hash, Verify verify) const noexcept {
    const Bucket& home = buckets_[home_of(hash)];
    if (const NodeId node = find_in(home, tag_of(hash), verify); node != kNoNode) {
      return node;
    }
    return home.displaced == 0 ? kNoNode : find_displaced(hash, verify);
  }

  /// A node that may have this hash, unverified: what to prefetch.
  NodeId candidate(std::uint64_t hash) const noexcept {
    const Bucket& bucket = buckets_[home_of(hash)];
    const std::uint32_t matches = match(bucket, tag_of(hash));
    return matches == 0 ? kNoNode : bucket.nodes[std::countr_zero(matches)];
  }

  void prefetch(std::uint64_t hash) const noexcept {
    __builtin_prefetch(&buckets_[home_of(hash)], 1);
  }

  void insert(std::uint64_t hash, NodeId node) noexcept {
    const std::uint64_t home = home_of(hash);
    std::uint64_t step = 0;
    while (match(buckets_[(home + step) & mask_], kEmpty) == 0) {
      ++step;
    }
    Bucket& bucket = buckets_[(home + step) & mask_];
    const int entry = std::countr_zero(match(bucket, kEmpty));
    bucket.tags[entry] = tag_of(hash);
    bucket.nodes[entry] = node;
    if (step > 0) {
      ++buckets_[home].displaced;
      if (step > probes_max_) {
        probes_max_ = step;
      }
    }
  }

  /// Puts `to` in the place of `from`, which was inserted under the same hash.
  void replace(std::uint64_t hash, NodeId from, NodeId to) noexcept {
    *locate(hash, from).node = to;
  }

  /// REQUIRES: the node was inserted under this hash.
  void erase(std::uint64_t hash, NodeId node) noexcept {
    const Place place = locate(hash, node);
    *place.tag = kEmpty;
    *place.node = kNoNode;
    if (place.displaced) {
      --buckets_[home_of(hash)].displaced;
    }
  }

  void clear() noexcept {
    buckets_.clear(mask_ + 1);
    probes_max_ = 0;
  }

 private:
  static constexpr std::uint32_t kEntries = 12;
  static constexpr std::uint8_t kEmpty = 0;

  struct alignas(64) Bucket {
    std::uint8_t tags[kEntries];  ///< kEmpty or tag_of(hash).
    std::uint32_t displaced;      ///< Entries at home here that stand elsewhere.
    NodeId nodes[kEntries];
  };
  static_assert(sizeof(Bucket) == 64);

  struct Place {
    std::uint8_t* tag;
    NodeId* node;
    bool displaced;
  };

  std::uint64_t home_of(std::uint64_t hash) const noexcept { return (hash >> 8) & mask_; }
  static std::uint8_t tag_of(std::uint64_t hash) noexcept {
    const std::uint8_t tag = static_cast<std::uint8_t>(hash);
    return tag == kEmpty ? std::uint8_t{1} : tag;
  }

  /// A bit for each entry whose tag is `tag`.
  static std::uint32_t match(const Bucket& bucket, std::uint8_t tag) noexcept {
#if defined(__SSE2__)
    const __m128i line = _mm_load_si128(reinterpret_cast<const __m128i*>(&bucket));
    const __m128i equal = _mm_cmpeq_epi8(line, _mm_set1_epi8(static_cast<char>(tag)));
    return static_cast<std::uint32_t>(_mm_movemask_epi8(equal)) & ((1U << kEntries) - 1);
#else
    std::uint32_t bits = 0;
    for (std::uint32_t i = 0; i < kEntries; ++i) {
      bits |= (bucket.tags[i] == tag ? 1U : 0U) << i;
    }
    return bits;
#endif
  }

  template <class Verify>
  [[gnu::always_inline]] static NodeId find_in(const Bucket& bucket,
                                               std::uint8_t tag,
                                               const Verify& verify) noexcept {
    for (std::uint32_t matches = match(bucket, tag); matches != 0; matches &= matches - 1) {
      const NodeId node = bucket.nodes[std::countr_zero(matches)];
      if (verify(node)) {
        return node;
      }
    }
    return kNoNode;
  }

  template <class Verify>
  [[gnu::noinline]] NodeId find_displaced(std::uint64_t hash, Verify verify) const noexcept {
    for (std::uint64_t step = 1; step <= probes_max_; ++step) {
      const NodeId node = find_in(buckets_[(home_of(hash) + step) & mask_], tag_of(hash), verify);
      if (node != kNoNode) {
        return node;
      }
    }
    return kNoNode;
  }

  Place locate(std::uint64_t hash, NodeId node) noexcept {
    const std::uint64_t home = home_of(hash);
    const std::uint8_t tag = tag_of(hash);
    for (std::uint64_t step = 0;; ++step) {
      Bucket& bucket = buckets_[(home + step) & mask_];
      for (std::uint32_t matches = match(bucket, tag); matches != 0; matches &= matches - 1) {
        const int entry = std::countr_zero(matches);
        if (bucket.nodes[entry] == node) {
          return {&bucket.tags[entry], &bucket.nodes[entry], step > 0};
        }
      }
    }
  }

  VirtualArray<Bucket> buckets_;
  std::uint64_t mask_ = 0;
  std::uint64_t probes_max_ = 0;  ///< The farthest any entry was ever put from its home.
};

}  // namespace octavo::blocks
