// `octavo check`: a real KVCache under a recorded workload, with faults, against what every token's
// history says.

#include <chrono>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "command.h"
#if defined(OCTAVO_HAS_CUDA)
#include "octavo/cuda/cuda_device.h"
#endif
#include "octavo/cuda/emulated_device.h"
#include "octavo/ref_cpu/cpu_device.h"
#include "octavo/sim/check/check_campaign.h"
#include "octavo/sim/input_error.h"
#include "progress.h"
#include "table.h"
#include "validate.h"
#include <nlohmann/json.hpp>

namespace octavo::tools {
namespace {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

struct CheckArguments {
  std::vector<std::string> traces;
  std::string format = "auto";
  std::int64_t trace_block = 0;
  std::string devices = "ref";
  std::string faults = "all";
  std::string rows;
  std::string seed = "1";
  std::string ops;
  std::string ops_out = "octavo-check-ops.jsonl";
  bool campaign = false;
  std::int64_t minutes = 0;
  std::int64_t runs = 0;
  sim::CheckOptions check;
};

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    words.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

// A decimal number, or a commit: the first 64 bits of its 40 hexadecimal digits.
std::uint64_t parse_seed(const std::string& text) {
  const bool is_commit =
      text.size() == 40 && text.find_first_not_of("0123456789abcdef") == std::string::npos;
  if (is_commit) {
    return std::stoull(text.substr(0, 16), nullptr, 16);
  }
  return static_cast<std::uint64_t>(parse_integer("--seed", text, 0, kInt64Max));
}

std::shared_ptr<Device> make_gpu() {
#if defined(OCTAVO_HAS_CUDA)
  if (cuda_device_count() == 0) {
    throw UsageError("--device: cuda: no GPU that this process may use");
  }
  return make_cuda_device();
#else
  throw UsageError("--device: cuda is not built here; this build has ref and emulated");
#endif
}

std::vector<sim::CheckDevice> parse_devices(const std::string& text, std::uint64_t seed) {
  std::vector<sim::CheckDevice> devices;
  for (const std::string& name : words_of(text)) {
    if (name == "ref") {
      devices.push_back({.name = name, .make = [] { return make_cpu_device(1); }});
    } else if (name == "emulated") {
      // Thread blocks and their threads in an order of the seed's.
      devices.push_back(
          {.name = name, .make = [seed] { return make_emulated_device({.seed = seed}); }});
    } else if (name == "cuda") {
      make_gpu();  // Refused now rather than in the middle of a run.
      devices.push_back({.name = name, .make = make_gpu});
    } else {
      throw UsageError("--device: '" + name + "' is none; expected ref, emulated or cuda");
    }
  }
  return devices;
}

Json to_json(const sim::CheckFigures& figures) {
  Json faults = Json::object();
  for (int i = 0; i < sim::kCheckFaults; ++i) {
    faults[std::string(to_string(static_cast<sim::CheckFault>(i)))] =
        figures.by_fault[static_cast<std::size_t>(i)];
  }
  Json verbs = Json::object();
  for (int i = 0; i < sim::kCheckVerbs; ++i) {
    verbs[std::string(to_string(static_cast<sim::CheckVerb>(i)))] =
        figures.by_verb[static_cast<std::size_t>(i)];
  }
  return {{"operations", figures.operations},
          {"faults", figures.faults},
          {"compared_words", figures.compared_words},
          {"differing_words", figures.differing_words},
          {"skipped", figures.skipped},
          {"distinct_states", figures.distinct_states},
          {"checked_outputs", figures.checked_outputs},
          {"prompt_tokens", figures.prompt_tokens},
          {"served_tokens", figures.served_tokens},
          {"appended_tokens", figures.appended_tokens},
          {"exhausted", figures.exhausted},
          {"copied_blocks", figures.copied_blocks},
          {"quarantined_blocks", figures.quarantined_blocks},
          {"faults_by_kind", faults},
          {"operations_by_verb", verbs}};
}

void print_figures(const sim::CheckFigures& figures, std::ostream& out) {
  using Align = Table::Align;
  Table table({{"", Align::Left}, {"", Align::Right}, {"", Align::Left}});
  std::string kinds;
  for (int i = 0; i < sim::kCheckFaults; ++i) {
    const std::int64_t count = figures.by_fault[static_cast<std::size_t>(i)];
    if (count > 0) {
      kinds += (kinds.empty() ? "" : ", ") +
               std::string(to_string(static_cast<sim::CheckFault>(i))) + " " + grouped(count);
    }
  }
  table.add_row({"operations", grouped(figures.operations)});
  table.add_row({"distinct states", grouped(figures.distinct_states)});
  table.add_row({"faults survived", grouped(figures.faults), kinds});
  table.add_row({"tokens appended", grouped(figures.appended_tokens)});
  table.add_row({"prompt tokens", grouped(figures.prompt_tokens),
                 grouped(figures.served_tokens) + " from the cache"});
  table.add_row({"words compared", grouped(figures.compared_words),
                 grouped(figures.differing_words) + " differ"});
  table.add_row({"outputs in binary64", grouped(figures.checked_outputs)});
  out << table;
}

// A violation: shrunk, written to a file, told.
void report_violation(const CheckArguments& options,
                      const sim::CheckResult& found,
                      const Context& context,
                      Json& json) {
  context.err << "check: " << found.violation->kind << ": " << found.violation->what
              << "; shrinking " << found.log.ops.size() << " operations\n";
  const sim::CheckResult small = sim::shrink_check(found, options.check);
  std::ofstream out(options.ops_out);
  write_check_log(small.log, out);
  if (!out.flush()) {
    context.err << "check: cannot write " << options.ops_out << '\n';
  } else {
    context.err << "check: " << small.log.ops.size() << " operations that do it are in "
                << options.ops_out << "; octavo check --ops " << options.ops_out
                << " repeats them\n";
  }
  json["violations"] = 1;
  json["violation"] = {{"kind", small.violation->kind},
                       {"what", small.violation->what},
                       {"operations", small.log.ops.size()},
                       {"log", options.ops_out}};
  if (!context.json) {
    context.out << "violation of " << small.violation->kind << ": " << small.violation->what
                << '\n';
  }
}

Json begin_json(const CheckArguments& options) {
  Json devices = Json::array();
  for (const sim::CheckDevice& device : options.check.devices) {
    devices.push_back(device.name);
  }
  return {{"schema_version", 1}, {"devices", devices}, {"seed", options.check.seed}};
}

void join(Json& json, const Json& more) {
  for (const auto& [key, value] : more.items()) {
    json[key] = value;
  }
}

int finish(const Json& json, bool is_violated, const Context& context) {
  if (context.json) {
    context.out << json.dump() << '\n';
  }
  return is_violated ? kExitCheckFailed : kExitOk;
}

// One run over one trace.
int check_trace(CheckArguments& options, const Context& context) {
  if (options.traces.size() != 1) {
    throw UsageError("check: exactly one --trace, or --ops, or --campaign");
  }
  const auto trace = sim::open_trace(
      options.traces.front(), {sim::parse_trace_format(options.format), options.trace_block});
  sim::CheckResult result;
  {
    Progress progress(context, "check", "requests");
    options.check.progress = [&](std::int64_t done, std::int64_t total) {
      progress.update(done, total);
    };
    result = sim::run_check(*trace, options.check);
  }
  Json json = begin_json(options);
  join(json, to_json(result.figures));
  json["violations"] = 0;
  json["requests"] = result.requests;
  json["dropped"] = result.dropped;
  json["drawn"] = result.drawn;
  json["digest"] = result.digest;
  json["unseed"] = result.unseed;
  if (!context.quiet) {
    context.err << "check: " << result.drawn << '\n';
  }
  if (!context.json) {
    context.out << trace->name() << ": " << grouped(result.requests) << " requests served, "
                << grouped(result.dropped) << " given up\n";
    print_figures(result.figures, context.out);
  }
  if (result.violation) {
    report_violation(options, result, context, json);
  }
  return finish(json, result.violation.has_value(), context);
}

// A log again. It is not shrunk: it is what somebody wants to see.
int check_ops(const CheckArguments& options, const Context& context) {
  std::ifstream file(options.ops);
  if (!file) {
    throw sim::InputError(options.ops, 0, "", "cannot be opened, expected an operation log");
  }
  const sim::CheckLog log = sim::read_check_log(file, options.ops);
  const sim::CheckResult result = sim::replay_check_log(log, options.check);
  Json json = begin_json(options);
  json.erase("seed");
  join(json, to_json(result.figures));
  json["violations"] = result.violation ? 1 : 0;
  json["digest"] = result.digest;
  if (result.violation) {
    json["violation"] = {{"kind", result.violation->kind},
                         {"what", result.violation->what},
                         {"operation", result.violation->op}};
  }
  if (!context.json) {
    context.out << options.ops << ": " << grouped(std::ssize(log.ops)) << " operations\n";
    print_figures(result.figures, context.out);
    if (result.violation) {
      context.out << "violation of " << result.violation->kind << " by operation "
                  << result.violation->op << ": " << result.violation->what << '\n';
    }
  }
  return finish(json, result.violation.has_value(), context);
}

int check_campaign(CheckArguments& options, const Context& context) {
  if (options.minutes <= 0 && options.runs <= 0) {
    throw UsageError("check: --campaign needs --minutes or --runs");
  }
  sim::CampaignOptions campaign{.check = options.check, .runs = options.runs};
  if (!options.traces.empty()) {
    campaign.trace = [&](std::uint64_t seed) {
      return sim::open_trace(options.traces[seed % options.traces.size()],
                             {sim::parse_trace_format(options.format), options.trace_block});
    };
  }
  const Clock::time_point end = Clock::now() + std::chrono::minutes(options.minutes);
  Clock::time_point next_line = Clock::now() + std::chrono::seconds(10);
  campaign.go_on = [&](const sim::CheckFigures& figures, std::int64_t runs) {
    const Clock::time_point now = Clock::now();
    if (!context.quiet && now >= next_line) {
      context.err << "check: " << grouped(runs) << " runs, " << grouped(figures.operations)
                  << " operations, " << grouped(figures.distinct_states) << " states, "
                  << grouped(figures.faults) << " faults survived\n";
      next_line = now + std::chrono::seconds(10);
    }
    return options.minutes <= 0 || now < end;
  };
  const sim::CampaignResult result = sim::run_check_campaign(campaign);
  Json json = begin_json(options);
  join(json, to_json(result.figures));
  json["violations"] = 0;
  json["runs"] = result.runs;
  json["requests"] = result.requests;
  json["states_saturated"] = result.states_saturated;
  if (!context.json) {
    context.out << "campaign: " << grouped(result.runs) << " runs with seeds from "
                << options.check.seed << ", " << grouped(result.requests) << " requests served"
                << (result.states_saturated ? "; states are counted up to a limit" : "") << '\n';
    print_figures(result.figures, context.out);
  }
  if (result.failed) {
    json["failed_seed"] = result.failed_seed;
    context.err << "check: " << result.failed->drawn << '\n';
    report_violation(options, *result.failed, context, json);
  }
  return finish(json, result.failed.has_value(), context);
}

int run(CheckArguments& options, const Context& context) {
  options.check.faults = sim::parse_check_faults(options.faults);
  options.check.seed = parse_seed(options.seed);
  options.check.devices = parse_devices(options.devices, options.check.seed);
  for (const std::string& row :
       options.rows.empty() ? std::vector<std::string>{} : words_of(options.rows)) {
    options.check.rows.push_back(sim::parse_check_row(row));
  }
  if (!options.ops.empty()) {
    if (!options.traces.empty() || options.campaign) {
      throw UsageError("check: --ops excludes --trace and --campaign");
    }
    return check_ops(options, context);
  }
  return options.campaign ? check_campaign(options, context) : check_trace(options, context);
}

void add_shape(CLI::App& command, CheckArguments& options) {
  sim::CheckOptions& check = options.check;
  command
      .add_option("--rows", options.rows, "Layers, e.g. int8,window:e4m3/int4,state; else drawn")
      ->type_name("ROW[,ROW]");
  command.add_option("--layers", check.layers, "Layers of the cache")
      ->check(integer_range(1, 64))
      ->capture_default_str()
      ->type_name("N");
  command.add_option("--kv-heads", check.kv_heads, "KV heads")
      ->check(integer_range(1, 64))
      ->capture_default_str()
      ->type_name("N");
  command.add_option("--head-dim", check.head_dim, "Head dimension, a multiple of 8")
      ->check(integer_range(8, 1024))
      ->capture_default_str()
      ->type_name("N");
  command.add_option("--max-prompt", check.max_prompt, "Longest prompt after scaling, in tokens")
      ->check(integer_range(1, 4096))
      ->capture_default_str()
      ->type_name("N");
  command.add_option("--blocks", check.blocks, "Blocks of the pool; else drawn")
      ->check(integer_range(1, 1 << 20))
      ->type_name("N");
  command.add_option("--limit", check.limit, "Only the first N requests")
      ->check(integer_range(1, kInt64Max / 2))
      ->type_name("N");
}

}  // namespace

void register_check(CLI::App& app, Context& context) {
  auto options = std::make_shared<CheckArguments>();
  CLI::App* command =
      app.add_subcommand("check", "a real cache under a trace, with faults, to the bit");
  command->footer("Example:\n  octavo check --trace traces/chat.jsonl --faults all --seed 7");
  command->add_option("--trace", options->traces, "Trace file; several in a campaign")
      ->type_name("FILE");
  command->add_option("--format", options->format, "auto or a trace format's name")
      ->type_name("NAME");
  command->add_option("--trace-block", options->trace_block, "Prompt tokens an id stands for")
      ->check(integer_range(1, kInt32Max))
      ->type_name("TOKENS");
  command->add_option("--device", options->devices, "ref, emulated, cuda; several run in lock step")
      ->capture_default_str()
      ->type_name("NAME[,NAME]");
  command->add_option("--faults", options->faults, "all, none, or KIND[=WEIGHT],...")
      ->capture_default_str()
      ->type_name("SPEC");
  command->add_option("--seed", options->seed, "A number, or a commit of 40 hex digits")
      ->capture_default_str()
      ->type_name("SEED");
  add_shape(*command, *options);
  command->add_option("--ops", options->ops, "Replay an operation log")->type_name("FILE");
  command->add_option("--ops-out", options->ops_out, "Where a failure's shrunk log goes")
      ->capture_default_str()
      ->type_name("FILE");
  command->add_flag("--campaign", options->campaign, "Run after run, seeds counted from --seed");
  command->add_option("--minutes", options->minutes, "Length of a campaign")
      ->check(integer_range(1, 100'000))
      ->type_name("N");
  command->add_option("--runs", options->runs, "Runs of a campaign")
      ->check(integer_range(1, kInt64Max))
      ->type_name("N");
  command->callback([options, &context] {
    context.run = [options, &context] { return run(*options, context); };
  });
}

}  // namespace octavo::tools
