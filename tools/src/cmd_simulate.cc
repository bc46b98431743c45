// `octavo simulate`: discrete-event serving of a trace on a model and a GPU.
#include <cerrno>
#include <cmath>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

#include "command.h"
#include "help_format.h"
#include "octavo/sim/model_source.h"
#include "octavo/sim/serve/arrival_times.h"
#include "octavo/sim/serve/serving_files.h"
#include "octavo/sim/serve/step_cost_file.h"
#include "progress.h"
#include "simulate_report.h"
#include "validate.h"

namespace octavo::tools {
namespace {

constexpr double kCancelMeanS = 10;
constexpr double kSecondsMax = 1e6;

struct SimulateOptions {
  std::string trace;
  std::string format = "auto";
  std::int64_t trace_block = 0;
  std::string model;
  std::string gpu;
  std::string kv_dtype = "bf16";
  sim::PlanRequest plan;
  std::int64_t blocks = 0;
  std::string cost;

  sim::ServingConfig serving;
  std::string router = "round-robin";
  std::string order = "fcfs";
  std::string policy = "lru";
  double spec_acceptance = 0.7;
  std::vector<double> cancel;  // The share of clients that give up, then after how many seconds.
  double timeout_s = 0;
  std::optional<double> think_s;

  std::optional<double> rate;
  double speedup = 1;
  std::optional<double> slo_ttft_ms;
  std::optional<double> slo_tpot_ms;
  std::int64_t seed = 1;

  std::string csv;
  std::string series_csv;
  std::string timeline;
};

std::int64_t millionths(double share) {
  return std::llround(share * 1e6);
}

std::int64_t ns_of_s(double seconds) {
  return std::llround(seconds * 1e9);
}

/// A file that is written while the simulation runs.
class RecordFile {
 public:
  RecordFile(const char* option, std::string path) : path_(std::move(path)) {
    errno = 0;
    file_.open(path_, std::ios::binary);
    if (!file_) {
      throw UsageError(std::string(option) + ": cannot write " + path_ + ": " +
                       std::generic_category().message(errno));
    }
  }

  std::ostream& stream() { return file_; }

  void close() {
    file_.close();
    if (!file_) {
      throw std::runtime_error("cannot write " + path_ + ": " +
                               std::generic_category().message(errno));
    }
  }

 private:
  std::string path_;
  std::ofstream file_;
};

/// The files that were asked for, and who writes them.
struct Outputs {
  explicit Outputs(const SimulateOptions& options) {
    if (!options.csv.empty()) {
      csv_file.emplace("--csv", options.csv);
      csv.emplace(csv_file->stream());
    }
    if (!options.series_csv.empty()) {
      series_file.emplace("--series-csv", options.series_csv);
    }
    if (!options.timeline.empty()) {
      timeline_file.emplace("--timeline", options.timeline);
      timeline.emplace(timeline_file->stream(), options.serving.replicas);
    }
  }

  void observe(sim::ObserverGroup& group) {
    if (csv) {
      group.add(*csv);
    }
    if (timeline) {
      group.add(*timeline);
    }
  }

  void finish(std::span<const sim::StepSeries> series) {
    if (csv) {
      csv->finish();
      csv_file->close();
    }
    if (series_file) {
      sim::write_series_csv(series, series_file->stream());
      series_file->close();
    }
    if (timeline) {
      timeline->finish();
      timeline_file->close();
    }
  }

  std::optional<RecordFile> csv_file;
  std::optional<RecordFile> series_file;
  std::optional<RecordFile> timeline_file;
  std::optional<sim::RequestCsv> csv;
  std::optional<sim::TimelineWriter> timeline;
};

class ProgressObserver final : public sim::ServingObserver {
 public:
  ProgressObserver(Progress& progress, std::int64_t total) : progress_(progress), total_(total) {}
  void on_request_end(const sim::ServedRequest& /*request*/) override {
    progress_.update(++done_, total_);
  }

