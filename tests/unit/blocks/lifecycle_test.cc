// Reset, digest and moves: when two managers are alike.
#include <cstdint>
#include <utility>

#include <gtest/gtest.h>

#include "tests/scenarios/session_fixture.h"

namespace octavo::testing {
namespace {

// --- Reset ---

TEST(BlockManager, AfterResetEverythingObservableIsAsInAFreshOne) {
  const BlockManager fresh(small_config());
  Sessions s(small_config());
  BlockManager& m = s.manager();
  EXPECT_EQ(m.digest(), fresh.digest());
  s.cache(story(1, 18), {5, 6});
  s.admit(0, story(1, 25));
  s.prefill(0);
  s.rewind(0, 7);
  s.write(0, story(3, 9));
  s.set_namespace(1, 9);
  s.admit(2, story(4, 9));
  s.write_prompt(2);
  s.abandon(2);
  s.invalidate_namespace(0);
  s.invalidate_namespace(9);
  EXPECT_NE(m.digest(), fresh.digest());
  s.reset();
  EXPECT_EQ(m.digest(), fresh.digest());
  EXPECT_EQ(m.free_blocks(), 16);
  EXPECT_EQ(m.parked_blocks(), 0);
  EXPECT_EQ(m.quarantined_blocks(), 0);
  EXPECT_EQ(m.release_quarantined(), 0);
  EXPECT_EQ(s.probe(story(1, 25)), 0);
}

// The digest is of what can be seen, so two managers must also go on alike.
TEST(BlockManager, AfterResetItBehavesAsAFreshOneBlockForBlock) {
  Sessions fresh(small_config());
  Sessions used(small_config());
  used.cache(story(1, 30), {5, 9});
  used.cache(story(2, 30));
  used.admit(0, story(1, 20));
  used.write_prompt(0);
  used.reset();
  for (Sessions* s : {&fresh, &used}) {
    s->cache(story(1, 18));
    s->admit(0, story(1, 22));
    s->prefill(0);
    s->admit(1, story(2, 9));
    s->prefill(1);
  }
  EXPECT_EQ(used.row(0), fresh.row(0));
  EXPECT_EQ(used.row(1), fresh.row(1));
  EXPECT_EQ(used.manager().digest(), fresh.manager().digest());
}

TEST(BlockManager, ResetOfAFreshManagerChangesNothing) {
  BlockManager m(small_config());
  const std::uint64_t digest = m.digest();
  m.reset();
  EXPECT_EQ(m.digest(), digest);
  m.audit();
}

TEST(BlockManager, ResetKeepsTheCounters) {
  Sessions s(small_config());
  s.cache(story(1, 9));
  s.reset();
  EXPECT_EQ(s.manager().stats().admits, 1);
  EXPECT_EQ(s.manager().stats().prompt_tokens, 9);
}

// --- Digest ---

TEST(BlockManagerDigest, SeesEverySingleChange) {
  Sessions s(small_config());
  BlockManager& m = s.manager();
  std::uint64_t before = m.digest();
  const auto expect_changed = [&](const char* what) {
    EXPECT_NE(m.digest(), before) << what;
    before = m.digest();
  };
  s.set_namespace(0, 5);
  expect_changed("a namespace");
  s.set_namespace(0, 6);
  expect_changed("another namespace");
  s.admit(0, story(1, 9));
  expect_changed("an admitted prompt");
  s.write_prompt(0, 5);
  expect_changed("a reservation");
  s.commit(0);
  expect_changed("a commit");
  s.rewind(0, 4);
  expect_changed("a rewind");
  s.write(0, story(1, 5, 4));
  expect_changed("a reservation after a rewind");
  s.retire(0, {2});
  expect_changed("a retired session");
  s.admit(1, story(2, 9));
  s.write_prompt(1);
  before = m.digest();
  s.abandon(1);
  expect_changed("quarantine");
  s.release_quarantined();
  expect_changed("released quarantine");
  s.set_namespace(2, 6);
  before = m.digest();
  s.invalidate_namespace(6);
  expect_changed("an invalidated namespace");
}

TEST(BlockManagerDigest, SeesTheOrderOfTheParked) {
  Sessions a(small_config());
  Sessions b(small_config());
  for (Sessions* s : {&a, &b}) {
    s->cache(story(1, 4));
    s->cache(story(2, 4));
  }
  EXPECT_EQ(a.manager().digest(), b.manager().digest());
  a.probe(story(1, 5));
  EXPECT_NE(a.manager().digest(), b.manager().digest());
  b.probe(story(2, 5));
  b.probe(story(1, 5));
  EXPECT_EQ(a.manager().digest(), b.manager().digest());
}

TEST(BlockManagerDigest, DoesNotSeeCounters) {
  Sessions a(small_config());
  Sessions b(small_config());
  a.cache(story(1, 4));
  b.cache(story(1, 4));
  a.probe(story(9, 4));
  EXPECT_NE(a.manager().stats().admits, b.manager().stats().admits);
  EXPECT_EQ(a.manager().digest(), b.manager().digest());
}

// --- Moves ---

TEST(BlockManagerMove, TheNewOneGoesOnWhereTheOldOneWas) {
  BlockManager source(small_config());
  source.admit(0, story(1, 9));
  reserve(source, {0}, {9});
  const std::uint64_t digest = source.digest();
  BlockManager target(std::move(source));
  EXPECT_EQ(target.digest(), digest);
  target.retire(0, story(1, 9));
  EXPECT_EQ(target.admit(0, story(1, 10)), 9);
  BlockManager assigned(small_config());
  assigned = std::move(target);
  EXPECT_EQ(assigned.reserved_len(0), 9);
  assigned.audit();
}

TEST(BlockManagerMove, AMovedFromManagerRaisesOnEveryVerbAndCountsNothing) {
  BlockManager source(small_config());
  source.admit(0, story(1, 9));
  const BlockManager target(std::move(source));
  BlockManager& m = source;  // NOLINT(bugprone-use-after-move): the subject of the test.
  const auto refused = [](auto&& call) {
    try {
      call();
      ADD_FAILURE() << "nothing was raised";
    } catch (const Error& error) {
      EXPECT_EQ(to_string(error.code()), to_string(ErrorCode::FailedPrecondition)) << error.what();
    }
  };
  refused([&] { m.set_namespace(0, 1); });
  refused([&] { m.admit(0, story(1, 9)); });
  refused([&] { reserve(m, {0}, {1}); });
  refused([&] { prepare(m, {0, 1}, {0}, {0}); });
  refused([&] { m.update_position(0, 0); });
  refused([&] { m.retire(0, story(1, 9)); });
  refused([&] { m.replay(0, story(1, 9)); });
  refused([&] { m.evict(0); });
  refused([&] { m.abandon(0); });
  refused([&] { m.release_quarantined(); });
  refused([&] { m.invalidate_namespace(0); });
  refused([&] { m.block_table(0); });
  refused([&] { m.reserved_len(0); });
  refused([&] { m.committed_len(0); });
  refused([&] { m.is_fresh(0); });
  EXPECT_EQ(m.num_blocks(), 0);
  EXPECT_EQ(m.free_blocks(), 0);
  EXPECT_EQ(m.parked_blocks(), 0);
  EXPECT_EQ(m.quarantined_blocks(), 0);
  EXPECT_EQ(m.stats().admits, 0);
  EXPECT_TRUE(m.copies().empty());
}

TEST(BlockManagerMove, AMovedFromManagerMayBeAssignedAgain) {
  BlockManager source(small_config());
  BlockManager target(std::move(source));
  source = BlockManager(small_config());
  EXPECT_EQ(source.admit(0, story(1, 9)), 0);
  source = std::move(target);
  EXPECT_TRUE(source.is_fresh(0));
}

}  // namespace
}  // namespace octavo::testing
