// `octavo plan`: does a model fit on a GPU, and how many tokens and requests does its cache hold.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "command.h"
#include "help_format.h"
#include "model_list.h"
#include "octavo/sim/boot_log.h"
#include "octavo/sim/model_source.h"
#include "octavo/sim/plan_questions.h"
#include "plan_text.h"
#include "table.h"
#include "validate.h"

namespace octavo::tools {
namespace {

constexpr double kGibMax = 100000;

struct PlanOptions {
  std::string model;
  std::string gpu;
  std::optional<double> gpu_memory_gib;
  std::string kv_dtype = "bf16";
  std::string engine;
  std::string state_prefix = "none";
  std::string state_dtype;
  std::optional<std::int64_t> gpus;
  std::optional<std::int64_t> tp;
  std::optional<std::int64_t> ep;
  std::optional<double> tb_per_s;
  std::optional<double> tflops;
  std::optional<double> want_concurrency;
  std::vector<std::string> require;
  std::string boot_log;
  bool csv = false;
  sim::PlanRequest request;
  WorkloadOptions workload;
  bool explain = false;
};

sim::Gpu named_gpu(const PlanOptions& options) {
  if (options.gpu.empty()) {
    if (options.gpu_memory_gib) {
      return sim::custom_gpu(*options.gpu_memory_gib);
    }
    if (!options.request.kv_budget_gib) {
      throw UsageError("one of --gpu, --gpu-memory-gib and --kv-budget-gib is required");
    }
    sim::Gpu gpu;
    gpu.name = "a GPU that was not named";
    return gpu;
  }
  sim::Gpu gpu = sim::find_gpu(options.gpu);
  if (options.gpu_memory_gib) {
    gpu.total_gib = *options.gpu_memory_gib;
    gpu.total_source = sim::FigureSource::Given;
  }
  return gpu;
}

sim::Gpu make_gpu(const PlanOptions& options) {
  sim::Gpu gpu = named_gpu(options);
  if (options.tb_per_s) {
    gpu.bandwidth_tb_per_s = *options.tb_per_s;
  }
  if (options.tflops) {
    gpu.bf16_tflops = *options.tflops;
    gpu.fp8_tflops.reset();
  }
  return gpu;
}

/// The number of ranks of each kind, from --gpus and what was said of them.
void divide_gpus(const PlanOptions& options, sim::PlanRequest& request) {
  request.tp = options.tp.value_or(1);
  if (!options.gpus) {
    return;
  }
  const std::int64_t gpus = *options.gpus;
  const std::int64_t said = request.tp * request.pp * request.dp;
  if (gpus % said != 0) {
    throw UsageError("--gpus " + std::to_string(gpus) +
                     ": not a multiple of tp x pp x dp = " + std::to_string(said));
  }
  sim::Division division{request.tp, gpus / said};
  if (!options.tp) {
    division = sim::divide_gpus(request.model, gpus / said);
  }
  request.tp = division.tp;
  request.dp *= division.dp;
}

/// Experts are divided over tp x dp ranks either way, whole or in slices.
void check_experts(const PlanOptions& options, const sim::PlanRequest& request) {
  const std::int64_t ranks = request.tp * request.dp;
  if (options.ep && *options.ep != 1 && *options.ep != ranks) {
    throw UsageError("--ep " + std::to_string(*options.ep) +
                     ": expected 1 or tp x dp = " + std::to_string(ranks));
  }
}

sim::PlanRequest with_boot_log(const std::string& path,
                               const sim::PlanRequest& request,
                               PlanExtras& extras) {
  const sim::BootLog log = sim::read_boot_log(path);
  sim::Calibrated calibrated = sim::calibrate(request, log);
  extras.log_found = log.found;
  extras.log_inferred = std::move(calibrated.inferred);
  extras.log_compared = sim::compare_with_log(calibrated.request, log);
  return calibrated.request;
}

/// Says on stderr what is not so; the exit code.
int plan_status(const sim::CapacityPlan& plan, const PlanExtras& extras, Context& context) {
  context.out.flush();
  if (!plan.fits) {
    context.err << "octavo plan: " << sim::does_not_fit_text(plan) << '\n';
    return kExitDoesNotFit;
  }
  int status = kExitOk;
  for (const sim::Verdict& verdict : extras.verdicts) {
    if (!verdict.met) {
      context.err << "octavo plan: required " << verdict.requirement.text() << ", but "
                  << verdict.requirement.figure << " is " << fixed(verdict.value, 3) << '\n';
      status = kExitCheckFailed;
    }
  }
  return status;
}

int run_plan(const PlanOptions& options, Context& context) {
  if (options.model == kModelList) {
    print_model_list(context);
    return kExitOk;
  }
  std::vector<sim::Requirement> requirements;
  for (const std::string& text : options.require) {
    requirements.push_back(sim::parse_requirement(text));
  }
  sim::PlanRequest request = options.request;
  request.gpu = make_gpu(options);
  request.format = sim::parse_kv_format(options.kv_dtype);
  request.model = sim::load_model(options.model);
  request.state_prefix = sim::parse_state_prefix(options.state_prefix);
  if (!options.engine.empty()) {
    request.engine = sim::parse_engine(options.engine);
  }
  if (!options.state_dtype.empty()) {
    request.state_dtype = options.state_dtype == "f32"   ? DType::F32
                          : options.state_dtype == "f16" ? DType::F16
                                                         : DType::BF16;
  }
  divide_gpus(options, request);
  check_experts(options, request);
  PlanExtras extras;
  if (!options.boot_log.empty()) {
    request = with_boot_log(options.boot_log, request, extras);
  }
  sim::CapacityPlan plan = sim::plan_capacity(request);
  extras.workload = answer_workload(options.workload, plan, context);
  plan.hits = extras.workload.hits;
  extras.equations = options.explain;
  extras.colour = context.colour;
  extras.sensitivities = sim::sensitivities(plan);
  if (options.want_concurrency) {
    extras.ways = sim::ways_to_reach(request, *options.want_concurrency);
  }
  for (const sim::Requirement& requirement : requirements) {
    extras.verdicts.push_back(sim::judge_requirement(plan, requirement));
  }
  if (context.json) {
    context.out << plan_json(plan, extras) << '\n';
  } else if (options.csv) {
    context.out << sim::to_csv(plan);
  } else {
    print_plan(plan, extras, context.out);
  }
  return plan_status(plan, extras, context);
}

void add_subject_options(CLI::App& command, PlanOptions& options) {
  command.add_option("--model", options.model, kModelHelp)->required();
  command.add_option("--gpu", options.gpu, "a GPU of the catalogue, e.g. \"H100 SXM\"");
  command
      .add_option("--gpu-memory-gib", options.gpu_memory_gib,
                  "the memory that the framework sees, in place of the catalogue's")
      ->check(number_range(0, 65536, true));
  command
      .add_option("--gpu-tb-per-s", options.tb_per_s,
                  "its memory bandwidth, in place of the catalogue's")
      ->check(number_range(0, 1000, true));
  command.add_option("--gpu-tflops", options.tflops, "its bf16 peak, in place of the catalogue's")
      ->check(number_range(0, 1e6, true));
  command
      .add_option("--gpus", options.gpus,
                  "GPUs in all; divided into tp, and dp where the heads do not divide further")
      ->check(integer_range(1, 65536));
  command.add_option("--tp", options.tp, "GPUs that share the heads (default: 1)")
      ->check(integer_range(1, 16384));
  command.add_option("--pp", options.request.pp, "stages that share the layers (default: 1)")
      ->check(integer_range(1, 4096));
  command.add_option("--dp", options.request.dp, "replicas with a cache each (default: 1)")
      ->check(integer_range(1, 65536));
  command
      .add_option("--ep", options.ep,
                  "ranks that share the experts, 1 or tp x dp: the bytes are the same")
      ->check(integer_range(1, 65536));
  command
      .add_option("--dcp", options.request.dcp, "vLLM: ranks that divide a sequence (default: 1)")
      ->check(integer_range(1, 16384));
  command
      .add_option("--engine", options.engine,
                  "octavo, vllm-old, vllm, sglang or tensorrt-llm (default: octavo where it can)")
      ->check(one_of({"octavo", "vllm-old", "vllm", "sglang", "tensorrt-llm"}));
  command
      .add_option("--state-prefix", options.state_prefix,
                  "vLLM: states kept for prefixes: none, align or all (default: none)")
      ->check(one_of({"none", "align", "all"}));
  command
      .add_option("--state-dtype", options.state_dtype,
                  "of recurrent states: f32, f16 or bf16 (default: the model's)")
      ->check(one_of({"f32", "f16", "bf16"}));
  command
      .add_option("--kv-dtype", options.kv_dtype,
                  "bf16, f16, f32, fp8, fp8_e5m2, int8, int4, nvfp4, fp8_ds_mla (default: bf16)")
      ->check(
          one_of({"bf16", "f16", "f32", "fp8", "fp8_e5m2", "int8", "int4", "nvfp4", "fp8_ds_mla"}));
  command
      .add_option("--block-size", options.request.block_size,
                  "tokens a block, a power of two (default: 16)")
      ->check(integer_range(1, kMaxBlockSize));
  command
      .add_option("--max-len", options.request.max_len,
                  "tokens of the longest request (default: what the model allows)")
      ->check(integer_range(1, kInt32Max));
  command
      .add_option("--max-num-seqs", options.request.max_num_seqs,
                  "requests in a batch (default: 1024 from 70 GiB on, A100 aside; else 256)")
      ->check(integer_range(1, kMaxSeqs));
  command
      .add_option("--max-num-batched-tokens", options.request.max_num_batched_tokens,
                  "tokens in a step (default: 8192 from 70 GiB on, A100 aside; else 2048)")
      ->check(integer_range(1, kInt32Max));
}

void add_memory_options(CLI::App& command, PlanOptions& options) {
  sim::PlanRequest& request = options.request;
  command
      .add_option("--gpu-memory-utilization", request.utilization,
                  "the share of the memory that may be used (default: 0.9)")
      ->check(number_range(0, 1, true));
  command
      .add_option("--weights-gib", request.weights_gib,
                  "of the whole model (default: counted from the config)")
      ->check(number_range(0, kGibMax));
  command
      .add_option("--activation-gib", request.activation_gib,
                  "the peak on one GPU (default: estimated)")
      ->check(number_range(0, kGibMax));
  command
      .add_option("--non-torch-gib", request.non_torch_gib,
                  "what one GPU holds outside torch (default: estimated)")
      ->check(number_range(0, kGibMax));
  command
      .add_option(
          "--graph-gib", request.graph_gib,
          "what is set aside for CUDA graphs on one GPU (default: vllm's estimated, else 0)")
      ->check(number_range(0, kGibMax));
  command
      .add_option("--kv-budget-gib", request.kv_budget_gib,
                  "what one GPU has for the KV cache; skips all of the above")
      ->check(number_range(0, kGibMax));
  add_workload_options(command, options.workload);
  command.add_option("--boot-log", options.boot_log,
                     "a start-up log of vLLM, SGLang or TensorRT-LLM: its terms replace estimates");
  command
      .add_option("--want-concurrency", options.want_concurrency,
                  "also what alone would run so many requests of --max-len at once")
      ->check(number_range(1, kMaxSeqs));
  command.add_option("--require", options.require,
                     "e.g. 'concurrency>=32': exit code 1 unless it holds; may be repeated");
  command.add_flag("--csv", options.csv, "the main figures as two lines of CSV");
  command.add_flag("--explain", options.explain, "every equation with its numbers");
}

}  // namespace

void register_plan(CLI::App& app, Context& context) {
  auto options = std::make_shared<PlanOptions>();
  CLI::App* command =
      app.add_subcommand("plan", "does a model fit on a GPU, and how much cache with it");
  add_subject_options(*command, *options);
  add_memory_options(*command, *options);
  show_first(*command, {"--model", "--gpu", "--gpus", "--tp", "--engine", "--kv-dtype", "--max-len",
                        "--gpu-memory-utilization", "--trace", "--slo-ttft-ms", "--slo-tpot-ms",
                        "--boot-log", "--require", "--explain"});
  command->footer(
      "Example:\n  octavo plan --model config.json --gpu \"H100 SXM\" --tp 4 --trace trace.jsonl");
  command->callback([options, &context] {
    context.run = [options, &context] { return run_plan(*options, context); };
  });
}

}  // namespace octavo::tools
