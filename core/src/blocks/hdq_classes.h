// HDQ: which blocks are alike.
//
// Blocks that were let go together by one session and that look alike in what is known of it form a
// *class*; how soon blocks of a class come back is learned from all of them at once. The features:
// how many sessions deep the branch is, how often the block was touched, how much of the prompt was
// new, how much the session generated. Ages are counted in sessions and fall into *buckets* that
// double: [0, 1), [1, 2), [2, 4), ... [8192, infinity).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace octavo::blocks::hdq {

inline constexpr std::size_t kDepths = 3;   ///< Sessions that the branch took to grow: 1, 2, more.
inline constexpr std::size_t kTouches = 4;  ///< 1, 2, 3-4, more touches.
inline constexpr std::size_t kNovelties =
    4;  ///< New tokens of the prompt: below 1 K, 4 K, 16 K, more.
inline constexpr std::size_t kOutputs = 3;  ///< Generated tokens: below 32, below 128, more.
inline constexpr std::size_t kFamilies = kDepths * kTouches;  ///< Classes less novelty and output.
inline constexpr std::size_t kClasses = kFamilies * kNovelties * kOutputs;
inline constexpr std::size_t kBuckets = 15;

/// The deepest branch that is told apart; a block's own depth stops counting here.
inline constexpr std::uint8_t kDeepest = kDepths - 1;
/// Touches that are told apart; a block's own count stops here.
inline constexpr std::uint8_t kMostTouches = 5;

using ClassId = std::uint8_t;
static_assert(kClasses <= 256);

/// The age at which a block enters a bucket.
constexpr std::int64_t bucket_begin(std::size_t bucket) {
  return bucket == 0 ? 0 : std::int64_t{1} << (bucket - 1);
}
/// Sessions that a bucket spans. The last one is counted as if it ended where it has doubled.
constexpr std::int64_t bucket_width(std::size_t bucket) {
  return bucket_begin(bucket + 1) - bucket_begin(bucket);
}

/// The part of a class that all blocks of one session share.
struct SessionTraits {
  std::uint8_t novelty = 0;
  std::uint8_t output = 0;
};

constexpr SessionTraits traits_of(std::int64_t new_tokens, std::int64_t output_tokens) {
  SessionTraits traits;
  for (std::int64_t limit = 1024; traits.novelty < kNovelties - 1 && new_tokens >= limit;
       limit *= 4) {
    ++traits.novelty;
  }
  for (std::int64_t limit = 32; traits.output < kOutputs - 1 && output_tokens >= limit;
       limit *= 4) {
    ++traits.output;
  }
  return traits;
}

/// `depth` is that of the session's deepest block, `touches` the block's own.
constexpr ClassId class_of(std::uint8_t depth, std::uint8_t touches, SessionTraits traits) {
  const std::size_t touch_class = touches <= 2   ? std::max<std::size_t>(touches, 1) - 1
                                  : touches <= 4 ? 2
                                                 : 3;
  return static_cast<ClassId>(std::min<std::size_t>(depth, kDeepest) + kDepths * touch_class +
                              kFamilies * (traits.novelty + kNovelties * traits.output));
}

/// Classes of one family differ in novelty and output only.
constexpr std::size_t family_of(std::size_t class_id) {
  return class_id % kFamilies;
}

}  // namespace octavo::blocks::hdq
