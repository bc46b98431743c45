// Faults of the kind "equal ids, other content": placeholder ids of a picture say nothing about the
// picture, so keys and values behind them depend on more than the ids. `addressable_len` ends the
// sharing there. Sources: LMCache #3301, #4086, PR #4783 (picture hash cut to 16 bits), ROCm/ATOM
// PR #1358, sglang #2151, PR #22033, PR #14428; llm-d-kv-cache #411 (admit and retire disagree).
#include <gtest/gtest.h>

#include "tests/scenarios/session_fixture.h"

namespace octavo::testing {
namespace {

BlockManagerConfig media_config() {
  BlockManagerConfig config = small_config();
  config.block_size = 16;
  return config;
}

// Twenty tokens of text, thirty placeholders, ten tokens of text.
const Tokens kMediaPrompt = join(join(story(1, 20), Tokens(30, 151655)), story(2, 10));
const Tokens kMediaTurn = join(kMediaPrompt, story(3, 5));

// A session that has retired `kMediaPrompt` with picture 77 behind position 20.
void cache_with_picture(Sessions& s, const Lengths& boundaries) {
  s.show_picture(0, 20, 77);
  s.admit(0, kMediaPrompt, 20);
  s.prefill(0);
  s.retire(0, boundaries, 20);
}

TEST(Media, TheSameIdsWithAnotherPictureAreServedUpToThePicture) {
  Sessions s(media_config());
  cache_with_picture(s, {20, 50});
  s.show_picture(1, 20, 78);
  EXPECT_EQ(s.admit(1, kMediaPrompt, 20), 20);
  s.prefill(1);
  s.retire(1, {20, 50}, 20);
  EXPECT_EQ(s.probe(kMediaTurn, 20), 20);
}

TEST(Media, TheSamePictureIsNotServedEitherSinceIdsCannotSaySo) {
  Sessions s(media_config());
  cache_with_picture(s, {20, 50});
  s.show_picture(1, 20, 77);
  EXPECT_EQ(s.admit(1, kMediaPrompt, 20), 20);
}

// A text prompt that happens to hold the placeholder ids claims to be addressable as a whole.
TEST(Media, ATextPromptWithTheSameIdsIsNotServedThePicture) {
  Sessions s(media_config());
  cache_with_picture(s, {20, 50});
  EXPECT_EQ(s.admit(1, kMediaPrompt), 20);
  s.prefill(1);
  s.retire(1);
  // And what it computed is text: a later picture prompt must not reach into it.
  s.show_picture(2, 20, 78);
  EXPECT_EQ(s.admit(2, kMediaPrompt, 20), 20);
  s.prefill(2);
  EXPECT_EQ(s.probe(kMediaTurn), 60);
}

// The prompt's own blocks behind the picture are not published while it runs, either.
TEST(Media, ARunningSessionPublishesOnlyWholeBlocksOfItsAddressableHead) {
  Sessions s(media_config());
  s.show_picture(0, 20, 77);
  s.admit(0, kMediaPrompt, 20);
  s.prefill(0);
  EXPECT_EQ(s.probe(kMediaPrompt), 16);
  EXPECT_EQ(s.probe(kMediaPrompt, 20), 16);
  s.evict(0);
  EXPECT_EQ(s.parked_blocks(), 1);
}

TEST(Media, AnAddressableLengthOnABlockEdgeKeepsWholeBlocksOnly) {
  Sessions s(media_config());
  s.show_picture(0, 32, 77);
  s.admit(0, kMediaPrompt, 32);
  s.prefill(0);
  s.retire(0, {40, 50}, 32);
  EXPECT_EQ(s.parked_blocks(), 2);
  EXPECT_EQ(s.probe(kMediaTurn), 32);
  EXPECT_EQ(s.probe(kMediaTurn, 31), 16);
  EXPECT_EQ(s.probe(kMediaTurn, 32), 32);
}

TEST(Media, AnAddressableLengthOfZeroSharesNothing) {
  Sessions s(media_config());
  s.show_picture(0, 0, 77);
  EXPECT_EQ(s.admit(0, kMediaPrompt, 0), 0);
  s.prefill(0);
  s.retire(0, {5, 16, 20}, 0);
  EXPECT_EQ(s.parked_blocks(), 0);
  EXPECT_EQ(s.free_blocks(), 16);
  s.cache(kMediaPrompt);
  EXPECT_EQ(s.probe(kMediaTurn, 0), 0);
  EXPECT_EQ(s.probe(kMediaTurn), 60);
}

// The picture of the retired session stands behind the text of a text-only one: text is served, and
// the longest of it.
TEST(Media, ALongerTextServesThePictureSessionUpToItsAddressableLength) {
  Sessions s(media_config());
  s.cache(slice(kMediaPrompt, 0, 20));
  EXPECT_EQ(s.probe(kMediaTurn, 18), 16);
  EXPECT_EQ(s.probe(kMediaTurn, 19), 16);
  EXPECT_EQ(s.probe(kMediaTurn, 20), 20);
  EXPECT_EQ(s.probe(kMediaTurn, 21), 20);
}

// A retire that says more is addressable than admit did would publish rows that a picture shaped.
TEST(Media, ARetirementThatForgetsTheAddressableLengthIsRefusedAndCachesNothing) {
  Sessions s(media_config());
  s.show_picture(0, 20, 77);
  s.admit(0, kMediaPrompt, 20);
  s.prefill(0);
  BlockManager& manager = s.manager();
  EXPECT_ERROR(manager, InvalidArgument, manager.retire(0, kMediaPrompt), "retire",
               "addressable_len");
  EXPECT_ERROR(manager, InvalidArgument, manager.retire(0, kMediaPrompt, 21), "retire", "21", "20");
  EXPECT_ERROR(manager, InvalidArgument, manager.retire(0, kMediaPrompt, 60), "retire", "60", "20");
  EXPECT_ERROR(manager, InvalidArgument, manager.retire(0, kMediaPrompt, 19), "retire", "19", "20");
  EXPECT_ERROR(manager, InvalidArgument, manager.retire(0, kMediaPrompt, 0), "retire", "20");
  EXPECT_EQ(s.probe(kMediaTurn), 16);  // What the running session published before.
  s.retire(0, {}, 20);
  EXPECT_EQ(s.probe(kMediaTurn), 20);
}

// The other way round: admitted as addressable, retired as not.
TEST(Media, ARetirementThatInventsAnAddressableLengthIsRefused) {
  Sessions s(media_config());
  s.admit(0, kMediaPrompt);
  s.prefill(0);
  BlockManager& manager = s.manager();
  EXPECT_ERROR(manager, InvalidArgument, manager.retire(0, kMediaPrompt, 59), "retire", "59", "60");
  // Beyond the prompt the two are free to differ: the answer may hold a picture.
  s.retire(0, {}, 60);
  EXPECT_EQ(s.probe(kMediaTurn), 60);
}

TEST(Media, AnAnswerMayEndTheAddressablePartBehindThePrompt) {
  Sessions s(media_config());
  s.admit(0, story(1, 20));
  s.prefill(0);
  s.show_picture(0, 26, 77);
  s.write(0, join(story(4, 6), Tokens(30, 151655)));
  s.commit(0);
  s.retire(0, {}, 26);
  EXPECT_EQ(s.probe(join(join(story(1, 20), story(4, 6)), Tokens(40, 151655))), 26);
}

// Media named by ids of their own content are ordinary tokens.
TEST(Media, PicturesNamedByContentIdsAreSharedThroughBoundariesInside) {
  Sessions s(media_config());
  const Tokens with_picture = join(join(story(1, 20), story(77, 30)), story(2, 10));
  s.cache(with_picture, {20, 50});
  EXPECT_EQ(s.probe(join(slice(with_picture, 0, 50), story(5, 20))), 50);
  EXPECT_EQ(s.probe(join(slice(with_picture, 0, 20), story(78, 30))), 20);
  EXPECT_EQ(s.probe(join(with_picture, story(5, 1))), 60);
}

}  // namespace
}  // namespace octavo::testing
