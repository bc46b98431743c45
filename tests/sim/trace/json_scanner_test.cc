// The scanner of trace lines against nlohmann/json: both accept the same lines, and read the same
// values out of them.

#include "json_scanner.h"

#include <algorithm>
#include <string>
#include <vector>

#include "octavo/sim/input_error.h"
#include "octavo/sim/rng.h"
#include "trace_fields.h"
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace octavo::sim {
namespace {

using Json = nlohmann::json;

const std::vector<std::string> kLines = {
    R"({})",
    R"({"timestamp": 0, "input_length": 6758, "output_length": 500, "hash_ids": [0, 1, 2, 3]})",
    R"({"a":[],"b":{},"c":[[],[{}]],"d":{"e":{"f":[1,2,{"g":null}]}},"h":true,"i":false})",
    R"({"n":[0,-0,1,-1,10,1.5,-1.5e3,1e5,1E-5,0.0,0e0,12345678901234567890,1e30]})",
    R"({"s":["","\"","\\","\/\b\f\n\r\t","\u0041\uABCD","a b,]}{:"],"\u0061b":"x"})",
    R"( { "x" : [ 1 , "y" , null ] , "z" : -0.25 } )",
};

bool scanner_accepts(const std::string& line) {
  const std::string file = "f";
  JsonScanner scanner(file);
  try {
    scanner.start(line, 1);
    for (std::string_view key; scanner.next_key(key);) {
      scanner.skip_value();
    }
    return true;
  } catch (const InputError&) {
    return false;
  }
}

// What nlohmann/json calls an object. It also insists on strings that pair their surrogates, which
// the lines here never break.
bool reference_accepts(const std::string& line) {
  const Json value = Json::parse(line, nullptr, false);
  return !value.is_discarded() && value.is_object();
}

// The reference alone refuses surrogates without their other half, and numbers beyond a double.
bool reference_alone_may_refuse(const std::string& line) {
  const auto is_digit = [&](std::size_t at) {
    return at < line.size() && line[at] >= '0' && line[at] <= '9';
  };
  for (std::size_t i = 0; i + 1 < line.size(); ++i) {
    if (line[i] == 'u' && (line[i + 1] == 'd' || line[i + 1] == 'D')) {
      return true;
    }
    if (line[i] == 'e' || line[i] == 'E') {
      const std::size_t first = i + (line[i + 1] == '+' ? 2 : 1);
      if (is_digit(first) && is_digit(first + 1) && is_digit(first + 2)) {
        return true;
      }
    }
  }
  return false;
}

TEST(JsonScanner, AgreesWithTheReferenceOnWholeLines) {
  for (const std::string& line : kLines) {
    EXPECT_TRUE(reference_accepts(line)) << line;
    EXPECT_TRUE(scanner_accepts(line)) << line;
  }
}

TEST(JsonScanner, AgreesWithTheReferenceOnEveryPrefix) {
  for (const std::string& line : kLines) {
    for (std::size_t length = 0; length < line.size(); ++length) {
      const std::string prefix = line.substr(0, length);
      EXPECT_EQ(scanner_accepts(prefix), reference_accepts(prefix)) << prefix;
    }
  }
}

TEST(JsonScanner, AgreesWithTheReferenceOnMutatedLines) {
  const std::string alphabet = "{}[]\",:\\ \t0123456789-+.eEtrufalsn/\x01";
  Rng rng(2024);
  int accepted = 0;
  for (int round = 0; round < 60'000; ++round) {
    std::string line = kLines[rng.below(kLines.size())];
    for (std::int64_t edits = rng.between(1, 3); edits > 0; --edits) {
      const std::size_t at = rng.below(line.size() + 1);
      const char c = alphabet[rng.below(alphabet.size())];
      switch (rng.below(3)) {
        case 0:
          line.insert(at, 1, c);
          break;
        case 1:
          line.erase(at, 1);
          break;
        default:
          line[std::min(at, line.size() - 1)] = c;
      }
      if (line.empty()) {
        line = " ";
      }
    }
    if (reference_alone_may_refuse(line)) {
      continue;
    }
    const bool expected = reference_accepts(line);
    accepted += expected ? 1 : 0;
    ASSERT_EQ(scanner_accepts(line), expected) << line;
  }
  EXPECT_GT(accepted, 5'000);
}

TEST(JsonScanner, ReadsTheIdsThatTheReferenceReads) {
  Rng rng(7);
  for (int round = 0; round < 2'000; ++round) {
    std::string line = "{\"ids\":[";
    const auto count = rng.below(6);
    for (std::uint64_t i = 0; i < count; ++i) {
      line += i == 0 ? "" : rng.chance(1, 2) ? "," : " , ";
      line += std::to_string(rng.next() >> rng.below(64));
    }
    line += rng.chance(1, 2) ? "]}" : " ] }";
    const std::string file = "f";
    JsonScanner scanner(file);
    scanner.start(line, 1);
    std::string_view key;
    ASSERT_TRUE(scanner.next_key(key));
    std::vector<std::uint64_t> ids;
    read_ids(scanner, "ids", ids);
    EXPECT_EQ(ids, Json::parse(line)["ids"].get<std::vector<std::uint64_t>>()) << line;
    EXPECT_FALSE(scanner.next_key(key));
  }
}

TEST(JsonScanner, ReadsNumbersAsTheyAreWritten) {
  const std::string file = "f";
  JsonScanner scanner(file);
  const std::string line = R"({"a":-12.50e+3,"b":18446744073709551616,"c":18446744073709551615})";
  scanner.start(line, 1);
  std::string_view key;
  JsonNumber number;
  ASSERT_TRUE(scanner.next_key(key));
  ASSERT_TRUE(scanner.number(number));
  EXPECT_EQ(number.text, "-12.50e+3");
  EXPECT_TRUE(number.negative);
  EXPECT_FALSE(number.integral);
  ASSERT_TRUE(scanner.next_key(key));
  ASSERT_TRUE(scanner.number(number));
  EXPECT_TRUE(number.integral);
  EXPECT_TRUE(number.overflow);
  ASSERT_TRUE(scanner.next_key(key));
  ASSERT_TRUE(scanner.number(number));
  EXPECT_FALSE(number.overflow);
  EXPECT_EQ(number.magnitude, 18446744073709551615U);
}

}  // namespace
}  // namespace octavo::sim
