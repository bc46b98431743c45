// Operation logs: round trips, and every mistake named.

#include <sstream>
#include <string>
#include <utility>

#include "octavo/sim/input_error.h"
#include <gtest/gtest.h>

#include "tests/sim/check/check_testing.h"

namespace octavo::sim {
namespace {

constexpr const char* kHeader =
    R"({"octavo_check_ops":1,"rows":["paged:int8"],"kv_dtype":"bf16","kv_heads":1,"head_dim":8,)"
    R"("slots":2,"max_tokens":32,"max_step":8,"blocks":8,"block_size":4,"window":4,"seed":1})";

CheckLog read(const std::string& text) {
  std::istringstream in(text);
  return read_check_log(in, "ops");
}

std::string written(const CheckLog& log) {
  std::ostringstream out;
  write_check_log(log, out);
  return out.str();
}

std::string refusal(const std::string& text) {
  try {
    read(text);
  } catch (const InputError& error) {
    return error.what();
  }
  return "nothing was refused";
}

std::string refused_op(const std::string& op) {
  return refusal(std::string(kHeader) + "\n" + op + "\n");
}

TEST(CheckLog, WhatARunDidIsReadBackAsItWasWritten) {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    const CheckResult run = run_check(*small_trace(seed), small_options(seed));
    const std::string text = written(run.log);
    const CheckLog log = read(text);
    EXPECT_EQ(log.ops, run.log.ops);
    EXPECT_EQ(written(log), text);
  }
}

TEST(CheckLog, AHandWrittenLogIsReplayed) {
  const CheckLog log = read(std::string(kHeader) + R"(
{"op":"admit","slot":0,"prompt":[[5,6]]}
{"op":"step","batch":[[0,6,0,0]]}

{"op":"retire","slot":0,"back":0,"boundaries":[3]}
{"op":"admit","slot":1,"prompt":[[5,6],[90,1]]}
{"op":"step","batch":[[1,8,0,0]]}
)");
  ASSERT_EQ(log.ops.size(), 5U);
  const CheckResult result = replay_check_log(log, small_options(1));
  EXPECT_FALSE(result.violation.has_value());
  EXPECT_EQ(result.figures.served_tokens, 6);
  EXPECT_EQ(result.figures.appended_tokens, 6 + 8);
}

// A step that is prepared again ends where it began, and its device may fail after that.
TEST(CheckLog, AFailedSlotNeedNotHaveAnotherLength) {
  for (int after = 0; after < 8; ++after) {
    const CheckLog log = read(std::string(kHeader) + R"(
{"op":"prepare","batch":[[0,1,45,0],[1,1,99,0]]}
{"op":"abandon","slot":0}
{"op":"step","batch":[[1,1,99,0]],"device_after":)" +
                              std::to_string(after) + "}\n");
    const CheckResult result = replay_check_log(log, small_options(1));
    EXPECT_FALSE(result.violation.has_value()) << result.violation->what;
  }
}

TEST(CheckLog, EveryMistakeIsNamed) {
  const std::string header = kHeader;
  EXPECT_EQ(refusal(""), "ops: is empty, expected a header and operations");
  EXPECT_EQ(refusal("{"), "ops:1: is not JSON ({), expected an object");
  EXPECT_EQ(refusal("[1]"), "ops:1: is no object ([1]), expected an object");
  EXPECT_EQ(refusal("{}"), "ops:1: octavo_check_ops: missing, expected an integer in [1, 1]");
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = header;
    return text.replace(text.find(from), from.size(), to);
  };
  EXPECT_EQ(refusal(with("ops\":1", "ops\":2")),
            "ops:1: octavo_check_ops: is 2, expected an integer in [1, 1]");
  EXPECT_EQ(refusal(with("\"slots\":2", "\"slots\":-1")),
            "ops:1: slots: is -1, expected an integer in [1, 64]");
  EXPECT_EQ(refusal(with("\"seed\":1", "\"seed\":18446744073709551615")),
            "ops:1: seed: is 18446744073709551615, expected an integer in "
            "[0, 9223372036854775807]");
  EXPECT_EQ(refusal(with("\"head_dim\":8", "\"head_dim\":12")),
            "ops:1: head_dim: is 12, expected a multiple of 8");
  EXPECT_EQ(refusal(with("paged:int8", "paged:int3")).rfind("ops:1: rows[0]: row 'paged:int3'", 0),
            0U);
  EXPECT_EQ(refusal(with("\"block_size\":4", "\"block_size\":3"))
                .rfind("ops:1: describes a cache that cannot be made: ", 0),
            0U);
  EXPECT_EQ(refusal(with("\"seed\":1", "\"seed\":1,\"more\":2")), "ops:1: more: is not known here");

  EXPECT_EQ(refused_op(R"({"slot":0})"), "ops:2: op: missing, expected a string");
  EXPECT_EQ(
      refused_op(R"({"op":"jump"})").rfind("ops:2: op: is \"jump\", expected one of admit,", 0),
      0U);
  EXPECT_EQ(refused_op(R"({"op":"evict","slot":2})"),
            "ops:2: slot: is 2, expected an integer in [0, 1]");
  EXPECT_EQ(refused_op(R"({"op":"evict","slot":1.5})"),
            "ops:2: slot: is 1.5, expected an integer in [0, 1]");
  EXPECT_EQ(refused_op(R"({"op":"admit","slot":1})"), "ops:2: prompt: missing, expected an array");
  EXPECT_EQ(refused_op(R"({"op":"admit","slot":1,"prompt":[[1,2],[3]]})"),
            "ops:2: prompt[1]: is [3], expected an array of 2 integers");
  EXPECT_EQ(refused_op(R"({"op":"admit","slot":1,"prompt":[[2147483645,9]]})"),
            "ops:2: prompt[0]: runs beyond the largest token id, 2147483647");
  EXPECT_EQ(refused_op(R"({"op":"step","batch":[[0,0,0,0]]})"),
            "ops:2: batch[0][1]: is 0, expected an integer in [1, 1048576]");
  EXPECT_EQ(refused_op(R"({"op":"verify","slot":0})"), "ops:2: slot: is not known here");
  EXPECT_EQ(refused_op(R"({"op":"retire","slot":0,"back":0,"boundaries":[-1]})"),
            "ops:2: boundaries[0]: is -1, expected an integer in [0, 2147483647]");
}

}  // namespace
}  // namespace octavo::sim