 private:
  Progress& progress_;
  std::int64_t total_;
  std::int64_t done_ = 0;
};

/// What the simulation is made of, once the files that say so have been read.
struct Setup {
  sim::ServingConfig config;
  std::optional<sim::CapacityPlan> plan;
  std::unique_ptr<sim::StepCost> cost;
  std::string cost_text;
  std::optional<sim::RooflineFigures> roofline;
  std::string gpu;
  std::string model;
  std::vector<std::string> remarks;
};

sim::ServingConfig make_config(const SimulateOptions& options) {
  sim::ServingConfig config = options.serving;
  config.router = sim::parse_router(options.router);
  config.order = sim::parse_queue_order(options.order);
  config.policy = parse_eviction_policy(options.policy);
  config.block_size = static_cast<int>(options.plan.block_size);
  config.accept_millionths = config.draft_tokens > 0 ? millionths(options.spec_acceptance) : 0;
  if (!options.cancel.empty()) {
    config.cancel_millionths = millionths(options.cancel[0]);
    config.cancel_mean_ns = ns_of_s(options.cancel.size() > 1 ? options.cancel[1] : kCancelMeanS);
  }
  config.timeout_ns = ns_of_s(options.timeout_s);
  if (options.think_s) {
    config.think_mean_ns = ns_of_s(*options.think_s);
  }
  config.seed = static_cast<std::uint64_t>(options.seed);
  return config;
}

sim::Gpu make_gpu(const SimulateOptions& options) {
  if (!options.gpu.empty()) {
    return sim::find_gpu(options.gpu);
  }
  sim::Gpu gpu;
  gpu.name = "a GPU that was not named";
  return gpu;
}

/// The pool and the limits, from the plan or as given.
void set_pool(const SimulateOptions& options, const sim::PlanRequest& request, Setup& setup) {
  const sim::BatchLimits limits = sim::default_batch_limits(request.gpu);
  sim::ServingConfig& config = setup.config;
  if (options.blocks == 0) {
    setup.plan = sim::plan_capacity(request);
    config.num_blocks = setup.plan->expected.blocks;
  } else {
    config.num_blocks = options.blocks;
  }
  config.max_model_len = request.max_len;
  if (request.max_len == 0 && !options.model.empty()) {
    config.max_model_len = request.model.max_positions;
  }
  config.max_num_seqs =
      static_cast<int>(request.max_num_seqs > 0 ? request.max_num_seqs : limits.max_num_seqs);
  config.max_num_batched_tokens = request.max_num_batched_tokens > 0
                                      ? request.max_num_batched_tokens
                                      : limits.max_num_batched_tokens;
  if (!options.model.empty() && request.model.all_windowed()) {
    config.prefix_caching = false;
    setup.remarks.push_back("every layer of " + request.model.name +
                            " has a window: nothing is shared, and the simulation does not give "
                            "back the blocks behind it");
  }
}

void set_cost(const SimulateOptions& options, const sim::PlanRequest& request, Setup& setup) {
  sim::RooflineOptions figures;
  figures.tp = request.tp;
  figures.format = request.format;
  if (!options.cost.empty()) {
    auto file = sim::read_step_cost(options.cost, figures);
    if (auto* cost = std::get_if<std::unique_ptr<sim::StepCost>>(&file)) {
      setup.cost = std::move(*cost);
      setup.cost_text = options.cost;
      return;
    }
    figures = std::get<sim::RooflineOptions>(file);
  }
  if (options.model.empty() || options.gpu.empty()) {
    throw UsageError("--model and --gpu are required unless --cost tells the time of a step");
  }
  auto roofline = std::make_unique<sim::RooflineCost>(
      sim::roofline_figures(request.model, request.gpu, figures));
  setup.roofline = roofline->figures();
  setup.cost = std::move(roofline);
  setup.cost_text = "roofline";
  setup.remarks.push_back("step times are estimated, not measured; sim/COST.md says from what");
}

Setup make_setup(const SimulateOptions& options) {
  if (options.blocks == 0 && options.model.empty()) {
    throw UsageError("--model is required unless --blocks and --cost are given");
  }
  if (options.blocks == 0 && options.gpu.empty() && !options.plan.kv_budget_gib) {
    throw UsageError("one of --gpu, --blocks and --kv-budget-gib is required");
  }
  Setup setup;
  setup.config = make_config(options);
  sim::PlanRequest request = options.plan;
  request.gpu = make_gpu(options);
  request.format = sim::parse_kv_format(options.kv_dtype);
  if (!options.model.empty()) {
    request.model = sim::load_model(options.model);
    setup.model = request.model.name;
  }
  setup.gpu = options.gpu.empty() ? "" : request.gpu.name;
  set_cost(options, request, setup);
  set_pool(options, request, setup);
  return setup;
}

void remark_on_trace(const SimulateOptions& options,
                     const sim::TraceReader& trace,
                     std::vector<std::string>& remarks) {
  if (!trace.traits().prefix_ids) {
    remarks.emplace_back("the trace does not say what prompts share, so they share nothing");
  }
  if (!trace.traits().arrivals && !options.rate) {
    remarks.emplace_back("the trace has no arrival times: all requests come at once; see --rate");
  }
}

void check_together(const SimulateOptions& options) {
  if (options.rate && options.speedup != 1) {
    throw UsageError("--rate and --speedup exclude each other");
  }
  const std::vector<double>& cancel = options.cancel;
  const bool bad_share = !cancel.empty() && !(cancel[0] >= 0 && cancel[0] <= 1);
  const bool bad_mean = cancel.size() > 1 && !(cancel[1] >= 0 && cancel[1] <= kSecondsMax);
  if (bad_share || bad_mean) {
    throw UsageError("--cancel: expected a share in [0, 1] and seconds in [0, 1000000]");
  }
}

int run_simulate(const SimulateOptions& options, Context& context) {
  check_together(options);
  Setup setup = make_setup(options);
  if (setup.plan && !setup.plan->fits) {
    context.err << "octavo simulate: " << sim::does_not_fit_text(*setup.plan) << '\n';
    return kExitDoesNotFit;
  }
  const auto file = sim::open_trace(options.trace,
                                    {sim::parse_trace_format(options.format), options.trace_block});
  sim::ArrivalPace arrivals{.speed_millionths = millionths(options.speedup),
                            .seed = setup.config.seed};
  if (options.rate) {
    arrivals.poisson_mean_ns = std::llround(1e9 / *options.rate);
  }
  const auto trace = sim::with_arrivals(*file, arrivals);
  remark_on_trace(options, *trace, setup.remarks);

  SimulatedRun run;
  run.limits.ttft_ns =
      options.slo_ttft_ms ? std::optional(ns_of_s(*options.slo_ttft_ms / 1000)) : std::nullopt;
  run.limits.tpot_ns =
      options.slo_tpot_ms ? std::optional(ns_of_s(*options.slo_tpot_ms / 1000)) : std::nullopt;
  sim::ServingMetrics metrics(run.limits);
  Outputs outputs(options);
  {
    Progress progress(context, "simulate", "requests");
    ProgressObserver counter(progress, setup.config.limit);
    sim::ObserverGroup observers;
    observers.add(metrics);
    outputs.observe(observers);
    observers.add(counter);
    run.result = sim::simulate(*trace, setup.config, *setup.cost, &observers);
  }
  outputs.finish(metrics.series());
  run.trace = trace->name();
  run.trace_format = sim::to_string(trace->format());
  run.trace_block = trace->block_size();
  run.traits = trace->traits();
  run.model = setup.model;
  run.gpu = setup.gpu;
  run.tp = options.plan.tp;
  run.kv_dtype = options.kv_dtype;
  run.cost = setup.cost_text;
  run.roofline = setup.roofline;
  run.config = setup.config;
  run.summary = metrics.summary();
  run.series = metrics.series();
  run.remarks = setup.remarks;
  if (context.json) {
    context.out << to_json(run) << '\n';
  } else {
    print_text(run, context.out);
  }
  return kExitOk;
}

void add_subject_options(CLI::App& command, SimulateOptions& options) {
  const auto count = integer_range(1, kInt32Max);
  command.add_option("--trace", options.trace, "the requests; - reads standard input")->required();
  command.add_option("--format", options.format, "of the trace (default: told from it)");
  command.add_option("--trace-block", options.trace_block, "tokens an id of the trace stands for")
      ->check(count);
  command.add_option("--model", options.model, "a Hugging Face config.json");
  command.add_option("--gpu", options.gpu, "a GPU of the catalogue, e.g. \"H100 SXM\"");
  command.add_option("--tp", options.plan.tp, "GPUs that share the heads (default: 1)")
      ->check(integer_range(1, 16384));
  command.add_option("--kv-dtype", options.kv_dtype, "as in octavo plan (default: bf16)")
      ->check(one_of({"bf16", "f16", "f32", "fp8", "fp8_e5m2", "int8", "int4"}));
  command.add_option("--block-size", options.plan.block_size, "tokens a block (default: 16)")
      ->check(integer_range(1, kMaxBlockSize));
  command.add_option("--blocks", options.blocks, "of one replica (default: as octavo plan says)")
      ->check(count);
  command
      .add_option("--kv-budget-gib", options.plan.kv_budget_gib, "what one GPU has for the cache")
      ->check(number_range(0, 100000));
  command
      .add_option("--gpu-memory-utilization", options.plan.utilization,
                  "the share that may be used (default: 0.9)")
      ->check(number_range(0, 1, true));
  command.add_option("--max-len", options.plan.max_len, "of prompt and output; longer is rejected")
      ->check(count);
  command.add_option("--max-num-seqs", options.plan.max_num_seqs, "requests in a batch")
      ->check(integer_range(1, 65536));
  command
      .add_option("--max-num-batched-tokens", options.plan.max_num_batched_tokens,
                  "tokens in a step")
      ->check(integer_range(1, 1 << 24));
  command.add_option("--cost", options.cost, "steps' times: a CSV of steps, or JSON (octavo fit)");
}

void add_serving_options(CLI::App& command, SimulateOptions& options) {
  sim::ServingConfig& serving = options.serving;
  command.add_option("--replicas", serving.replicas, "engines side by side (default: 1)")
      ->check(integer_range(1, 1024));
  command.add_option("--router", options.router, "round-robin, least-loaded, longest-prefix, ...")
      ->check(one_of({"round-robin", "least-loaded", "longest-prefix", "power-of-two"}));
  command.add_option("--order", options.order, "fcfs or priority (default: fcfs)")
      ->check(one_of({"fcfs", "priority"}));
  command.add_option("--policy", options.policy, "who leaves a full pool (default: lru)");
  command.add_flag("--full-blocks-only", serving.full_blocks_only, "share whole blocks only");
  command.add_option("--spec-tokens", serving.draft_tokens, "drafts a step (default: 0)")
      ->check(integer_range(0, 64));
  command.add_option("--spec-acceptance", options.spec_acceptance, "of a draft (default: 0.7)")
      ->check(number_range(0, 1))
      ->type_name("P");
  command.add_option("--cancel", options.cancel, "P[,S]: P of the clients give up, S s on average")
      ->delimiter(',')
      ->expected(1, 2)
      ->type_name("P,S");
  command.add_option("--timeout-s", options.timeout_s, "every client gives up after so long")
      ->check(number_range(0, kSecondsMax));
}

void add_run_options(CLI::App& command, SimulateOptions& options) {
  command.add_option("--rate", options.rate, "arrivals a second, Poisson, for the recorded ones")
      ->check(number_range(0, 1e6, true));
  command.add_option("--speedup", options.speedup, "recorded arrivals so much faster (default: 1)")
      ->check(number_range(0.000001, 1e6));
  command.add_option("--think-s", options.think_s, "a session's turns wait for the one before")
      ->check(number_range(0, kSecondsMax));
  command.add_option("--warm-requests", options.serving.warm_requests, "only fill the caches")
      ->check(integer_range(0, kInt64Max));
  command.add_option("--limit", options.serving.limit, "the first so many requests only")
      ->check(integer_range(1, kInt64Max));
  command.add_option("--slo-ttft-ms", options.slo_ttft_ms, "a good request's first token")
      ->check(number_range(0, 1e9));
  command.add_option("--slo-tpot-ms", options.slo_tpot_ms, "a good request's other tokens, each")
      ->check(number_range(0, 1e9));
  command.add_option("--seed", options.seed, "of all that is random (default: 1)")
      ->check(integer_range(0, kInt64Max));
  command.add_option("--csv", options.csv, "a row a request");
  command.add_option("--series-csv", options.series_csv, "load over time");
  command.add_option("--timeline", options.timeline, "for ui.perfetto.dev");
}

}  // namespace

void register_simulate(CLI::App& app, Context& context) {
  auto options = std::make_shared<SimulateOptions>();
  CLI::App* command =
      app.add_subcommand("simulate", "latencies, throughput and hits of a trace on an engine");
  add_subject_options(*command, *options);
  add_serving_options(*command, *options);
  add_run_options(*command, *options);
  show_first(*command, {"--trace", "--model", "--gpu", "--tp", "--kv-dtype", "--blocks",
                        "--replicas", "--router", "--policy", "--cost", "--rate", "--speedup",
                        "--slo-ttft-ms", "--slo-tpot-ms", "--seed", "--csv", "--timeline"});
  command->footer(
      "Example:\n  octavo simulate --trace traces/chat.jsonl --model config.json --gpu \"H100 "
      "SXM\"");
  command->callback([options, &context] {
    context.run = [options, &context] { return run_simulate(*options, context); };
  });
}

}  // namespace octavo::tools
