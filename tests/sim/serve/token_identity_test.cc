// Which tokens stand where, and when two requests have the same.

#include "token_identity.h"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>

namespace octavo::sim {
namespace {

using Ids = std::vector<std::uint64_t>;
using Tokens = std::vector<std::int32_t>;

constexpr std::int64_t kBlock = 4;

TraceRequest request(std::int64_t input_tokens, std::int64_t output_tokens, Ids ids) {
  TraceRequest request;
  request.input_tokens = input_tokens;
  request.output_tokens = output_tokens;
  request.block_ids = std::move(ids);
  return request;
}

// The tokens of the first of the turns, all that it holds; the others follow it in its session.
Tokens tokens_of(const std::vector<TraceRequest>& turns,
                 std::int64_t index = 0,
                 const TraceTraits& traits = {}) {
  TokenNames names;
  TokenNamer namer(kBlock, traits);
  bool more = namer.begin(turns[0], index, names);
  for (std::size_t i = 1; more && i < turns.size(); ++i) {
    more = namer.extend(turns[i]);
  }
  namer.finish();
  const std::int64_t end = turns[0].input_tokens + turns[0].output_tokens;
  Tokens tokens(static_cast<std::size_t>(end));
  names.write(0, end, tokens.data());
  // Written in pieces they are the same.
  Tokens pieces(tokens.size());
  for (std::int64_t at = 0; at < end; at += 3) {
    names.write(at, std::min(at + 3, end), pieces.data() + at);
  }
  EXPECT_EQ(tokens, pieces);
  return tokens;
}

std::size_t common(const Tokens& left, const Tokens& right) {
  std::size_t count = 0;
  while (count < left.size() && count < right.size() && left[count] == right[count]) {
    ++count;
  }
  return count;
}

TEST(TokenIdentity, PromptsAgreeAsFarAsTheirIds) {
  const Tokens one = tokens_of({request(10, 0, {1, 2, 3})}, 1);
  EXPECT_EQ(common(one, tokens_of({request(10, 0, {1, 2, 3})}, 2)), 10U) << "the tail too";
  EXPECT_EQ(common(one, tokens_of({request(11, 0, {1, 2, 4})}, 2)), 8U);
  EXPECT_EQ(common(one, tokens_of({request(10, 0, {9, 2, 3})}, 2)), 0U);
  EXPECT_EQ(std::set<std::int32_t>(one.begin(), one.end()).size(), 10U);
}

TEST(TokenIdentity, OutputsThatNobodySendsAreTheRequestsOwn) {
  const Tokens one = tokens_of({request(8, 5, {1, 2})}, 1);
  EXPECT_EQ(common(one, tokens_of({request(8, 5, {1, 2})}, 2)), 8U);
  EXPECT_EQ(one, tokens_of({request(8, 5, {1, 2})}, 1));
}

TEST(TokenIdentity, TheNextTurnNamesTheOutputAndTheBlockItFillsUp) {
  // 6 tokens and 5 of output; the next turn sends 14, of which 11 are these.
  const TraceRequest first = request(6, 5, {1, 20});
  const TraceRequest next = request(14, 3, {1, 2, 3, 40});
  EXPECT_EQ(common(tokens_of({first, next}, 1), tokens_of({next}, 2)), 11U);
  EXPECT_EQ(common(tokens_of({first}, 1), tokens_of({next}, 2)), 4U) << "not looked ahead";
}

TEST(TokenIdentity, AllTurnsOfASessionAgree) {
  const std::vector<TraceRequest> turns = {request(5, 4, {1, 20}), request(10, 7, {1, 2, 30}),
                                           request(18, 3, {1, 2, 3, 4, 50}),
                                           request(30, 0, {1, 2, 3, 4, 5, 6, 7, 80})};
  Tokens last = tokens_of({turns[3]}, 3);
  for (std::size_t i = 0; i < 3; ++i) {
    const std::vector<TraceRequest> rest(turns.begin() + static_cast<std::ptrdiff_t>(i),
                                         turns.end());
    const Tokens tokens = tokens_of(rest, static_cast<std::int64_t>(i));
    EXPECT_EQ(common(tokens, last), tokens.size()) << "turn " << i;
  }
}

TEST(TokenIdentity, AnotherAnswerToTheSamePromptHasItsOwnTokens) {
  const TraceRequest first = request(6, 5, {1, 20});
  const TraceRequest again = request(6, 5, {1, 20});
  const TraceRequest next = request(14, 0, {1, 2, 3, 40});
  const Tokens one = tokens_of({first, again, next}, 1);
  const Tokens two = tokens_of({again, next}, 2);
  EXPECT_EQ(common(one, two), 6U) << "the prompt, its begun block included";
  EXPECT_EQ(common(two, tokens_of({next}, 3)), 11U);
}

TEST(TokenIdentity, APromptThatTurnsAwayIsNoContinuation) {
  const TraceRequest first = request(6, 5, {1, 20});
  EXPECT_EQ(common(tokens_of({first, request(14, 0, {9, 2, 3, 40})}, 1), tokens_of({first}, 1)),
            11U)
      << "another head";
  EXPECT_EQ(common(tokens_of({first, request(5, 0, {1, 30})}, 1), tokens_of({first}, 1)), 11U)
      << "a shorter one";
}

TEST(TokenIdentity, AnOutputLongerThanWhatTheNextTurnSendsIsOwnFromThere) {
  const TraceRequest next = request(9, 0, {1, 2, 40});
  const Tokens first = tokens_of({request(6, 20, {1, 20}), next}, 1);
  EXPECT_EQ(common(first, tokens_of({next}, 2)), 9U);
}

TEST(TokenIdentity, WithoutIdsNothingIsShared) {
  const TraceTraits none = {.prefix_ids = false};
  EXPECT_EQ(
      common(tokens_of({request(6, 2, {})}, 1, none), tokens_of({request(6, 2, {})}, 2, none)), 0U);
  const TraceTraits whole = {.tail_has_id = false};
  EXPECT_EQ(
      common(tokens_of({request(6, 2, {1})}, 1, whole), tokens_of({request(6, 2, {1})}, 2, whole)),
      4U);
}

TEST(TokenIdentity, IdsOfAllSizesDiffer) {
  std::set<Tokens> seen;
  int count = 0;
  for (const std::uint64_t base : {0ULL, 1ULL << 31U, 1ULL << 32U, 1ULL << 63U, ~0ULL - 500}) {
    for (std::uint64_t i = 0; i < 500; ++i, ++count) {
      Tokens pair = tokens_of({request(2, 0, {base + i})});
      seen.insert(pair);
    }
  }
  EXPECT_EQ(seen.size(), static_cast<std::size_t>(count));
}

}  // namespace
}  // namespace octavo::sim
