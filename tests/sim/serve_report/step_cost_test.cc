// What a step costs: the roofline by hand, tables and fits of measured steps.
#include <array>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "configs.h"
#include "octavo/sim/input_error.h"
#include "octavo/sim/serve/linear_cost.h"
#include "octavo/sim/serve/roofline_cost.h"
#include "octavo/sim/serve/step_cost_file.h"
#include "octavo/sim/serve/table_cost.h"
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <unistd.h>

namespace octavo::sim {
namespace {

ModelConfig llama_8b() {
  return parse_model_config(testing::llama().dump(), "llama-3.1-8b.json");
}

RooflineCost on_h100(const ModelConfig& model, const RooflineOptions& options = {}) {
  return RooflineCost(roofline_figures(model, find_gpu("h100"), options));
}

/// `sequences` that generate one token each and see `seen` tokens.
StepShape decode_step(std::int64_t sequences, std::int64_t seen) {
  StepShape shape;
  shape.decode_sequences = sequences;
  shape.decode_tokens = sequences;
  shape.read_tokens[0] = sequences * seen;
  shape.attended_pairs[0] = sequences * seen;
  return shape;
}

/// One prompt of `tokens`, nothing of it cached.
StepShape prefill_step(std::int64_t tokens) {
  StepShape shape;
  shape.prefill_sequences = 1;
  shape.prefill_tokens = tokens;
  shape.read_tokens[0] = tokens;
  shape.attended_pairs[0] = tokens * (tokens + 1) / 2;
  return shape;
}

class StepCostFiles : public ::testing::Test {
 protected:
  StepCostFiles() {
    folder_ = std::filesystem::temp_directory_path() /
              ("octavo_step_cost_test_" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder_);
  }
  ~StepCostFiles() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  std::string file(const std::string& name, const std::string& text) {
    const std::string path = (folder_ / name).string();
    std::ofstream(path) << text;
    return path;
  }

  /// What reading `text` as measured steps, and making a table of them, complains about.
  std::string complaint(const std::string& text) {
    const std::string path = file("steps.csv", text);
    try {
      TableCost table(read_measured_steps(path));
    } catch (const InputError& error) {
      return std::string(error.what()).substr(path.size());
    }
    return "";
  }

