// The page in a real browser without a screen: its script runs, every chart is drawn and says at
// each mark what its table says. Skipped where there is no Chromium or Chrome.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "report_testing.h"
#include <gtest/gtest.h>
#include <unistd.h>

namespace octavo::sim {
namespace {

// In front of everything: counts what goes wrong.
constexpr char kWatch[] = R"(<script>
window.faults = [];
addEventListener('error', (event) => faults.push('error: ' + event.message));
addEventListener('securitypolicyviolation', (event) => faults.push('blocked: ' + event.blockedURI));
</script>)";

// Behind everything: what a person would do, and what there would be to see. The page's text is
// replaced by what was found.
constexpr char kProbe[] = R"(<script>
const found = [];
for (const figure of document.querySelectorAll('figure')) {
  const title = figure.querySelector('h3').textContent;
  const svg = figure.querySelector('svg');
  const marks = [...svg.querySelectorAll('.m')];
  const rows = [...figure.querySelectorAll('details tbody tr')];
  const tip = document.getElementById('tip');
  const press = (key) => svg.dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true}));
  const says = (row) => [...row.cells].every((cell) =>
      cell.textContent.length > 90 || tip.textContent.includes(cell.textContent));
  if (svg.getBoundingClientRect().width < 100) faults.push(title + ': no room');
  const frame = svg.getBoundingClientRect();
  rows.forEach((row, i) => {
    if (i >= marks.length) return faults.push(title + ': no mark for row ' + i);
    press(i === 0 ? 'Home' : 'ArrowRight');
    if (!tip.classList.contains('on')) faults.push(title + ': no tip at ' + i);
    if (!says(row)) faults.push(title + ': tip ' + i + ' is ' + tip.textContent);
    if (!marks[i].classList.contains('on')) faults.push(title + ': unlit ' + i);
    if (svg.querySelectorAll('.on').length !== 1) faults.push(title + ': several are lit');
    const box = marks[i].getBoundingClientRect();
    if (box.height < 1 || box.left < frame.left - 1 || box.right > frame.right + 1)
      faults.push(title + ': mark ' + i + ' is outside');
    const shown = tip.getBoundingClientRect();
    if (shown.left < 0 || shown.right > innerWidth) faults.push(title + ': tip is cut off');
  });
  press('Escape');
  if (tip.classList.contains('on')) faults.push(title + ': the tip stays');
  const last = marks.length - 1;
  const box = marks[last].getBoundingClientRect();
  svg.dispatchEvent(new PointerEvent('pointermove',
      {clientX: box.left + box.width / 2, clientY: box.top + box.height / 2}));
  const lit = marks.findIndex((mark) => mark.classList.contains('on'));
  if (lit < 0 || !says(rows[lit])) faults.push(title + ': the pointer finds nothing');
  svg.dispatchEvent(new PointerEvent('pointerleave'));
  found.push('figure ' + marks.length + ' ' + rows.length);
}
if (document.documentElement.scrollWidth > innerWidth) {
  const wide = [...document.querySelectorAll('main *')].filter((one) =>
      !one.closest('.scroll') && one.getBoundingClientRect().right > innerWidth);
  faults.push('wider than the window: ' + wide.map((one) => one.tagName));
}
if (window.stolen) faults.push('a text of the input ran');
const requests = performance.getEntriesByType('resource').length;
found.push('requests ' + requests, 'width ' + innerWidth, 'faults ' + faults.join(' | '), 'done');
document.body.textContent = found.join('\n');
</script>)";

std::string browser() {
  for (const char* name : {"chromium", "chromium-browser", "google-chrome", "chrome"}) {
    if (std::system(("command -v " + std::string(name) + " >/dev/null 2>&1").c_str()) == 0) {
      return name;
    }
  }
  return {};
}

std::string probed(std::string page) {
  page.insert(page.find("<meta name"), kWatch);
  page.insert(page.find("</body>"), kProbe);
  return page;
}

/// What the browser makes of a page in a window that is `width` wide.
std::string dump(const std::string& program, const std::string& page, int width) {
  const std::filesystem::path folder = std::filesystem::temp_directory_path() /
                                       ("octavo_browser_test_" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "page.html") << page;
  const std::string command =
      "timeout 100 " + program +
      " --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --user-data-dir=" +
      (folder / "profile").string() + " --window-size=" + std::to_string(width) +
      ",900 --dump-dom file://" + (folder / "page.html").string() + " 2>/dev/null";
  std::string text;
  if (FILE* pipe = ::popen(command.c_str(), "r")) {
    char part[4096];
    for (std::size_t got = 0; (got = std::fread(part, 1, sizeof part, pipe)) > 0;) {
      text.append(part, got);
    }
    ::pclose(pipe);
  }
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  return text;
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t all = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++all;
  }
  return all;
}

class ReportBrowser : public ::testing::TestWithParam<int> {};

TEST_P(ReportBrowser, DrawsEveryChartAndSaysItsValues) {
  const std::string program = browser();
  if (program.empty()) {
    GTEST_SKIP() << "no chromium, google-chrome or chrome on the path";
  }
  std::vector<testing::Json> documents{testing::workload_plan(), testing::curve(),
                                       testing::replay(), testing::simulation(1),
                                       testing::simulation(2)};
  documents[0]["model"]["name"] =
      "</script><script>window.stolen=1</script><img src=x onerror=\"window.stolen=1\">";
  const std::string seen = dump(program, probed(testing::report_of(documents)), GetParam());
  ASSERT_NE(seen.find("\ndone"), std::string::npos) << "the probe did not end:\n"
                                                    << seen.substr(0, 3000);
  EXPECT_NE(seen.find("\nfaults \n"), std::string::npos) << seen.substr(seen.find("\nfaults "));
  EXPECT_NE(seen.find("\nrequests 0\n"), std::string::npos) << seen;
  EXPECT_EQ(count(seen, "figure "), 13U);
  EXPECT_EQ(count(seen, "figure 5 5"), 1U);    // the memory bar
  EXPECT_EQ(count(seen, "figure 14 14"), 1U);  // two curves of four sizes, three policies of two
  EXPECT_EQ(count(seen, "figure 9 9"), 2U);    // three percentiles at three loads,
  EXPECT_EQ(count(seen, "figure 6 6"), 2U);    // and at two
  EXPECT_EQ(count(seen, "figure 24 24"), 2U);  // five latencies of five figures, one of them zero
}

// A probe that finds nothing wrong on a broken page would prove nothing.
TEST(ReportBrowserProbe, NoticesABrokenPage) {
  const std::string program = browser();
  if (program.empty()) {
    GTEST_SKIP() << "no chromium, google-chrome or chrome on the path";
  }
  std::string page = testing::report_of({testing::curve()});
  page.insert(page.find("<tbody>\n") + 8, "<tr><td class=\"t\">a row too many</td></tr>\n");
  page.insert(page.find("</main>"), "<img src=\"http://127.0.0.1:9/x.png\" alt=\"\">");
  const std::string seen = dump(program, probed(page), 900);
  ASSERT_NE(seen.find("faults "), std::string::npos) << seen;
  EXPECT_NE(seen.find("figure 4 5"), std::string::npos) << seen.substr(seen.find("<body>"));
  EXPECT_NE(seen.find("no mark for row 4"), std::string::npos) << seen;
  EXPECT_NE(seen.find("\nrequests 1\n"), std::string::npos) << seen.substr(seen.find("<body>"));
}

INSTANTIATE_TEST_SUITE_P(Windows, ReportBrowser, ::testing::Values(1200, 390));

}  // namespace
}  // namespace octavo::sim
