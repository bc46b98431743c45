// The same trace and config give the same events and draws on every machine, with every compiler
// and in every build type: digests of the traces that lie beside this, written down.
//
// They change with the model, and then deliberately: the failing test prints what is to be written.

#include <sstream>

#include "serving_testing.h"
#include <gtest/gtest.h>

namespace octavo::sim {
namespace {

struct Pinned {
  const char* trace;
  std::uint64_t digest;
  std::uint64_t final_draw;
};

constexpr Pinned kPinned[] = {
    {"chat", 0x040cfc4c5b6a35d6ULL, 0xf4b4f75b61fcb80cULL},
    {"agent", 0xe6211e6cd0ca6763ULL, 0x12de62d88ef2031aULL},
    {"adversarial", 0x673e941140fbddbbULL, 0x2629e70cf88fc410ULL},
};

ServingResult serve_file(const std::string& name, ServingConfig config, const StepCost& cost) {
  const auto trace = open_trace(std::string(OCTAVO_SOURCE_DIR) + "/traces/" + name + ".jsonl");
  return simulate(*trace, config, cost);
}

// A bit of everything, under pressure.
ServingConfig busy_engine() {
  ServingConfig config;
  config.replicas = 2;
  config.router = RouterKind::PowerOfTwo;
  config.num_blocks = 2400;
  config.max_num_seqs = 16;
  config.max_num_batched_tokens = 2048;
  config.draft_tokens = 2;
  config.accept_millionths = 600'000;
  config.cancel_millionths = 50'000;
  config.cancel_mean_ns = 1'000'000'000;
  config.seed = 42;
  config.audit_every = 500;
  return config;
}

TEST(ServingDigest, IsTheSameEverywhere) {
  LinearCost cost(60'000'000, 200'000, 20'000);
  cost.set_spans({0, 1024});
  for (const Pinned& pinned : kPinned) {
    const ServingResult result = serve_file(pinned.trace, busy_engine(), cost);
    std::ostringstream text;
    text << std::hex << "{\"" << pinned.trace << "\", 0x" << result.digest << "ULL, 0x"
         << result.final_draw << "ULL},";
    EXPECT_TRUE(result.digest == pinned.digest && result.final_draw == pinned.final_draw)
        << text.str() << std::dec << " finished " << result.counters.finished << " cancelled "
        << result.counters.cancelled << " preemptions " << result.counters.preemptions << " cached "
        << result.counters.cached_tokens;
  }
}

TEST(ServingDigest, DependsOnTheSeedAndOnEveryPartOfTheEngine) {
  const LinearCost cost(60'000'000, 200'000, 20'000);
  const ServingResult base = serve_file("chat", busy_engine(), cost);
  EXPECT_EQ(serve_file("chat", busy_engine(), cost).digest, base.digest);
  ServingConfig config = busy_engine();
  config.seed = 43;
  const ServingResult other = serve_file("chat", config, cost);
  EXPECT_NE(other.digest, base.digest);
  EXPECT_NE(other.final_draw, base.final_draw);
  config = busy_engine();
  config.num_blocks += 1;
  EXPECT_NE(serve_file("chat", config, cost).digest, base.digest);
  EXPECT_NE(serve_file("chat", busy_engine(), LinearCost(60'000'001, 200'000, 20'000)).digest,
            base.digest);
}

// A policy and a pool may change what is hit, never what is asked for and answered.
TEST(ServingDigest, WhatIsAskedForIsConserved) {
  const LinearCost cost(60'000'000, 200'000, 20'000);
  for (const bool prefix_caching : {false, true}) {
    ServingConfig config = busy_engine();
    config.cancel_millionths = 0;
    config.prefix_caching = prefix_caching;
    const ServingCounters counters = serve_file("agent", config, cost).counters;
    EXPECT_EQ(counters.arrived, 600);
    EXPECT_EQ(counters.finished + counters.rejected, 600);
    EXPECT_EQ(counters.cached_tokens > 0, prefix_caching);
  }
}

}  // namespace
}  // namespace octavo::sim