  std::filesystem::path folder_;
};

// Llama-3.1-8B: 6,979,588,096 parameters in layers and norms, 525,336,576 in the head, 131,072
// bytes of K and V a token. H100 SXM: 0.89 x 3.35 TB/s, 0.79 and 0.5 x 989 TFLOP/s.
TEST(Roofline, ReadsTheWeightsOnceForAStepOfOneToken) {
  const RooflineCost cost = on_h100(llama_8b());
  EXPECT_EQ(cost.figures().linear_bytes, 2 * 6'979'588'096);
  EXPECT_EQ(cost.figures().head_bytes, 2 * 525'336'576);
  const StepTimeParts parts = cost.parts(decode_step(1, 1000));
  EXPECT_TRUE(parts.linear_memory_bound);
  EXPECT_EQ(parts.linear_ns, 4'681'931);  // 13,959,176,192 / 2.9815e12
  EXPECT_EQ(parts.head_ns, 352'398);      // 1,050,673,152 / 2.9815e12
  EXPECT_EQ(parts.attention_ns, 44'006);  // 1,001 x 131,072 / 2.9815e12
  EXPECT_EQ(parts.overhead_ns, 500'000);
  EXPECT_EQ(parts.reduce_ns, 0);
  EXPECT_EQ(cost.step_time_ns(decode_step(1, 1000)), 5'578'334);
}

TEST(Roofline, IsBoundByArithmeticInALongPrefill) {
  const RooflineCost cost = on_h100(llama_8b());
  const StepTimeParts parts = cost.parts(prefill_step(8192));
  EXPECT_FALSE(parts.linear_memory_bound);
  EXPECT_EQ(parts.linear_ns, 146'361'331);    // 2 x 6,979,588,096 x 8,192 / 7.8131e14
  EXPECT_EQ(parts.attention_ns, 35'580'048);  // 4 x 32 x 128 x 32 x 33,558,528 / 4.945e14
  EXPECT_EQ(parts.head_ns, 352'398);          // one row: its weights
}

TEST(Roofline, SharesTheWorkAmongRanksAndPaysForTheirSums) {
  const RooflineCost one = on_h100(llama_8b());
  const RooflineCost two = on_h100(llama_8b(), {.tp = 2});
  const StepTimeParts whole = one.parts(prefill_step(4096));
  const StepTimeParts half = two.parts(prefill_step(4096));
  EXPECT_NEAR(static_cast<double>(half.linear_ns) * 2, static_cast<double>(whole.linear_ns), 2);
  EXPECT_NEAR(static_cast<double>(half.attention_ns) * 2, static_cast<double>(whole.attention_ns),
              2);
  // 64 all-reduces of 10 us and 4,096 x 8,192 bytes at 0.75 x 450 GB/s.
  EXPECT_EQ(half.reduce_ns, 7'002'915);
  EXPECT_EQ(one.parts(prefill_step(4096)).reduce_ns, 0);
}

TEST(Roofline, ReadsOnlyTheExpertsThatTokensTouch) {
  RooflineFigures figures = on_h100(llama_8b()).figures();
  figures.experts = 8;
  figures.experts_per_token = 2;
  figures.expert_bytes = 1 << 20;
  const RooflineCost cost(figures);
  EXPECT_EQ(cost.expert_bytes_read(0), 0);
  EXPECT_EQ(cost.expert_bytes_read(1), 1 << 18);             // a quarter
  EXPECT_EQ(cost.expert_bytes_read(2), (1 << 20) * 7 / 16);  // 1 - (3/4)^2
  EXPECT_EQ(cost.expert_bytes_read(1'000'000), 1 << 20);
}

TEST(Roofline, RefusesWhatItCannotKnow) {
  const ModelConfig model = llama_8b();
  EXPECT_THROW(roofline_figures(model, custom_gpu(80), {}), Error);
  EXPECT_THROW(roofline_figures(model, find_gpu("gb10"), {}), Error);  // no peak in the catalogue
  EXPECT_NO_THROW(roofline_figures(model, find_gpu("gb10"), {.tflops = 100}));
  EXPECT_THROW(roofline_figures(model, find_gpu("h100"), {.tp = 3}), Error);
  EXPECT_THROW(roofline_figures(model, find_gpu("h100"), {.memory_efficiency = 1.5}), Error);
  Gpu unlisted = find_gpu("h100");
  unlisted.name = "H100 of nobody";
  EXPECT_THROW(roofline_figures(model, unlisted, {.tp = 2}), Error);
  EXPECT_NO_THROW(roofline_figures(model, unlisted, {.tp = 2, .link_gb_per_s = 100}));
}

TEST(Roofline, KnowsALinkForEveryGpuOfTheCatalogue) {
  for (const Gpu& gpu : gpu_catalogue()) {
    EXPECT_TRUE(link_gb_per_s(gpu).has_value()) << gpu.name;
  }
}

StepShape arbitrary_shape() {
  const auto small = [] { return *rc::gen::inRange<std::int64_t>(0, 5000); };
  StepShape shape;
  shape.prefill_sequences = small();
  shape.prefill_tokens = small();
  shape.decode_sequences = small();
  shape.decode_tokens = small();
  for (int i = 0; i < kSpansMax; ++i) {
    shape.read_tokens[static_cast<std::size_t>(i)] = small() * 100;
    shape.attended_pairs[static_cast<std::size_t>(i)] = small() * 10000;
  }
  return shape;
}

/// `shape` with more in one of its fields.
StepShape enlarged(StepShape shape) {
  const auto more = *rc::gen::inRange<std::int64_t>(0, 3000);
  const auto span = *rc::gen::inRange<std::size_t>(0, kSpansMax);
  const std::array<std::int64_t*, 6> fields = {
      &shape.prefill_sequences, &shape.prefill_tokens,    &shape.decode_sequences,
      &shape.decode_tokens,     &shape.read_tokens[span], &shape.attended_pairs[span]};
  *fields[*rc::gen::inRange<std::size_t>(0, fields.size())] += more;
  return shape;
}

std::vector<std::unique_ptr<StepCost>> costs_to_compare() {
  std::vector<std::unique_ptr<StepCost>> costs;
  costs.push_back(std::make_unique<RooflineCost>(on_h100(llama_8b()).figures()));
  const ModelConfig gemma = parse_model_config(testing::gemma2().dump(), "gemma.json");
  RooflineFigures moe = on_h100(gemma, {.tp = 2}).figures();
  moe.experts = 64;
  moe.experts_per_token = 3;
  moe.expert_bytes = std::int64_t{1} << 34;
  costs.push_back(std::make_unique<RooflineCost>(moe));
  costs.push_back(std::make_unique<LinearCost>(
      LinearCoefficients{.step_fs = 7, .decode_sequence_fs = 1'234'567, .kv_token_fs = 77}));
  MeasuredSteps measured;
  std::int64_t line = 1;
  for (const std::int64_t prefill : {0, 512, 2048}) {
    for (const std::int64_t decode : {1, 8, 100}) {
      for (const std::int64_t kv : {0, 10'000}) {
        MeasuredStep step;
        step.shape.prefill_tokens = prefill;
        step.shape.decode_tokens = decode;
        step.shape.read_tokens[0] = kv;
        step.time_ns = 1000 + prefill * prefill / 7 + decode * 13 + kv * (decode + 1);
        step.line = ++line;
        measured.steps.push_back(step);
      }
    }
  }
  costs.push_back(std::make_unique<TableCost>(measured));
  return costs;
}

RC_GTEST_PROP(StepCosts, NeverFallWhenAStepGrows, ()) {
  static const std::vector<std::unique_ptr<StepCost>> kCosts = costs_to_compare();
  const StepShape shape = arbitrary_shape();
  const StepShape larger = enlarged(shape);
  for (const auto& cost : kCosts) {
    RC_ASSERT(cost->step_time_ns(shape) >= 1);
    RC_ASSERT(cost->step_time_ns(larger) >= cost->step_time_ns(shape));
  }
}

TEST(StepCosts, OfNothingAndOfTheLargestShapesStayInRange) {
  StepShape largest;
  constexpr std::int64_t kMuch = std::int64_t{1} << 50;
  largest.prefill_sequences = kMuch;
  largest.prefill_tokens = kMuch;
  largest.decode_sequences = kMuch;
  largest.decode_tokens = kMuch;
  largest.read_tokens.fill(kMuch);
  largest.attended_pairs.fill(kMuch);
  for (const auto& cost : costs_to_compare()) {
    EXPECT_GE(cost->step_time_ns({}), 1);
    EXPECT_GT(cost->step_time_ns(largest), cost->step_time_ns({}));
  }
}

constexpr char kGrid[] =
    "time_us, prefill_tokens,decode_sequences,kv_tokens,comment\n"
    "100,0,1,0,a\n"
    "200,0,1,1000,b\n"
    "140,0,9,0,c\r\n"
    "240.5,0,9,1000,d\n";

TEST_F(StepCostFiles, ATablePassesThroughItsPointsAndGoesOnInStraightLines) {
  const TableCost table(read_measured_steps(file("grid.csv", kGrid)));
  const auto time = [&](std::int64_t decode, std::int64_t kv) {
    StepShape shape;
    shape.decode_tokens = decode;
    shape.read_tokens[0] = kv;
    return table.step_time_ns(shape);
  };
  EXPECT_EQ(time(1, 0), 100'000);
  EXPECT_EQ(time(9, 1000), 240'500);
  EXPECT_EQ(time(5, 0), 120'000);
  EXPECT_EQ(time(5, 500), 170'125);
  EXPECT_EQ(time(0, 0), 100'000);                   // below the grid
  EXPECT_EQ(time(9, 3000), 240'500 + 2 * 100'500);  // beyond it
  EXPECT_EQ(time(17, 3000), 240'500 + 2 * 100'500 + 40'500);
}

TEST_F(StepCostFiles, ATableOfABadFileIsRefusedByLineAndField) {
  const std::string header = "prefill_tokens,decode_sequences,kv_tokens,time_us\n";
  EXPECT_EQ(complaint(""), ": is empty, expected a line of column names");
  EXPECT_EQ(complaint(header), ":1: only a header, expected measured steps behind it");
  EXPECT_EQ(complaint("prefill_tokens,decode_sequences,time_us\n1,1,1\n"),
            ":1: kv_tokens: is missing from the header, expected a column of that name");
  EXPECT_EQ(complaint("time_us,prefill_tokens,decode_sequences,kv_tokens,time_us\n"),
            ":1: time_us: names two columns, expected one");
  EXPECT_EQ(complaint(header + "0,1,0\n"), ":2: has 3 fields, expected 4 as in the header");
  EXPECT_EQ(complaint(header + "0,1,0,5\n0,1.5,0,5\n"),
            ":3: decode_sequences: is \"1.5\", expected a whole number in [0, 9007199254740992]");
  EXPECT_EQ(complaint(header + "0,1,0,-5\n"),
            ":2: time_us: is \"-5\", expected a number above 0 and at most 1000000000000");
  EXPECT_EQ(complaint(header + "0,1,0,nan\n"),
            ":2: time_us: is \"nan\", expected a number above 0 and at most 1000000000000");
  EXPECT_EQ(
      complaint(header + "0,1,0,5\n0,1,0,6\n"),
      ":3: stands twice (prefill_tokens 0, decode_sequences 1, kv_tokens 0), first in line 2");
  EXPECT_EQ(
      complaint(header + "0,2,0,5\n0,1,0,6\n"),
      ":2: time_us: is less than in line 3, a step with less decode_sequences; expected times "
      "that do not fall");
  EXPECT_EQ(complaint(header + "0,2,0,5\n0,1,7,6\n"),
            ": has no step of prefill_tokens 0, decode_sequences 1, kv_tokens 0, expected every "
            "combination of the values that occur");
}

MeasuredSteps steps_of(const LinearCoefficients& truth) {
  const LinearCost cost(truth);
  MeasuredSteps measured;
  measured.has_prefill_sequences = true;
  measured.has_attended_pairs = true;
  for (std::int64_t i = 0; i < 60; ++i) {
    MeasuredStep step;
    step.shape.prefill_sequences = i % 3;
    step.shape.prefill_tokens = i % 3 * (100 + 37 * (i % 7));
    step.shape.decode_sequences = i * i % 41;
    step.shape.decode_tokens = step.shape.decode_sequences;
    step.shape.read_tokens[0] = 1000 * (i % 11) + step.shape.prefill_tokens;
    step.shape.attended_pairs[0] = step.shape.read_tokens[0] * (1 + i % 5);
    step.time_ns = cost.step_time_ns(step.shape);
    step.line = i + 2;
    measured.steps.push_back(step);
  }
  return measured;
}

TEST(Fit, FindsTheCoefficientsThatMadeTheSteps) {
  const LinearCoefficients truth{.step_fs = 5'000'000'000'000,
                                 .prefill_sequence_fs = 20'000'000'000,
                                 .decode_sequence_fs = 3'000'000'000,
                                 .token_fs = 18'000'000'000,
                                 .kv_token_fs = 44'000'000,
                                 .pair_fs = 1'000'000};
  const LinearFit fit = fit_linear_cost(steps_of(truth));
  EXPECT_GT(fit.r2, 0.999999999);
  EXPECT_LT(fit.error_us_max, 0.01);
  const auto found = fit.coefficients.terms();
  const auto expected = truth.terms();
  for (std::size_t i = 0; i < kLinearTerms; ++i) {
    const auto want = static_cast<double>(expected[i]);
    EXPECT_NEAR(static_cast<double>(found[i]), want, want * 1e-3) << i;
  }
}

TEST(Fit, NeverMakesMoreWorkCheaper) {
  MeasuredSteps measured = steps_of({.step_fs = 1'000'000'000, .token_fs = 1'000'000'000});
  for (MeasuredStep& step : measured.steps) {
    // Each cached token read makes these steps faster, which no engine's do.
    step.time_ns = 1'000'000 + 1000 * step.shape.prefill_tokens - step.shape.read_tokens[0];
  }
  const LinearFit fit = fit_linear_cost(measured);
  for (const std::int64_t term : fit.coefficients.terms()) {
    EXPECT_GE(term, 0);
  }
  EXPECT_EQ(fit.coefficients.kv_token_fs, 0);
  EXPECT_LT(fit.r2, 1);
}

TEST_F(StepCostFiles, AFitIsReadAsItWasWritten) {
  const LinearFit fit =
      fit_linear_cost(steps_of({.step_fs = 123'456'789'012, .token_fs = 98'765'432}));
  const std::string path = file("cost.json", to_json(fit));
  EXPECT_EQ(read_linear_cost(path), fit.coefficients);
  const StepCostFile cost = read_step_cost(path);
  const auto* model = std::get_if<std::unique_ptr<StepCost>>(&cost);
  ASSERT_NE(model, nullptr);
  EXPECT_EQ((*model)->step_time_ns(decode_step(4, 100)),
            LinearCost(fit.coefficients).step_time_ns(decode_step(4, 100)));
}

TEST_F(StepCostFiles, OptionsOfTheRooflineComeFromAFileToo) {
  const std::string head = R"({"schema_version":1,"step_cost":"roofline",)";
  const StepCostFile cost = read_step_cost(
      file("roofline.json", head + R"("overhead_us":50,"memory_efficiency":0.7})"), {.tp = 4});
  const auto& options = std::get<RooflineOptions>(cost);
  EXPECT_EQ(options.overhead_us, 50);
  EXPECT_EQ(options.memory_efficiency, 0.7);
  EXPECT_EQ(options.compute_efficiency, RooflineOptions{}.compute_efficiency);
  EXPECT_EQ(options.tp, 4);
  EXPECT_THROW(read_step_cost(file("a.json", head + R"("overheadus":50})")), InputError);
  EXPECT_THROW(read_step_cost(file("b.json", head + R"("overhead_us":-1})")), InputError);
  EXPECT_THROW(read_step_cost(file("c.json", R"({"schema_version":1,"step_cost":"x"})")),
               InputError);
}

}  // namespace
}  // namespace octavo::sim
