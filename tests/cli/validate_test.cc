// Option values: what is taken, and the words of what is not.
#include "validate.h"

#include <string>
#include <vector>

#include "command.h"
#include <gtest/gtest.h>

namespace octavo::tools {
namespace {

// What the option "--n" with this check answers to `text`, empty when it takes it.
std::string answer(const CLI::Validator& check, const std::string& text) {
  CLI::App app("x", "octavo");
  std::string value;
  app.add_option("--n", value)->check(check);
  try {
    app.parse(std::vector<std::string>{"--n=" + text});
  } catch (const CLI::ParseError& error) {
    return error.what();
  }
  return value == text ? "" : "changed to " + value;
}

template <typename Call>
std::string usage_error(Call&& call) {
  try {
    call();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(IntegerRange, NamesTheValueAndTheRange) {
  const auto check = integer_range(1, kInt32Max);
  EXPECT_EQ(answer(check, "1"), "");
  EXPECT_EQ(answer(check, "2147483647"), "");
  EXPECT_EQ(answer(check, "0"), "--n: 0 is outside [1, 2147483647]");
  EXPECT_EQ(answer(check, "-5"), "--n: -5 is outside [1, 2147483647]");
  EXPECT_EQ(answer(check, "2147483648"), "--n: 2147483648 is outside [1, 2147483647]");
  EXPECT_EQ(answer(check, "99999999999999999999"),
            "--n: 99999999999999999999 is outside [1, 2147483647]");
}

TEST(IntegerRange, TakesPlainDecimalIntegersOnly) {
  const auto check = integer_range(-10, kInt64Max);
  for (const char* text : {"abc", "1x", "1.5", "1e3", " 1", "+1", "--1"}) {
    EXPECT_EQ(answer(check, text), "--n: '" + std::string(text) + "' is not an integer");
  }
  // CLI11 would read these as eight and sixteen.
  EXPECT_EQ(answer(check, "010"), "--n: '010' is not a plain decimal integer");
  EXPECT_EQ(answer(check, "0x10"), "--n: '0x10' is not an integer");
  EXPECT_EQ(answer(check, "0"), "");
  EXPECT_EQ(answer(check, "-7"), "");
}

TEST(NumberRange, TakesFiniteNumbersInTheRange) {
  const auto share = number_range(0, 1, /*above=*/true);
  EXPECT_EQ(answer(share, "0.9"), "");
  EXPECT_EQ(answer(share, "1"), "");
  EXPECT_EQ(answer(share, "0"), "--n: 0 is outside (0, 1]");
  EXPECT_EQ(answer(number_range(0, 1), "0"), "");
  EXPECT_EQ(answer(share, "1.5"), "--n: 1.5 is outside (0, 1]");
  for (const char* text : {"nan", "inf", "1e999", "90%", ""}) {
    EXPECT_NE(answer(share, text), "") << text;
  }
}

TEST(OneOf, ListsTheWords) {
  const auto check = one_of({"lru", "fifo"});
  EXPECT_EQ(answer(check, "fifo"), "");
  EXPECT_EQ(answer(check, "LRU"), "--n: 'LRU' is none of lru, fifo");
}

TEST(IntegerList, IsTakenApartAtItsCommas) {
  EXPECT_EQ(parse_integer_list("--blocks", "1953,5859,19531", 1, kInt32Max),
            (std::vector<std::int64_t>{1953, 5859, 19531}));
  EXPECT_EQ(parse_integer_list("--blocks", "7", 1, kInt32Max), std::vector<std::int64_t>{7});
  const auto wrong = [](std::string_view text) {
    return usage_error([&] { parse_integer_list("--blocks", text, 1, kInt32Max); });
  };
  EXPECT_EQ(wrong("1,0"), "--blocks: 0 is outside [1, 2147483647]");
  EXPECT_EQ(wrong("1,,2"), "--blocks: '1,,2' has an empty element");
  EXPECT_EQ(wrong("1,"), "--blocks: '1,' has an empty element");
  EXPECT_EQ(wrong(""), "--blocks: '' has an empty element");
  EXPECT_EQ(wrong("1, 2"), "--blocks: ' 2' is not an integer");
}

TEST(IntegerList, JoinsARepeatedOptionAndReplacesTheDefault) {
  CLI::App app("x", "octavo");
  std::vector<std::int64_t> blocks{99};
  add_integer_list(app, "--blocks", blocks, 1, kInt32Max, "pool sizes");
  app.parse(std::vector<std::string>{});
  EXPECT_EQ(blocks, std::vector<std::int64_t>{99});
  app.parse(std::vector<std::string>{"3", "--blocks", "--blocks=1,2"});  // last one first
  EXPECT_EQ(blocks, (std::vector<std::int64_t>{1, 2, 3}));
  EXPECT_EQ(usage_error([&] { app.parse(std::vector<std::string>{"--blocks=0"}); }),
            "--blocks: 0 is outside [1, 2147483647]");
}

TEST(Size, KnowsBinaryAndDecimalUnits) {
  EXPECT_EQ(parse_size("--size", "1024"), 1024);
  EXPECT_EQ(parse_size("--size", "1B"), 1);
  EXPECT_EQ(parse_size("--size", "80GiB"), 85'899'345'920);
  EXPECT_EQ(parse_size("--size", "80GB"), 80'000'000'000);
  EXPECT_EQ(parse_size("--size", "1.5 MiB"), 1'572'864);
  EXPECT_EQ(parse_size("--size", "0.5KB"), 500);
  // Above 2^53, where a double would round.
  EXPECT_EQ(parse_size("--size", "9007199254740993"), 9'007'199'254'740'993);
  EXPECT_EQ(parse_size("--size", "9223372036854775807"), kInt64Max);
}

TEST(Size, RefusesWhatIsNoSizeOrTooLarge) {
  const auto wrong = [](std::string_view text) {
    return usage_error([&] { parse_size("--size", text); });
  };
  for (const char* text : {"", "GiB", "80G", "80gib", "-1", "1e3", "1.2.3", "1,5GiB"}) {
    EXPECT_NE(wrong(text).find("is not a size such as 80GiB"), std::string::npos) << text;
  }
  for (const char* text : {"0", "0.4B", "9223372036854775808", "8388608TiB", "9000000.5TiB"}) {
    EXPECT_EQ(wrong(text),
              "--size: '" + std::string(text) + "' is outside [1, 9223372036854775807] bytes");
  }
}

}  // namespace
}  // namespace octavo::tools
