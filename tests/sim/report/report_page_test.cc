// The page as text: well formed, whole in itself, and its charts say what its tables say.
#include <cmath>
#include <sstream>
#include <string>

#include "html_walker.h"
#include "report_testing.h"
#include <gtest/gtest.h>

namespace octavo::sim {
namespace {

using testing::Element;
using testing::Json;
using testing::Page;

/// A number as the tables write it.
double figure_of(std::string text) {
  std::erase(text, ',');
  return std::stod(text);
}

/// Where an axis "linear LOW HIGH BEGIN END" puts a value.
double place_of(const std::string& axis, double value) {
  std::istringstream words(axis);
  std::string kind;
  double low = 0;
  double high = 0;
  double begin = 0;
  double end = 0;
  words >> kind >> low >> high >> begin >> end;
  const double share =
      kind == "log" ? std::log(value / low) / std::log(high / low) : (value - low) / (high - low);
  return begin + share * (end - begin);
}

std::vector<std::string> titles(const Page& page) {
  std::vector<std::string> all;
  for (const std::size_t heading : page.find("h2")) {
    all.push_back(page.elements[heading].text);
  }
  return all;
}

/// Compares the marks of a figure with its table: as many, and where the table says.
void expect_marks_match(const Page& page, std::size_t figure) {
  const int at = static_cast<int>(figure);
  const std::string title = page.elements[page.find("h3", "", at).at(0)].text;
  const Element& svg = page.elements[page.find("svg", "", at).at(0)];
  const auto marks = page.find("", "m", at);
  const auto columns = page.find("th", "", at);
  const auto cells = page.find("td", "", at);
  ASSERT_FALSE(marks.empty()) << title;
  ASSERT_EQ(cells.size(), marks.size() * columns.size()) << title;
  for (std::size_t i = 0; i < marks.size(); ++i) {
    const auto& mark = page.elements[marks[i]].attributes;
    for (std::size_t column = 0; column < columns.size(); ++column) {
      const auto& attributes = page.elements[columns[column]].attributes;
      if (!attributes.contains("data-axis")) {
        continue;
      }
      const std::string axis = attributes.at("data-axis");
      const std::string text = page.elements[cells[i * columns.size() + column]].text;
      const std::string drawn = mark.contains("c" + axis) ? "c" + axis : axis;
      EXPECT_NEAR(std::stod(mark.at(drawn)),
                  place_of(svg.attributes.at("data-" + axis), figure_of(text)), 0.1)
          << title << ", row " << i << ", " << text;
    }
  }
}

TEST(ReportPage, IsWellFormed) {
  const Page page = testing::read_page(testing::full_report());
  for (const std::string& fault : page.faults) {
    ADD_FAILURE() << fault;
  }
  EXPECT_EQ(page.find("html").size(), 1U);
  EXPECT_EQ(page.find("main").size(), 1U);
}

TEST(ReportPage, AsksNothingOfAnyNetwork) {
  const std::string page = testing::full_report();
  for (const char* reference : {"http:", "https:", "//cdn", "@import", "url(", " src=", "fetch("}) {
    EXPECT_EQ(page.find(reference), std::string::npos) << reference;
  }
}

TEST(ReportPage, IsTheSameForTheSameInput) {
  EXPECT_EQ(testing::full_report(), testing::full_report());
}

TEST(ReportPage, HasASectionForAllThatIsThere) {
  const Page page = testing::read_page(testing::full_report());
  EXPECT_EQ(titles(page),
            (std::vector<std::string>{"Capacity of Llama & <b>co</b>", "Deployments",
                                      "Hits by the size of the cache", "Latency",
                                      "Blocks over time", "Equations of Llama & <b>co</b>"}));
}

TEST(ReportPage, LeavesOutWhatHasNoData) {
  const Page page = testing::read_page(testing::report_of({testing::curve()}));
  EXPECT_EQ(titles(page), (std::vector<std::string>{"Hits by the size of the cache"}));
  EXPECT_EQ(page.find("figure").size(), 1U);
  const Page plan = testing::read_page(testing::report_of({testing::plan()}));
  EXPECT_EQ(titles(plan), (std::vector<std::string>{"Capacity of Llama & <b>co</b>"}));
}

TEST(ReportPage, DrawsItsChartsWhereItsTablesSay) {
  const Page page = testing::read_page(testing::full_report());
  const auto figures = page.find("figure");
  // Memory, two fronts, hits, four against load, two distributions, three pools over time.
  EXPECT_EQ(figures.size(), 13U);
  for (const std::size_t figure : figures) {
    expect_marks_match(page, figure);
  }
}

TEST(ReportPage, HasTheNumbersOfTheInput) {
  const std::string page = testing::full_report();
  for (const char* text :
       {"442,464", "27,654", "54.01 GiB", "66 %", "H100 SXM", "15.5 GiB", "Null block",
        "usable - weights &lt; rest", "0.8 USD for a million tokens", "8.03G parameters"}) {
    EXPECT_NE(page.find(text), std::string::npos) << text;
  }
}

TEST(ReportPage, DividesTheMemoryBarAsTheBudgetDoes) {
  const Page page = testing::read_page(testing::report_of({testing::plan()}));
  const auto figures = page.find("figure");
  ASSERT_EQ(figures.size(), 1U);
  double begin = 0;
  std::vector<double> widths;
  for (const std::size_t part : page.find("rect", "m", static_cast<int>(figures[0]))) {
    const auto& attributes = page.elements[part].attributes;
    EXPECT_NEAR(std::stod(attributes.at("x")), begin, 0.01);
    widths.push_back(std::stod(attributes.at("width")));
    begin += widths.back();
  }
  EXPECT_NEAR(begin, 100, 0.01);
  ASSERT_EQ(widths.size(), 5U);
  EXPECT_NEAR(widths[0], 15.5 / 79.18 * 100, 0.01);
  EXPECT_NEAR(widths[4], 10, 0.01);
}

TEST(ReportPage, SaysWhatIsMissingAndWhatWouldFit) {
  Json plan = testing::plan();
  plan["capacity"]["fits"] = false;
  plan["capacity"]["missing_bytes"] = 3 * 1073741824LL;
  plan["capacity"]["kv_budget_bytes"] = -2 * 1073741824LL;
  plan["budget"]["weights_gib"] = testing::estimate(71, 71, 71);
  plan["remedies"] = {{"max_len", 0}, {"gpu_memory_utilization", nullptr}, {"tp", 4}};
  const std::string page = testing::report_of({plan});
  EXPECT_NE(page.find("Does not fit</span> 3 GiB are missing on each GPU. What would fit: --tp 4."),
            std::string::npos);
  EXPECT_NE(page.find("exceeds the usable share by 1.49 GiB"), std::string::npos);
}

TEST(ReportPage, EscapesEveryText) {
  // Every text of every input becomes a script; none may become an element.
  const std::string attack = "\"'><script>window.stolen=1</script><!--&amp;";
  const auto poison = [&attack](const auto& self, Json& value) -> void {
    if (value.is_string() && value != "lru" && value != "token_pool" &&
        value.get<std::string>().find("_blocks_mean") == std::string::npos) {
      value = attack;
    } else if (value.is_structured()) {
      for (Json& below : value) {
        self(self, below);
      }
    }
  };
  std::vector<Json> documents{testing::workload_plan(), testing::curve(), testing::replay(),
                              testing::simulation()};
  for (Json& document : documents) {
    poison(poison, document);
  }
  const std::string html = testing::report_of(documents);
  const Page page = testing::read_page(html);
  EXPECT_TRUE(page.faults.empty()) << page.faults[0];
  EXPECT_EQ(page.find("script").size(), 1U);
  EXPECT_EQ(html.find("<script>window"), std::string::npos);
  EXPECT_NE(page.elements[page.find("title").at(0)].text.find(attack), std::string::npos);
}

TEST(ReportPage, DrawsNothingForEmptyResults) {
  Json curve = testing::curve();
  curve["points"] = Json::array();
  Json run = testing::simulation();
  run["series"] = Json::array();
  for (Json& measure : run["latency_ns"]) {
    measure["count"] = 0;
  }
  const Page page = testing::read_page(testing::report_of({curve, run}));
  EXPECT_TRUE(page.faults.empty());
  EXPECT_TRUE(page.find("figure").empty());
}

}  // namespace
}  // namespace octavo::sim
