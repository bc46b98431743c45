// admit and retire over whole blocks: what is served, what is refused, what is kept.
#include <algorithm>
#include <cstdint>
#include <string>

#include <gtest/gtest.h>

#include "tests/scenarios/session_fixture.h"

namespace octavo::testing {
namespace {

const Tokens kDocument = story(1, 16);

// --- What is served ---

TEST(Admit, ServesStrictlyLessThanThePrompt) {
  Sessions s(small_config());
  s.cache(kDocument);
  for (std::int64_t length = 1; length <= 16; ++length) {
    EXPECT_EQ(s.probe(slice(kDocument, 0, length)), (length - 1) / 4 * 4) << "length " << length;
  }
  EXPECT_EQ(s.probe(join(kDocument, story(2, 1))), 16);
  EXPECT_EQ(s.probe(join(kDocument, story(2, 30))), 16);
}

TEST(Admit, ServesUpToTheFirstTokenThatDiffers) {
  Sessions s(small_config());
  s.cache(kDocument);
  const Tokens prompt = join(kDocument, story(2, 2));
  for (std::int64_t at = 0; at < 16; ++at) {
    EXPECT_EQ(s.probe(changed_at(prompt, at)), at / 4 * 4) << "token " << at;
  }
}

TEST(Admit, ServesNoMoreThanTheAddressableLength) {
  Sessions s(small_config());
  s.cache(kDocument);
  const Tokens prompt = join(kDocument, story(2, 2));
  for (std::int64_t addressable = 0; addressable <= 20; ++addressable) {
    EXPECT_EQ(s.probe(prompt, addressable), std::min<std::int64_t>(addressable / 4 * 4, 16))
        << addressable;
  }
  EXPECT_EQ(s.probe(prompt, kAddressableAll), 16);
  EXPECT_EQ(s.probe(prompt, INT64_MAX), 16);
}

TEST(Admit, CanBeAskedBeforehandWithoutATrace) {
  Sessions s(small_config());
  s.cache(kDocument);
  s.cache(story(2, 8));
  const Tokens prompt = join(kDocument, story(3, 3));
  const std::uint64_t digest = s.manager().digest();
  EXPECT_EQ(s.manager().cached_prefix(prompt), (CachedPrefix{16, 4}));
  EXPECT_EQ(s.manager().cached_prefix(kDocument), (CachedPrefix{12, 3}));
  EXPECT_EQ(s.manager().cached_prefix(prompt, 10), (CachedPrefix{8, 2}));
  EXPECT_EQ(s.manager().cached_prefix(prompt, kAddressableAll, 7), CachedPrefix{});
  EXPECT_EQ(s.manager().cached_prefix({}), CachedPrefix{});
  EXPECT_THROW(s.manager().cached_prefix(prompt, -2), Error);
  EXPECT_EQ(s.manager().digest(), digest);
  s.admit(0, slice(kDocument, 0, 9));
  EXPECT_EQ(s.manager().cached_prefix(prompt), (CachedPrefix{16, 2})) << "two blocks are held now";
}

TEST(Admit, SetsBothLengthsAndBindsExactlyTheServedBlocks) {
  Sessions s(small_config());
  s.cache(kDocument);
  EXPECT_EQ(s.admit(0, slice(kDocument, 0, 14)), 12);
  EXPECT_EQ(s.manager().reserved_len(0), 12);
  EXPECT_EQ(s.manager().committed_len(0), 12);
  EXPECT_EQ(s.row(0).size(), 3U);
  EXPECT_EQ(s.parked_blocks(), 1);
  EXPECT_EQ(s.free_blocks(), 13);
  EXPECT_FALSE(s.manager().is_fresh(0));
}

TEST(Admit, SharesTheSameBlocksAmongAllWhoHitThem) {
  Sessions s(small_config());
  s.cache(kDocument);
  for (const int slot : {0, 1, 2}) {
    EXPECT_EQ(s.admit(slot, join(kDocument, story(5 + slot, 2))), 16);
    s.prefill(slot);
  }
  const Ids shared = slice(s.row(0), 0, 4);
  for (const int slot : {1, 2}) {
    EXPECT_EQ(slice(s.row(slot), 0, 4), shared);
  }
  EXPECT_EQ(s.free_blocks(), 16 - 4 - 3);
  s.evict(1);
  s.evict(0);
  EXPECT_EQ(s.parked_blocks(), 0);
  s.evict(2);
  EXPECT_EQ(s.parked_blocks(), 4);
}

TEST(Admit, OfNothingCachedTakesNoBlock) {
  Sessions s(small_config());
  EXPECT_EQ(s.admit(0, kDocument), 0);
  EXPECT_EQ(s.free_blocks(), 16);
  EXPECT_TRUE(s.row(0).empty());
  EXPECT_FALSE(s.manager().is_fresh(0));
}

TEST(Admit, EnrolsOnlyWholeBlocksOfThePrompt) {
  Sessions s(small_config());
  s.admit(0, slice(kDocument, 0, 11));
  s.prefill(0);
  s.decode(0, slice(kDocument, 11, 16));
  s.commit(0);
  EXPECT_EQ(s.probe(join(kDocument, story(2, 1))), 8);
  s.evict(0);
  EXPECT_EQ(s.parked_blocks(), 2);
  EXPECT_EQ(s.free_blocks(), 16);
}

TEST(Admit, EnrolsTheLastBlockOfAPromptThatEndsOnAnEdge) {
  Sessions s(small_config());
  s.admit(0, slice(kDocument, 0, 8));
  s.prefill(0);
  EXPECT_EQ(s.probe(kDocument), 8);
}

TEST(Admit, NegativeAndExtremeIdsAreTokensLikeOthers) {
  Sessions s(small_config());
  const Tokens odd = {-1, INT32_MIN, INT32_MAX, 0, -1, -1, -1, -1};
  s.cache(odd);
  EXPECT_EQ(s.probe(join(odd, {-1})), 8);
  EXPECT_EQ(s.probe({-1, INT32_MIN, INT32_MAX, -1, -1}), 0);
}

// --- What is refused ---

TEST(Admit, RefusesBadArgumentsByName) {
  BlockManagerConfig config = small_config();
  config.max_tokens_per_seq = 20;
  BlockManager m(config);
  EXPECT_ERROR(m, InvalidArgument, m.admit(0, {}), "admit", "prompt", "0");
  EXPECT_ERROR(m, InvalidArgument, m.admit(0, story(1, 21)), "admit", "prompt", "21", "20");
  EXPECT_ERROR(m, InvalidArgument, m.admit(0, kDocument, -2), "admit", "addressable_len", "-2");
  EXPECT_ERROR(m, InvalidArgument, m.admit(0, kDocument, INT64_MIN), "admit", "addressable_len",
               "-9223372036854775808");
  EXPECT_TRUE(m.is_fresh(0));
}

TEST(Admit, RefusesASlotThatIsNotFresh) {
  BlockManager m(small_config());
  m.admit(0, kDocument);
  reserve(m, {1}, {3});
  prepare(m, {0, 1}, {0}, {2});
  for (const int slot : {0, 1, 2}) {
    EXPECT_ERROR(m, FailedPrecondition, m.admit(slot, kDocument), "admit", "slot",
                 std::to_string(slot));
  }
  m.evict(0);
  m.retire(1, story(9, 3));
  m.abandon(2);
  for (const int slot : {0, 1, 2}) {
    EXPECT_EQ(m.admit(slot, kDocument), 0);
  }
}

TEST(Admit, RefusesAFullyRewoundSlotToo) {
  BlockManager m(small_config());
  m.admit(0, kDocument);
  reserve(m, {0}, {3});
  m.update_position(0, 0);
  EXPECT_ERROR(m, FailedPrecondition, m.admit(0, kDocument), "admit", "0");
}

// --- retire over whole blocks ---

TEST(Retire, KeepsTheWholeHistoryAndFreesTheSlot) {
  Sessions s(small_config());
  s.admit(0, slice(kDocument, 0, 5));
  s.prefill(0);
  s.decode(0, slice(kDocument, 5, 16));
  s.retire(0);
  EXPECT_TRUE(s.manager().is_fresh(0));
  EXPECT_TRUE(s.row(0).empty());
  EXPECT_EQ(s.free_blocks(), 16);
  EXPECT_EQ(s.parked_blocks(), 4);
  EXPECT_EQ(s.probe(join(kDocument, story(2, 1))), 16);
}

TEST(Retire, OfASessionThatWasNeverAdmittedKeepsItToo) {
  Sessions s(small_config());
  s.write(0, kDocument);
  s.retire(0);
  EXPECT_EQ(s.probe(join(kDocument, story(2, 1))), 16);
}

TEST(Retire, AcceptsEveryLengthFromCommittedToReserved) {
  for (std::int64_t length = 6; length <= 11; ++length) {
    Sessions s(small_config());
    s.write(0, story(1, 6));
    s.write(0, story(1, 5, 6));
    s.retire_accepted(0, length);
    EXPECT_EQ(s.free_blocks(), 16) << length;
    EXPECT_EQ(s.parked_blocks(), (length + 3) / 4) << length;
    EXPECT_EQ(s.probe(story(1, 12)), length) << length;
  }
}

TEST(Retire, RefusesAHistoryOfTheWrongLength) {
  BlockManager m(small_config());
  reserve(m, {0}, {6});
  reserve(m, {0}, {5});
  EXPECT_ERROR(m, InvalidArgument, m.retire(0, story(1, 5)), "retire", "history", "5", "6", "11");
  EXPECT_ERROR(m, InvalidArgument, m.retire(0, story(1, 12)), "retire", "history", "12", "6", "11");
  EXPECT_ERROR(m, InvalidArgument, m.retire(0, {}), "retire", "0", "6", "11");
}

TEST(Retire, RefusesAHistoryThatIsNotTheAdmittedPrompt) {
  BlockManager m(small_config());
  m.admit(0, slice(kDocument, 0, 9));
  reserve(m, {0}, {12});
  m.update_position(0, 12);
  const Tokens right = join(slice(kDocument, 0, 9), story(2, 3));
  for (std::int64_t at = 0; at < 9; ++at) {
    EXPECT_ERROR(m, InvalidArgument, m.retire(0, changed_at(right, at)), "retire", "history",
                 std::to_string(at));
  }
  m.retire(0, changed_at(right, 9));
  EXPECT_EQ(m.parked_blocks(), 3);
}

TEST(Retire, InTheMiddleOfThePromptComparesAsFarAsBothGo) {
  Sessions s(small_config());
  s.admit(0, slice(kDocument, 0, 13));
  s.prefill(0, 6);
  BlockManager& m = s.manager();
  EXPECT_ERROR(m, InvalidArgument, m.retire(0, changed_at(story(1, 6), 5)), "retire", "history");
  s.retire(0);
  EXPECT_EQ(s.parked_blocks(), 2);
  EXPECT_EQ(s.probe(kDocument), 6);
}

TEST(Retire, OfAnAdmittedSessionThatNeverRanKeepsWhatItWasServed) {
  Sessions s(small_config());
  s.admit(0, kDocument);
  s.retire(0);
  EXPECT_EQ(s.parked_blocks(), 0);
  s.cache(kDocument);
  EXPECT_EQ(s.admit(0, kDocument), 12);
  s.retire(0);
  EXPECT_EQ(s.parked_blocks(), 4);
}

TEST(Retire, OfAFreshSlotIsRefused) {
  BlockManager m(small_config());
  m.set_namespace(1, 4);
  EXPECT_ERROR(m, FailedPrecondition, m.retire(0, {}), "retire", "0");
  EXPECT_ERROR(m, FailedPrecondition, m.retire(1, story(1, 1)), "retire", "1");
}

TEST(Retire, RefusesNegativeNumbers) {
  BlockManager m(small_config());
  m.admit(0, story(1, 9));
  reserve(m, {0}, {9});
  const Lengths bad = {3, -1, 5};
  EXPECT_ERROR(m, InvalidArgument, m.retire(0, story(1, 9), kAddressableAll, bad), "retire",
               "boundaries", "-1");
  EXPECT_ERROR(m, InvalidArgument, m.retire(0, story(1, 9), -2), "retire", "addressable_len", "-2");
  const Lengths worst = {INT64_MIN};
  EXPECT_ERROR(m, InvalidArgument, m.retire(0, story(1, 9), kAddressableAll, worst), "retire",
               "boundaries");
}

// --- evict ---

TEST(Evict, OfAFreshSlotChangesNothing) {
  BlockManager m(small_config());
  const std::uint64_t digest = m.digest();
  m.evict(0);
  EXPECT_EQ(m.digest(), digest);
}

TEST(Evict, CachesNothingNew) {
  Sessions s(small_config());
  s.write(0, kDocument);
  s.commit(0);
  s.evict(0);
  EXPECT_EQ(s.parked_blocks(), 0);
  EXPECT_EQ(s.free_blocks(), 16);
  EXPECT_EQ(s.probe(kDocument), 0);
}

// --- Caching switched off ---

TEST(PrefixCachingOff, ServesNothingKeepsNothingAndStillChecks) {
  BlockManagerConfig config = small_config();
  config.prefix_caching = false;
  Sessions s(config);
  BlockManager& m = s.manager();
  EXPECT_EQ(s.cache(kDocument, {5}), 0);
  EXPECT_EQ(s.cache(kDocument), 0);
  EXPECT_EQ(s.parked_blocks(), 0);
  EXPECT_EQ(s.free_blocks(), 16);
  s.admit(0, kDocument);
  s.prefill(0);
  EXPECT_EQ(s.probe(kDocument), 0);
  const Lengths bad = {-1};
  EXPECT_ERROR(m, InvalidArgument, m.retire(0, slice(kDocument, 0, 15)), "retire", "15", "16");
  EXPECT_ERROR(m, InvalidArgument, m.retire(0, changed_at(kDocument, 3)), "retire", "history");
  EXPECT_ERROR(m, InvalidArgument, m.retire(0, kDocument, 7), "retire", "addressable_len");
  EXPECT_ERROR(m, InvalidArgument, m.retire(0, kDocument, kAddressableAll, bad), "boundaries");
  EXPECT_ERROR(m, FailedPrecondition, m.retire(1, {}), "retire", "1");
  EXPECT_EQ(m.stats().sealed_blocks, 0);
}

TEST(PartialKeysOff, OnlyWholeBlocksAreKeptAndServed) {
  BlockManagerConfig config = small_config();
  config.partial_keys = false;
  Sessions s(config);
  s.cache(story(1, 11), {2, 6});
  EXPECT_EQ(s.parked_blocks(), 2);
  EXPECT_EQ(s.free_blocks(), 16);
  EXPECT_EQ(s.probe(story(1, 12)), 8);
  EXPECT_EQ(s.probe(join(story(1, 6), story(2, 6))), 4);
  EXPECT_EQ(s.probe(join(story(1, 2), story(2, 6))), 0);
  EXPECT_EQ(s.manager().stats().partial_hits, 0);
}

}  // namespace
}  // namespace octavo::testing
