// `octavo trace gen KIND`: make a workload. Each kind is a subcommand with the options it has.

#include <memory>
#include <string>

#include "cmd_trace.h"
#include "decimal.h"
#include "octavo/sim/trace_generate.h"
#include "output_file.h"
#include "validate.h"

namespace octavo::tools {
namespace {

using sim::SessionProfile;
using sim::WorkloadKind;

struct GenOptions {
  sim::WorkloadOptions workload;
  std::string arrivals = "poisson";
  std::int64_t day_s = 86'400;
  std::int64_t pause_ms = 0;  // Think time or tool time.
  std::int64_t token_ms = 20;
  bool open_loop = false;
  std::vector<std::int64_t> shares{70, 20, 10};
  std::string output = "-";
};

int run_gen(const GenOptions& options, Context& context) {
  sim::WorkloadOptions workload = options.workload;
  sim::SessionOptions& sessions = workload.sessions;
  sessions.arrivals.process = sim::parse_arrival_process(options.arrivals);
  sessions.arrivals.day_ns = options.day_s * 1'000'000'000;
  sessions.output_token_ns = options.token_ms * 1'000'000;
  sessions.closed_loop = !options.open_loop;
  if (workload.kind == WorkloadKind::Mix) {
    if (options.shares.size() != sessions.shares.size()) {
      throw UsageError("--shares: has " + std::to_string(options.shares.size()) +
                       " numbers, expected 3: chat, agents, media");
    }
    for (std::size_t i = 0; i < sessions.shares.size(); ++i) {
      sessions.shares[i] = static_cast<std::uint32_t>(options.shares[i]);
    }
    if (options.shares == std::vector<std::int64_t>{0, 0, 0}) {
      throw UsageError("--shares: all are 0");
    }
  } else {
    sessions.profiles[0].think_ns = options.pause_ms * 1'000'000;
  }
  OutputFile file("--output", options.output, context.out);
  sim::write_workload(workload, file.stream());
  file.commit();
  return kExitOk;
}

CLI::Option* add_count(CLI::App& app,
                       const std::string& name,
                       std::int64_t& value,
                       std::int64_t least,
                       std::int64_t most,
                       const std::string& description) {
  return app.add_option(name, value, description)
      ->check(integer_range(least, most))
      ->capture_default_str()
      ->type_name("N");
}

CLI::App* add_kind(CLI::App& gen,
                   Context& context,
                   const std::shared_ptr<GenOptions>& options,
                   const std::string& description) {
  sim::WorkloadOptions& workload = options->workload;
  const std::string name(sim::to_string(workload.kind));
  CLI::App* kind = gen.add_subcommand(name, description);
  kind->footer("Example:\n  octavo trace gen " + name + " --seed 1 --requests 600 -o " + name +
               ".jsonl");
  kind->add_option("--seed", workload.seed, "what the random numbers start from")
      ->check(integer_range(0, kInt64Max))
      ->capture_default_str()
      ->type_name("N");
  add_count(*kind, "--requests", workload.requests, 1, 1'000'000'000, "how many");
  workload.block_size = sim::workload_block_size(workload);
  add_count(*kind, "--block", workload.block_size, 1, 65536, "prompt tokens an id stands for");
  kind->add_option("-o,--output", options->output, "the file to write; - is stdout")
      ->capture_default_str()
      ->type_name("FILE");
  kind->callback([options, &context] {
    context.run = [options, &context] { return run_gen(*options, context); };
  });
  return kind;
}

// When sessions begin, and what is popular.
void add_arrivals(CLI::App& kind, GenOptions& options) {
  sim::ArrivalOptions& arrivals = options.workload.sessions.arrivals;
  add_decimal(kind, "--rate", arrivals.rate_micro, 6, 1, 1'000'000'000'000,
              "sessions a second, mean");
  kind.add_option("--arrivals", options.arrivals, "poisson, gamma or diurnal")
      ->check(one_of({"poisson", "gamma", "diurnal"}))
      ->capture_default_str()
      ->type_name("NAME");
  add_decimal(kind, "--burstiness", arrivals.burstiness_percent, 2, 1, 10'000,
              "gamma: shape of the gaps, cv = 1 / sqrt");
  add_count(kind, "--day-s", options.day_s, 1, 86'400'000, "diurnal: seconds a day");
  add_decimal(kind, "--swing", arrivals.swing_permille, 3, 0, 1000,
              "diurnal: of the rate, around its mean");
}

void add_lengths(CLI::App& kind, SessionProfile& profile, const std::string& input) {
  add_count(kind, "--input-tokens", profile.input_tokens, 1, 1 << 20, input);
  add_count(kind, "--output-tokens", profile.output_tokens, 0, 1 << 20, "of each answer, mean");
  add_decimal(kind, "--range-ratio", profile.range_permille, 3, 0, 1000,
              "both uniform within this part of the mean");
}

void add_systems(CLI::App& kind, GenOptions& options) {
  SessionProfile& profile = options.workload.sessions.profiles[0];
  add_count(kind, "--systems", profile.systems, 0, 10'000, "shared system prompts");
  add_count(kind, "--system-tokens", profile.system_tokens, 1, 1 << 20, "length of each");
  add_decimal(kind, "--zipf", options.workload.sessions.zipf_permille, 3, 0, 10'000,
              "popularity of rank r is r^-X");
}

void add_turns(CLI::App& kind, GenOptions& options, const char* pause, const char* what) {
  sim::SessionOptions& sessions = options.workload.sessions;
  add_decimal(kind, "--turns", sessions.profiles[0].turns_percent, 2, 100, 1'000'000,
              "turns a session, mean of a geometric");
  options.pause_ms = sessions.profiles[0].think_ns / 1'000'000;
  add_count(kind, pause, options.pause_ms, 0, 1'000'000'000, what);
}

void add_pace(CLI::App& kind, GenOptions& options) {
  add_count(kind, "--context-tokens", options.workload.sessions.context_tokens, 1, 1 << 30,
            "a session ends with such a history");
  add_count(kind, "--token-ms", options.token_ms, 0, 1'000'000,
            "time an output token takes, in arrivals");
  kind.add_flag("--open-loop", options.open_loop, "arrival times only, no delay_ns");
}

std::shared_ptr<GenOptions> defaults_of(WorkloadKind kind) {
  auto options = std::make_shared<GenOptions>();
  options->workload.kind = kind;
  options->workload.sessions = sim::session_defaults(kind);
  return options;
}

void register_patterns(CLI::App& gen, Context& context) {
  auto chat = std::make_shared<GenOptions>();
  add_kind(gen, context, chat, "conversations behind shared system prompts; fixed figures");
  auto agent = std::make_shared<GenOptions>();
  agent->workload.kind = WorkloadKind::Agent;
  add_kind(gen, context, agent, "loops with tool calls and sub-agents; fixed figures");
  auto adversarial = std::make_shared<GenOptions>();
  adversarial->workload.kind = WorkloadKind::Adversarial;
  CLI::App* kind = add_kind(gen, context, adversarial, "patterns that hurt LRU and prefix trees");
  add_count(*kind, "--pool-blocks", adversarial->workload.pool_blocks, 8, 65536,
            "the pool that its scans just exceed");
}

void register_sessions(CLI::App& gen, Context& context) {
  auto synthetic = defaults_of(WorkloadKind::Synthetic);
  CLI::App* kind =
      add_kind(gen, context, synthetic, "single prompts of one length, sharing nothing");
  kind->alias("poisson");
  add_arrivals(*kind, *synthetic);
  add_lengths(*kind, synthetic->workload.sessions.profiles[0], "of each prompt, mean");

  auto sessions = defaults_of(WorkloadKind::Sessions);
  kind = add_kind(gen, context, sessions, "multi-turn chat with think time");
  add_arrivals(*kind, *sessions);
  add_lengths(*kind, sessions->workload.sessions.profiles[0], "of each question, mean");
  add_systems(*kind, *sessions);
  add_turns(*kind, *sessions, "--think-ms", "before the next question, mean");
  add_pace(*kind, *sessions);

  auto tools = defaults_of(WorkloadKind::Tools);
  kind = add_kind(gen, context, tools, "agent loops: many turns of call and result");
  add_arrivals(*kind, *tools);
  add_lengths(*kind, tools->workload.sessions.profiles[0], "of each tool's result, mean");
  add_systems(*kind, *tools);
  add_turns(*kind, *tools, "--tool-ms", "that a tool takes, mean");
  add_pace(*kind, *tools);

  auto media = defaults_of(WorkloadKind::Media);
  kind = add_kind(gen, context, media, "prompts with images that occur again and again");
  add_arrivals(*kind, *media);
  SessionProfile& profile = media->workload.sessions.profiles[0];
  add_lengths(*kind, profile, "of the text, mean");
  add_systems(*kind, *media);
  add_count(*kind, "--images", profile.images, 0, 1000, "in each prompt, in front of its text");
  add_count(*kind, "--image-tokens", profile.image_tokens, 1, 1 << 20, "length of each");
  add_count(*kind, "--image-pool", profile.image_pool, 1, 1 << 20, "images that there are");

  auto mix = defaults_of(WorkloadKind::Mix);
  kind = add_kind(gen, context, mix, "sessions, tools and media, as they are by default");
  add_arrivals(*kind, *mix);
  add_integer_list(*kind, "--shares", mix->shares, 0, 1'000'000,
                   "of sessions, tools and media among what begins [70,20,10]");
  add_decimal(*kind, "--zipf", mix->workload.sessions.zipf_permille, 3, 0, 10'000,
              "popularity of rank r is r^-X");
  add_pace(*kind, *mix);
}

}  // namespace

void register_trace_gen(CLI::App& trace, Context& context) {
  CLI::App* gen = trace.add_subcommand(
      "gen", "make a workload: the same options give the same bytes everywhere");
  gen->footer(
      "Example:\n"
      "  octavo trace gen synthetic --rate 2.5 --input-tokens 1000 --output-tokens 200");
  gen->require_subcommand(1);
  register_patterns(*gen, context);
  register_sessions(*gen, context);
}

}  // namespace octavo::tools
