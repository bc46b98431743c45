// `octavo plan`: does a model fit on a GPU, and how many tokens and requests does its cache hold.
#include <filesystem>
#include <memory>
#include <optional>
#include <sstream>
#include <string>

#include "command.h"
#include "octavo/sim/capacity.h"
#include "octavo/sim/replay.h"
#include "octavo/sim/trace.h"
#include "progress.h"
#include "table.h"
#include "validate.h"

namespace octavo::tools {
namespace {

using Align = Table::Align;

constexpr double kGib = 1073741824.0;
constexpr double kGibMax = 100000;
constexpr std::size_t kTextWidth = 96;

struct PlanOptions {
  std::string model;
  std::string gpu;
  std::optional<double> gpu_memory_gib;
  std::string kv_dtype = "bf16";
  sim::PlanRequest request;
  std::string trace;
  bool explain = false;
};

/// "  - " and the text, broken at blanks, the following lines indented as far.
void print_wrapped(const std::string& text, std::ostream& out) {
  std::istringstream words(text);
  std::string word;
  std::string line = "  -";
  while (words >> word) {
    if (line.size() + 1 + word.size() > kTextWidth) {
      out << line << '\n';
      line = "   ";
    }
    line += ' ';
    line += word;
  }
  out << line << '\n';
}

std::string gib_text(std::int64_t bytes) {
  return fixed(static_cast<double>(bytes) / kGib, 2);
}

std::string range_text(const sim::Estimate& estimate) {
  if (estimate.low == estimate.high) {
    return "";
  }
  return fixed(estimate.low, 2) + " to " + fixed(estimate.high, 2) + ", estimated";
}

std::string gpus_text(const sim::PlanRequest& request) {
  return request.tp == 1 ? request.gpu.name : grouped(request.tp) + " x " + request.gpu.name;
}

void print_budget(const sim::CapacityPlan& plan, std::ostream& out) {
  const sim::MemoryBudget& budget = *plan.budget;
  Table table({{"memory of each GPU", Align::Left}, {"GiB"}, {"", Align::Left}});
  const bool marked = plan.request.gpu.total_source == sim::FigureSource::Datasheet;
  table.add_row({"total", (marked ? "~" : "") + fixed(budget.total_gib, 2)});
  table.add_row({"usable, " + fixed(budget.utilization * 100, 1) + " % of it",
                 fixed(budget.total_gib * budget.utilization, 2)});
  table.add_row({"- weights", fixed(budget.weights.expected, 2), range_text(budget.weights)});
  table.add_row(
      {"- activation peak", fixed(budget.activation.expected, 2), range_text(budget.activation)});
  table.add_row(
      {"- outside torch", fixed(budget.non_torch.expected, 2), range_text(budget.non_torch)});
  if (budget.graph_gib > 0) {
    table.add_row({"- graphs", fixed(budget.graph_gib, 2)});
  }
  table.add_row({"= KV cache", gib_text(plan.expected.budget_bytes)});
  out << table << '\n';
}

void print_capacity(const sim::CapacityPlan& plan, std::ostream& out) {
  const sim::PlanRequest& request = plan.request;
  const bool ranged = plan.low.budget_bytes != plan.high.budget_bytes;
  Table table({{"KV cache of each GPU", Align::Left},
               {"expected"},
               {ranged ? "at least" : ""},
               {ranged ? "at most" : ""}});
  const auto add = [&](const std::string& name, const auto& text_of) {
    if (ranged) {
      table.add_row({name, text_of(plan.expected), text_of(plan.low), text_of(plan.high)});
    } else {
      table.add_row({name, text_of(plan.expected)});
    }
  };
  add("GiB", [](const sim::PoolCapacity& pool) { return gib_text(pool.budget_bytes); });
  add("blocks of " + grouped(request.block_size) + " tokens",
      [](const sim::PoolCapacity& pool) { return grouped(pool.blocks); });
  add("tokens", [](const sim::PoolCapacity& pool) { return grouped(pool.tokens); });
  add("requests of " + grouped(request.max_len) + " tokens at once",
      [](const sim::PoolCapacity& pool) { return fixed(pool.concurrency, 2); });
  out << table << '\n';
}

void print_classes(const sim::CapacityPlan& plan, std::ostream& out) {
  Table table({{"KV rows of each GPU", Align::Left},
               {"layers"},
               {"KV heads"},
               {"head dim"},
               {"bytes per token"}});
  for (const sim::KvClass& rows : plan.classes) {
    table.add_row({rows.layer.window > 0 ? "window of " + grouped(rows.layer.window) + " tokens"
                                         : "full attention",
                   grouped(rows.layers), grouped(rows.layer.kv_heads), grouped(rows.layer.head_dim),
                   grouped(rows.bytes_per_token)});
  }
  if (plan.classes.size() > 1) {
    table.add_row({"all", "", "", "", grouped(plan.bytes_per_token)});
  }
  out << table << '\n';
}

std::string limit_text(const sim::CapacityPlan& plan) {
  switch (plan.limited_by) {
    case sim::LimitedBy::TokenPool:
      return "the tokens of the pool";
    case sim::LimitedBy::SequenceSlots:
      return "max-num-seqs, " + grouped(plan.request.max_num_seqs) + " requests";
    case sim::LimitedBy::OneRequest:
      return "max-len: the pool is smaller than one such request";
    case sim::LimitedBy::Budget:
      break;
  }
  return "memory: nothing is left for the KV cache";
}

void print_request(const sim::CapacityPlan& plan, std::ostream& out) {
  out << "A request of " << grouped(plan.request.max_len) << " tokens holds "
      << grouped(plan.blocks_per_request) << " blocks, "
      << gib_text(plan.blocks_per_request * plan.bytes_per_block)
      << " GiB on each GPU.\nLimited by " << limit_text(plan) << ".\n";
}

void print_hits(const sim::PoolHits& hits, std::ostream& out) {
  const std::string file = std::filesystem::path(hits.trace).filename().string();
  out << "Prefix cache: " << fixed(hits.hit_rate() * 100, 2) << " % of "
      << grouped(hits.prompt_tokens) << " prompt tokens hit\n(" << file << ", "
      << grouped(hits.requests) << " requests, one at a time";
  if (hits.rejected_requests > 0) {
    out << "; " << grouped(hits.rejected_requests) << " more are longer than the pool";
  }
  out << ").\n";
}

void print_equations(const sim::CapacityPlan& plan, std::ostream& out) {
  out << "\nEquations\n";
  for (const sim::Equation& equation : sim::explain(plan)) {
    out << "  " << equation.left;
    if (!equation.formula.empty()) {
      out << " = " << equation.formula;
    }
    out << "\n      " << equation.numbers << '\n';
    if (!equation.source.empty()) {
      out << "      [" << equation.source << "]\n";
    }
  }
}

void print_plan(const sim::CapacityPlan& plan, bool with_equations, std::ostream& out) {
  out << plan.request.model.name << " on " << gpus_text(plan.request) << ", KV cache in "
      << plan.request.format.name << "\n\n";
  if (plan.budget) {
    print_budget(plan, out);
  }
  print_capacity(plan, out);
  print_classes(plan, out);
  print_request(plan, out);
  if (plan.hits) {
    print_hits(*plan.hits, out);
  }
  out << "\nRemarks\n";
  for (const std::string& remark : sim::remarks(plan)) {
    print_wrapped(remark, out);
  }
  if (with_equations) {
    print_equations(plan, out);
  }
}

sim::Gpu make_gpu(const PlanOptions& options) {
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

/// What the planned pool would have served. A pool whose blocks leave behind a window keeps no
/// prefixes, so there is nothing to replay.
sim::PoolHits replay_trace(const std::string& path,
                           const sim::CapacityPlan& plan,
                           Context& context) {
  const auto trace = sim::open_trace(path);
  sim::ReplayOptions options;
  options.block_size = plan.request.block_size;
  options.blocks = {plan.expected.blocks};
  Progress progress(context, "plan", "requests");
  const sim::ReplayResult result =
      sim::replay(*trace, options, [&progress](std::int64_t done) { progress.update(done, 0); });
  const sim::ReplayRun& run = result.runs.front();
  return {trace->name(), run.requests, run.rejected_requests, run.prompt_tokens, run.hit_tokens};
}

int run_plan(const PlanOptions& options, Context& context) {
  sim::PlanRequest request = options.request;
  request.gpu = make_gpu(options);
  request.format = sim::parse_kv_format(options.kv_dtype);
  request.model = sim::read_model_config(options.model);
  sim::CapacityPlan plan = sim::plan_capacity(request);
  if (!options.trace.empty() && request.model.all_windowed()) {
    throw UsageError("--trace: every layer of " + request.model.name +
                     " has a window, and such a pool keeps no prefixes that could be hit");
  }
  if (!options.trace.empty() && plan.expected.blocks > 0) {
    plan.hits = replay_trace(options.trace, plan, context);
  }
  if (context.json) {
    context.out << sim::to_json(plan, options.explain) << '\n';
  } else {
    print_plan(plan, options.explain, context.out);
  }
  if (!plan.fits) {
    context.out.flush();
    context.err << "octavo plan: " << sim::does_not_fit_text(plan) << '\n';
    return kExitDoesNotFit;
  }
  return kExitOk;
}

void add_subject_options(CLI::App& command, PlanOptions& options) {
  command.add_option("--model", options.model, "a Hugging Face config.json")->required();
  command.add_option("--gpu", options.gpu, "a GPU of the catalogue, e.g. \"H100 SXM\"");
  command
      .add_option("--gpu-memory-gib", options.gpu_memory_gib,
                  "the memory that the framework sees, in place of the catalogue's")
      ->check(number_range(0, 65536, true));
  command.add_option("--tp", options.request.tp, "GPUs that share the heads (default: 1)")
      ->check(integer_range(1, 16384));
  command
      .add_option("--kv-dtype", options.kv_dtype,
                  "bf16, f16, f32, fp8, fp8_e5m2, int8 or int4 (default: bf16)")
      ->check(one_of({"bf16", "f16", "f32", "fp8", "fp8_e5m2", "int8", "int4"}));
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
      .add_option("--graph-gib", request.graph_gib,
                  "what is set aside for CUDA graphs on one GPU (default: 0)")
      ->check(number_range(0, kGibMax));
  command
      .add_option("--kv-budget-gib", request.kv_budget_gib,
                  "what one GPU has for the KV cache; skips all of the above")
      ->check(number_range(0, kGibMax));
  command.add_option("--trace", options.trace,
                     "a trace: also the hit rate that such a pool would have had");
  command.add_flag("--explain", options.explain, "every equation with its numbers");
}

}  // namespace

void register_plan(CLI::App& app, Context& context) {
  auto options = std::make_shared<PlanOptions>();
  CLI::App* command = app.add_subcommand(
      "plan", "does a model fit on a GPU, and how many tokens and requests fit with it");
  add_subject_options(*command, *options);
  add_memory_options(*command, *options);
  command->footer(
      "Example:\n  octavo plan --model config.json --gpu \"H100 SXM\" --tp 4 --trace trace.jsonl");
  command->callback([options, &context] {
    context.run = [options, &context] { return run_plan(*options, context); };
  });
}

}  // namespace octavo::tools
