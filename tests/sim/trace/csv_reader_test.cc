// The CSV reader, the dates and the decimals behind the readers.

#include "csv_reader.h"

#include "datetime.h"
#include "decimal.h"
#include "trace_testing.h"

namespace octavo::sim {
namespace {

// All values of a file, header first, "|" between values and a line end behind each record.
std::string values_of(const std::string& content) {
  const TempFile file(content);
  CsvReader csv{LineReader(file.path())};
  std::string text;
  for (const std::string& column : csv.columns()) {
    text += column + "|";
  }
  text += "\n";
  while (csv.next()) {
    for (std::size_t i = 0; i < csv.columns().size(); ++i) {
      text += std::string(csv.text(i)) + "|";
    }
    text += "\n";
  }
  return text;
}

std::string csv_refusal(const std::string& content) {
  const TempFile file(content);
  return input_error_of([&] {
           CsvReader csv{LineReader(file.path())};
           while (csv.next()) {
           }
         })
      .substr(file.path().size());
}

TEST(CsvReader, SplitsAtCommasAndTrimsBlanks) {
  EXPECT_EQ(values_of("a, b ,c\n1,,3\n , x y ,\n"), "a|b|c|\n1||3|\n|x y||\n");
}

TEST(CsvReader, AcceptsEveryLineEndAndBlankLines) {
  EXPECT_EQ(values_of("a,b\r\n1,2\r\n\r\n3,4"), "a|b|\n1|2|\n3|4|\n");
  EXPECT_EQ(values_of("\xEF\xBB\xBF"
                      "a,b\n1,2\n"),
            "a|b|\n1|2|\n");
}

TEST(CsvReader, ResolvesQuotes) {
  EXPECT_EQ(values_of("\"a\",\"b,c\"\n\"say \"\"hi\"\"\", \"\" \n"), "a|b,c|\nsay \"hi\"||\n");
  EXPECT_EQ(values_of("a,b\n\"\"\"\",\"x\"\"\"\"y\"\n"), "a|b|\n\"|x\"\"y|\n");
}

TEST(CsvReader, JoinsQuotedValuesOfSeveralLines) {
  EXPECT_EQ(values_of("a,b\n\"1\n\n2\",x\n3,4\n"), "a|b|\n1\n\n2|x|\n3|4|\n");
}

TEST(CsvReader, GivesTheLineThatARecordBeginsOn) {
  const TempFile file("a\n\n\"1\n2\"\n3\n");
  CsvReader csv{LineReader(file.path())};
  ASSERT_TRUE(csv.next());
  EXPECT_EQ(csv.line(), 3);
  ASSERT_TRUE(csv.next());
  EXPECT_EQ(csv.line(), 5);
}

TEST(CsvReader, RefusesWhatIsNoCsv) {
  EXPECT_EQ(csv_refusal("a,b\n1\n"), ":2: has 1 values, expected 2 as in the header");
  EXPECT_EQ(csv_refusal("a,b\n1,2,3\n"), ":2: has 3 values, expected 2 as in the header");
  EXPECT_EQ(csv_refusal("a,b\n\"1\" x,2\n"),
            ":2: not CSV: 'x,2' behind a quoted value, expected ','");
  EXPECT_EQ(csv_refusal("a,b\nx\"1\",2\n"),
            ":2: not CSV: 'x\"1\"', expected quotes around whole values only");
  EXPECT_EQ(csv_refusal("a,b\n\"1,2\n3,4\n"), ":2: the file ends inside of quotes, expected '\"'");
}

TEST(CsvReader, FindsColumnsByName) {
  const TempFile file("a, Request tokens ,a\n1,2,3\n");
  const CsvReader csv{LineReader(file.path())};
  EXPECT_EQ(csv.column("Request tokens"), 1U);
  EXPECT_FALSE(csv.find("b").has_value());
  EXPECT_EQ(input_error_of([&] { csv.column("b"); }),
            file.path() + ":1: b: missing, expected a column of that name");
  EXPECT_EQ(input_error_of([&] { csv.column("a"); }),
            file.path() + ":1: a: heads two columns, expected one");
}

TEST(CsvReader, ReadsAndRefusesNumbers) {
  const TempFile file("n,t\n12,1.5\n-1,-1\n1.0,x\n,\n9223372036854775808,1e30\n0,-0.0\n");
  CsvReader csv{LineReader(file.path())};
  const auto count_error = [&] {
    return input_error_of([&] { csv.count(0, 1); }).substr(file.path().size());
  };
  const auto time_error = [&] {
    return input_error_of([&] { csv.time_ns(1, 9); }).substr(file.path().size());
  };
  const std::string integer = ", expected an integer in [1, 9223372036854775807]";
  const std::string number = ", expected a number in [0, 9223372036]";
  ASSERT_TRUE(csv.next());
  EXPECT_EQ(csv.count(0, 1), 12);
  EXPECT_EQ(csv.time_ns(1, 9), 1'500'000'000);
  ASSERT_TRUE(csv.next());
  EXPECT_EQ(count_error(), ":3: n: is out of range (-1)" + integer);
  EXPECT_EQ(time_error(), ":3: t: is negative (-1)" + number);
  ASSERT_TRUE(csv.next());
  EXPECT_EQ(count_error(), ":4: n: is not written as an integer (1.0)" + integer);
  EXPECT_EQ(time_error(), ":4: t: is not a number (x)" + number);
  ASSERT_TRUE(csv.next());
  EXPECT_EQ(count_error(), ":5: n: is empty" + integer);
  EXPECT_EQ(time_error(), ":5: t: is empty" + number);
  ASSERT_TRUE(csv.next());
  EXPECT_EQ(count_error(), ":6: n: is out of range (9223372036854775808)" + integer);
  EXPECT_EQ(time_error(), ":6: t: is out of range (1e30)" + number);
  ASSERT_TRUE(csv.next());
  EXPECT_EQ(count_error(), ":7: n: is out of range (0)" + integer);
  EXPECT_EQ(csv.time_ns(1, 9), 0);
}

TEST(Decimal, KnowsWhatANumberIs) {
  for (const char* text : {"0", "12", "0.5", "007", "1e3", "1.5E-3", "1e+2"}) {
    EXPECT_TRUE(is_decimal(text)) << text;
  }
  for (const char* text :
       {"", ".", "1.", ".5", "e3", "1e", "1e+", "+1", "-1", " 1", "1 ", "0x1", "nan", "1,5"}) {
    EXPECT_FALSE(is_decimal(text)) << text;
  }
}

TEST(Datetime, ReadsEveryFormOfTheAzureFilesExactly) {
  const std::vector<std::pair<std::string, std::int64_t>> cases = {
      {"1970-01-01 00:00:00", 0},
      {"2023-11-16 18:17:03.9799600", 1'700'158'623'979'960'000},
      {"2024-05-10 00:00:00.009930+00:00", 1'715'299'200'009'930'000},
      {"2025-02-03T04:05:06.789Z", 1'738'555'506'789'000'000},
      {"2025-02-03T04:05:06Z", 1'738'555'506'000'000'000},
      {"2025-02-03T04:05:06.123456789", 1'738'555'506'123'456'789},
      {"2025-02-03 04:05:06+05:30", 1'738'535'706'000'000'000},
      {"2025-02-03 04:05:06-05:30", 1'738'575'306'000'000'000},
      {"2024-02-29 23:59:59", 1'709'251'199'000'000'000},
      {"2000-03-01 00:00:00", 951'868'800'000'000'000},
      {"1969-12-31 23:59:59.5", -500'000'000},
      {"1900-03-01 00:00:00", -2'203'891'200'000'000'000},
  };
  for (const auto& [text, expected] : cases) {
    std::int64_t time_ns = 0;
    EXPECT_TRUE(parse_datetime_ns(text, time_ns)) << text;
    EXPECT_EQ(time_ns, expected) << text;
  }
}

TEST(Datetime, RefusesWhatIsNone) {
  for (const char* text : {"",
                           "2023-11-16",
                           "2023-11-16 18:17",
                           "2023-13-16 18:17:03",
                           "2023-00-16 18:17:03",
                           "2023-02-29 18:17:03",
                           "1900-02-29 00:00:00",
                           "2023-11-00 18:17:03",
                           "2023-11-31 18:17:03",
                           "2023-11-16 24:00:00",
                           "2023-11-16 18:60:03",
                           "2023-11-16 18:17:60",
                           "2023-11-16 18:17:03.",
                           "2023-11-16 18:17:03.1234567890",
                           "2023-11-16 18:17:03 Z",
                           "2023-11-16 18:17:03+1",
                           "2023-11-16 18:17:03+0100",
                           "2023-11-16 18:17:03+24:00",
                           "2023-11-16 18:17:03Zx",
                           "2023/11/16 18:17:03",
                           "23-11-16 18:17:03",
                           "2023-11-16_18:17:03",
                           "2300-01-01 00:00:00",
                           "1600-01-01 00:00:00",
                           "18:17:03",
                           "1700158623"}) {
    std::int64_t time_ns = 0;
    EXPECT_FALSE(parse_datetime_ns(text, time_ns)) << text;
  }
}

}  // namespace
}  // namespace octavo::sim
