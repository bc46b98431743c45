// What the engine does with a few requests: batching, chunks, order, preemption, cancellation,
// speculation, the cache.

#include "octavo/sim/serve/serving.h"

#include <cmath>

#include "octavo/error.h"
#include "octavo/sim/input_error.h"
#include "serving_testing.h"
#include <gtest/gtest.h>

namespace octavo::sim {
namespace {

TEST(Serving, ALoneRequestTakesItsPrefillAndAStepAToken) {
  const Served r = serve({request_of(500, 40, 3, 1)}, small_engine(16));
  const ServedRequest& end = r.log.end_of(0);
  EXPECT_EQ(end.outcome, RequestOutcome::Finished);
  EXPECT_EQ(end.scheduled_ns, 500);
  EXPECT_EQ(end.first_token_ns, 500 + 1000 + 40 * 10) << "light load: TTFT is the service time";
  EXPECT_EQ(end.end_ns, end.first_token_ns + 2 * 1100);
  EXPECT_EQ(end.output_tokens, 3);
  EXPECT_EQ(end.computed_tokens, 42) << "the last token is fed to nobody";
  ASSERT_EQ(r.log.steps.size(), 3U);
  EXPECT_EQ(r.log.steps[1].shape.read_tokens[0], 41);
  EXPECT_EQ(r.log.steps[0].shape.attended_pairs[0], 40 * 41 / 2);
  EXPECT_EQ(r.result.begin_ns, 500);
  EXPECT_EQ(r.result.end_ns, end.end_ns);
}

TEST(Serving, ARequestWithoutOutputEndsWithItsPrompt) {
  const Served r = serve({request_of(0, 33, 0, 1)}, small_engine(16));
  EXPECT_EQ(r.log.end_of(0).first_token_ns, -1);
  EXPECT_EQ(r.log.end_of(0).end_ns, 1330);
  EXPECT_EQ(r.log.end_of(0).computed_tokens, 33);
}

TEST(Serving, LongPromptsAreSplitByTheBudgetWhichDecodesTakeFirst) {
  // Request 0 generates while the 150 tokens of request 1 go through a budget of 64.
  const Served r = serve({request_of(0, 10, 20, 1), request_of(1, 150, 1, 100)}, small_engine(64));
  std::vector<std::int64_t> chunks;
  for (const ServingStep& step : r.log.steps) {
    if (step.shape.prefill_tokens > 0) {
      chunks.push_back(step.shape.prefill_tokens);
      EXPECT_LE(step.shape.prefill_tokens + step.shape.decode_tokens, 64);
    }
  }
  EXPECT_EQ(chunks, (std::vector<std::int64_t>{10, 63, 63, 24}));
}

TEST(Serving, AChunkLimitLeavesRoomForOtherPrompts) {
  ServingConfig config = small_engine(64);
  config.max_prefill_chunk = 20;
  const Served r = serve({request_of(0, 50, 1, 1), request_of(0, 30, 1, 100)}, config);
  EXPECT_EQ(r.log.steps[0].shape.prefill_sequences, 2);
  EXPECT_EQ(r.log.steps[0].shape.prefill_tokens, 40);
  EXPECT_EQ(r.log.steps[1].shape.prefill_tokens, 30);
  EXPECT_EQ(r.log.steps[2].shape.prefill_tokens, 10);
}

TEST(Serving, WhoComesFirstIsServedFirstWhateverTheOrderInTheFile) {
  ServingConfig config = small_engine(64);
  config.max_num_seqs = 1;
  const Served r = serve(
      {request_of(300, 16, 2, 1), request_of(100, 16, 2, 2), request_of(200, 16, 2, 3)}, config);
  ASSERT_EQ(r.log.ends.size(), 3U);
  EXPECT_EQ(r.log.ends[0].request, 1);
  EXPECT_EQ(r.log.ends[1].request, 2);
  EXPECT_EQ(r.log.ends[2].request, 0);
}

TEST(Serving, TheUrgentGoFirstByPriority) {
  ServingConfig config = small_engine(64);
  config.max_num_seqs = 1;
  config.order = QueueOrder::Priority;
  std::vector<TraceRequest> requests = {request_of(0, 16, 2, 1), request_of(1, 16, 2, 2),
                                        request_of(2, 16, 2, 3), request_of(3, 16, 2, 4)};
  requests[2].priority = 5;
  requests[3].priority = 5;
  const Served r = serve(requests, config);
  std::vector<std::int64_t> order;
  for (const ServedRequest& end : r.log.ends) {
    order.push_back(end.request);
  }
  EXPECT_EQ(order, (std::vector<std::int64_t>{0, 2, 3, 1}));
}

TEST(Serving, AnArrivalAtAStepsEndIsInTheNextStep) {
  // The first step ends at 1160; both that arrive then are in the second.
  const Served r =
      serve({request_of(0, 16, 4, 1), request_of(1160, 16, 1, 2), request_of(1160, 16, 1, 3)},
            small_engine(64));
  EXPECT_EQ(r.log.steps[1].begin_ns, 1160);
  EXPECT_EQ(r.log.steps[1].shape.prefill_sequences, 2);
  EXPECT_EQ(r.log.steps[1].shape.decode_sequences, 1);
}

// --- Preemption ---

// Two requests of two blocks each that grow to four in a pool of six.
std::vector<TraceRequest> two_that_do_not_fit() {
  return {request_of(0, 32, 30, 1), request_of(0, 32, 30, 100)};
}

TEST(Serving, WhenBlocksRunOutTheLatestIsPreemptedAndEndsWithTheSameOutput) {
  ServingConfig config = small_engine(6);
  const Served r = serve(two_that_do_not_fit(), config);
  EXPECT_EQ(r.log.preempted, (std::vector<std::int64_t>{1}));
  EXPECT_EQ(r.log.ends[0].request, 0);
  const ServedRequest& end = r.log.end_of(1);
  EXPECT_EQ(end.outcome, RequestOutcome::Finished);
  EXPECT_EQ(end.output_tokens, 30);
  EXPECT_EQ(end.preemptions, 1);
  EXPECT_EQ(end.cached_tokens + end.later_cached_tokens + end.computed_tokens, 61);
  // It had 49 positions when the 50th of both needed a block; its prompt's two blocks stayed
  // cached, less what a prompt is never served whole.
  EXPECT_EQ(end.recomputed_tokens, 16);
  // Alone in a large pool it takes as many computed tokens.
  const Served alone = serve(two_that_do_not_fit(), small_engine(64));
  EXPECT_EQ(alone.log.end_of(1).computed_tokens, end.computed_tokens);
  EXPECT_TRUE(alone.log.preempted.empty());
}

TEST(Serving, TheLeastUrgentIsPreemptedByPriority) {
  ServingConfig config = small_engine(6);
  config.order = QueueOrder::Priority;
  std::vector<TraceRequest> requests = two_that_do_not_fit();
  requests[1].priority = 1;
  EXPECT_EQ(serve(requests, config).log.preempted, (std::vector<std::int64_t>{0}));
}

TEST(Serving, APreemptedRequestIsResumedBeforeTheNewOnes) {
  ServingConfig config = small_engine(6);
  std::vector<TraceRequest> requests = two_that_do_not_fit();
  requests.push_back(request_of(10, 16, 2, 200));
  requests.push_back(request_of(20, 90, 2, 300));  // Six blocks: it has to wait for all of them.
  const Served r = serve(requests, config);
  EXPECT_EQ(r.result.counters.finished, 4);
  EXPECT_LE(r.log.end_of(1).end_ns, r.log.end_of(3).scheduled_ns);
}

TEST(Serving, WhatCanNeverFitIsRejectedAtOnce) {
  ServingConfig config = small_engine(4);
  config.max_model_len = 60;
  const Served r = serve(
      {request_of(5, 65, 0, 1), request_of(6, 50, 11, 10), request_of(7, 50, 10, 20)}, config);
  EXPECT_EQ(r.log.end_of(0).outcome, RequestOutcome::Rejected) << "five blocks";
  EXPECT_EQ(r.log.end_of(0).replica, -1);
  EXPECT_EQ(r.log.end_of(0).end_ns, 5);
  EXPECT_EQ(r.log.end_of(1).outcome, RequestOutcome::Rejected) << "61 tokens";
  EXPECT_EQ(r.log.end_of(2).outcome, RequestOutcome::Finished);
  EXPECT_EQ(r.result.counters.rejected, 2);
}

TEST(Serving, ARequestThatFitsThePoolToTheLastPositionFinishes) {
  ServingConfig config = small_engine(4);
  EXPECT_EQ(serve({request_of(0, 60, 5, 1)}, config).result.counters.finished, 1);
  EXPECT_EQ(serve({request_of(0, 60, 6, 1)}, config).result.counters.rejected, 1);
}

// --- Cancellation ---

TEST(Serving, ATimeoutEndsWhoWaitsAtOnceAndWhoRunsWithItsStep) {
  ServingConfig config = small_engine(64);
  config.max_num_seqs = 1;
  config.timeout_ns = 2500;
  const Served r = serve(
      {request_of(0, 16, 50, 1), request_of(10, 16, 50, 2), request_of(20, 16, 1, 3)}, config);
  const ServedRequest& running = r.log.end_of(0);
  EXPECT_EQ(running.outcome, RequestOutcome::Cancelled);
  EXPECT_EQ(running.end_ns, 1160 + 2 * 1100) << "the step under way at 2500 ends at 3360";
  EXPECT_EQ(running.output_tokens, 3);
  EXPECT_EQ(r.log.end_of(1).end_ns, 2510);
  EXPECT_EQ(r.log.end_of(1).scheduled_ns, -1);
  EXPECT_EQ(r.log.end_of(2).end_ns, 2520);
  EXPECT_EQ(r.result.replicas[0].free_blocks, 64);
}

TEST(Serving, ARequestThatEndsInTimeIsNotCancelled) {
  ServingConfig config = small_engine(64);
  config.timeout_ns = 1160;
  EXPECT_EQ(serve({request_of(0, 16, 1, 1)}, config).result.counters.finished, 1)
      << "at the same instant the step ends first";
  config.timeout_ns = 1159;
  const Served r = serve({request_of(0, 16, 1, 1)}, config);
  EXPECT_EQ(r.result.counters.finished, 1) << "the step under way had its last token";
}

TEST(Serving, AShareOfTheClientsGivesUp) {
  ServingConfig config = small_engine(64);
  config.cancel_millionths = 300'000;
  config.cancel_mean_ns = 1;
  std::vector<TraceRequest> requests;
  for (int i = 0; i < 1000; ++i) {
    requests.push_back(request_of(i * 10'000, 16, 2, static_cast<std::uint64_t>(i)));
  }
  const Served r = serve(requests, config);
  // Binomial(1000, 0.3): a standard deviation of 14.5; five of them.
  EXPECT_NEAR(static_cast<double>(r.result.counters.cancelled), 300, 73);
  EXPECT_EQ(r.result.counters.cancelled + r.result.counters.finished, 1000);
}

// --- Speculation ---

TEST(Serving, AcceptedDraftsSaveStepsAndRejectedOnesCostAll) {
  ServingConfig config = small_engine(64);
  config.draft_tokens = 3;
  config.accept_millionths = kMillion;
  const Served all = serve({request_of(0, 16, 21, 1)}, config);
  EXPECT_EQ(all.result.counters.steps, 1 + 5) << "20 tokens by four a step";
  EXPECT_EQ(all.log.steps[1].shape.decode_tokens, 4);
  EXPECT_EQ(all.log.end_of(0).draft_tokens, 15);
  EXPECT_EQ(all.log.end_of(0).rejected_draft_tokens, 0);

  config.accept_millionths = 0;
  const Served none = serve({request_of(0, 16, 21, 1)}, config);
  EXPECT_EQ(none.result.counters.steps, 1 + 20);
  EXPECT_EQ(none.log.end_of(0).draft_tokens, 17 * 3 + 2 + 1 + 0);
  EXPECT_EQ(none.log.end_of(0).rejected_draft_tokens, none.log.end_of(0).draft_tokens);
  EXPECT_EQ(none.log.end_of(0).computed_tokens, 36) << "rejected drafts are no positions";
  EXPECT_EQ(none.log.end_of(0).output_tokens, 21);
}

TEST(Serving, DraftsAreAcceptedAsOftenAsTheyShould) {
  ServingConfig config = small_engine(256);
  config.draft_tokens = 1;
  config.accept_millionths = 700'000;
  std::vector<TraceRequest> requests;
  for (int i = 0; i < 100; ++i) {
    requests.push_back(request_of(0, 16, 101, static_cast<std::uint64_t>(i)));
  }
  const ServingCounters counters = serve(requests, config).result.counters;
  const auto drafts = static_cast<double>(counters.draft_tokens);
  const double accepted = drafts - static_cast<double>(counters.rejected_draft_tokens);
  // Independent draws: the standard deviation of the share is sqrt(.21 / drafts); five of them.
  EXPECT_NEAR(accepted / drafts, 0.7, 5 * std::sqrt(0.21 / drafts));
}

// --- The cache ---

TEST(Serving, APromptSeenBeforeIsServedFromTheCache) {
  std::vector<TraceRequest> requests = {request_of(0, 48, 2, 1), request_of(100'000, 64, 2, 1)};
  const Served r = serve(requests, small_engine(64));
  EXPECT_EQ(r.log.end_of(1).cached_tokens, 48);
  EXPECT_EQ(r.log.end_of(1).computed_tokens, 64 + 1 - 48);
  ServingConfig off = small_engine(64);
  off.prefix_caching = false;
  EXPECT_EQ(serve(requests, off).log.end_of(1).cached_tokens, 0);
}

TEST(Serving, APromptIsServableFromTheStepAfterTheOneThatComputesIt) {
  // The same prompt while the first is computed, in the step after, and side by side.
  const Served side = serve({request_of(0, 32, 4, 1), request_of(0, 33, 4, 1)}, small_engine(64));
  EXPECT_EQ(side.log.end_of(1).cached_tokens, 0);
  const Served after = serve({request_of(0, 32, 4, 1), request_of(1, 48, 4, 1)}, small_engine(64));
  EXPECT_EQ(after.log.end_of(1).cached_tokens, 32);
}

TEST(Serving, TheNextTurnIsServedWhatWasGenerated) {
  // Turn 1: 40 + 24 tokens; turn 2 sends 80 of which the first 64 are what was there.
  TraceRequest first = request_of(0, 40, 24, 1);  // ids 1 2 3, the last of half a block
  TraceRequest second = request_of(100'000, 80, 1, 1);
  second.block_ids = {1, 2, 13, 14, 15};
  first.session = second.session = 7;
  const Served r = serve({first, second}, small_engine(64));
  EXPECT_EQ(r.log.end_of(1).cached_tokens, 63) << "the last token was never computed";
  first.session = 8;
  EXPECT_EQ(serve({first, second}, small_engine(64)).log.end_of(1).cached_tokens, 32)
      << "another session: only the whole blocks are known to be the same";
  first.session = 7;
  ServingConfig prompts = small_engine(64);
  prompts.cache_outputs = false;
  EXPECT_EQ(serve({first, second}, prompts).log.end_of(1).cached_tokens, 40);
  ServingConfig whole = small_engine(64);
  whole.full_blocks_only = true;
  EXPECT_EQ(serve({first, second}, whole).log.end_of(1).cached_tokens, 48);
}

TEST(Serving, AWarmStartFillsTheCacheAndIsNotTold) {
  std::vector<TraceRequest> requests = {request_of(0, 48, 2, 1), request_of(50, 48, 2, 100),
                                        request_of(100, 64, 2, 1), request_of(200, 64, 2, 100)};
  ServingConfig config = small_engine(64);
  config.warm_requests = 2;
  const Served r = serve(requests, config);
  EXPECT_EQ(r.result.warm_requests, 2);
  EXPECT_EQ(r.result.counters.arrived, 2);
  EXPECT_EQ(r.result.begin_ns, 100);
  ASSERT_EQ(r.log.ends.size(), 2U);
  EXPECT_EQ(r.log.end_of(2).cached_tokens, 48);
  EXPECT_EQ(r.log.end_of(3).cached_tokens, 48);
  config.warm_requests = 0;
  config.warm_ns = 60;
  EXPECT_EQ(serve(requests, config).log.lines, r.log.lines);
}

// --- Bad input ---

std::string refusal(const ServingConfig& config) {
  try {
    serve({request_of(0, 16, 1, 1)}, config);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::InvalidArgument);
    return error.what();
  }
  return "";
}

TEST(Serving, ABadConfigNamesFieldValueAndRange) {
  ServingConfig config = small_engine(64);
  config.num_blocks = 0;
  EXPECT_EQ(refusal(config), "simulate: num_blocks 0 is outside [1, 2147483647]");
  config = small_engine(64);
  config.accept_millionths = 1'000'001;
  EXPECT_EQ(refusal(config), "simulate: accept_millionths 1000001 is outside [0, 1000000]");
  config = small_engine(64);
  config.replicas = -3;
  EXPECT_EQ(refusal(config), "simulate: replicas -3 is outside [1, 1024]");
  config = small_engine(64);
  config.closed_loop = false;
  config.think_mean_ns = 5;
  EXPECT_EQ(refusal(config), "simulate: think_mean_ns 5 needs closed_loop, which is off");
}

TEST(Serving, NamesGoBothWays) {
  for (const RouterKind router : {RouterKind::RoundRobin, RouterKind::LeastLoaded,
                                  RouterKind::LongestPrefix, RouterKind::PowerOfTwo}) {
    EXPECT_EQ(parse_router(to_string(router)), router);
  }
  EXPECT_EQ(parse_queue_order(to_string(QueueOrder::Priority)), QueueOrder::Priority);
  EXPECT_THROW(parse_router("random"), Error);
  EXPECT_THROW(parse_queue_order("lifo"), Error);
}

TEST(Serving, ATraceThatBreaksTheModelIsRefused) {
  TraceRequest early = request_of(0, 16, 1, 1);
  early.wait_for = {0};
  EXPECT_THROW(serve({early}, small_engine(64)), InputError) << "waits for itself";
  TraceRequest ids = request_of(0, 17, 1, 1);
  ids.block_ids.pop_back();
  EXPECT_THROW(serve({ids}, small_engine(64)), InputError);
  EXPECT_NO_THROW(serve({ids}, small_engine(64), LinearCost(1, 1, 1), {.tail_has_id = false}));
}

TEST(Serving, ACostThatDoesNotMoveTimeIsRefused) {
  EXPECT_THROW(serve({request_of(0, 16, 1, 1)}, small_engine(64), LinearCost(0, 0, 0)), Error);
}

TEST(Serving, AnEmptyTraceIsServed) {
  const Served r = serve({}, small_engine(64));
  EXPECT_EQ(r.result.counters.arrived, 0);
  EXPECT_EQ(r.result.end_ns, 0);
}

}  // namespace
}  // namespace octavo::sim
