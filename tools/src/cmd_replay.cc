// `octavo replay`: hit rates of a trace through the production block manager.

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "command.h"
#include "octavo/sim/replay.h"
#include "progress.h"
#include "table.h"
#include "validate.h"
#include <nlohmann/json.hpp>

namespace octavo::tools {
namespace {

struct Options {
  std::string trace;
  std::string format = "auto";
  std::int64_t trace_block = 0;
  sim::ReplayOptions replay;
};

using Json = nlohmann::ordered_json;

Json to_json(const sim::ReplayRun& run) {
  return {{"blocks", run.blocks},
          {"block_size", run.block_size},
          {"policy", "lru"},
          {"requests", run.requests},
          {"prompt_tokens", run.prompt_tokens},
          {"hit_tokens", run.hit_tokens},
          {"hit_rate", run.hit_rate()},
          {"evicted_blocks", run.evicted_blocks},
          {"rejected_requests", run.rejected_requests},
          {"peak_bound_blocks", run.bound_blocks_max},
          {"peak_parked_blocks", run.parked_blocks_max},
          {"ns_per_prompt_token", run.ns_per_token()},
          {"seconds", run.seconds}};
}

void print_json(const Context& context,
                const sim::TraceReader& trace,
                const Options& options,
                const sim::ReplayResult& result) {
  Json json = {{"schema_version", 1},
               {"trace",
                {{"file", trace.name()},
                 {"format", sim::to_string(trace.format())},
                 {"block_size", trace.block_size()},
                 {"requests", result.requests},
                 {"prompt_tokens", result.prompt_tokens}}},
               {"live", options.replay.live},
               {"full_blocks_only", options.replay.full_blocks_only},
               {"pseudo_tokens", result.pseudo_tokens},
               {"runs", Json::array()}};
  for (const sim::ReplayRun& run : result.runs) {
    json["runs"].push_back(to_json(run));
  }
  context.out << json.dump() << '\n';
}

void print_table(const Context& context,
                 const sim::TraceReader& trace,
                 const Options& options,
                 const sim::ReplayResult& result) {
  context.out << trace.name() << ": " << grouped(result.requests) << " requests, "
              << grouped(result.prompt_tokens) << " prompt tokens; blocks of "
              << grouped(options.replay.block_size) << " tokens, policy lru, "
              << (options.replay.full_blocks_only ? "whole blocks only" : "partial keys on") << ", "
              << grouped(std::int64_t{options.replay.live}) << " live\n";
  Table table({{"blocks"},
               {"pool tokens"},
               {"requests"},
               {"prompt tokens"},
               {"hit tokens"},
               {"hit rate"},
               {"evicted blocks"},
               {"peak bound blocks"},
               {"never fit"},
               {"ns/prompt token"}});
  for (const sim::ReplayRun& run : result.runs) {
    table.add_row({grouped(run.blocks), grouped(run.blocks * run.block_size), grouped(run.requests),
                   grouped(run.prompt_tokens), grouped(run.hit_tokens), fixed(run.hit_rate(), 5),
                   grouped(run.evicted_blocks), grouped(run.bound_blocks_max),
                   grouped(run.rejected_requests), fixed(run.ns_per_token(), 3)});
  }
  context.out << table;
}

int run_replay(const Options& options, const Context& context) {
  const std::unique_ptr<sim::TraceReader> trace = sim::open_trace(
      options.trace, {sim::parse_trace_format(options.format), options.trace_block});
  sim::ReplayResult result;
  {
    Progress progress(context, "replay", "requests");
    result = sim::replay(*trace, options.replay,
                         [&](std::int64_t done) { progress.update(done, options.replay.limit); });
  }
  if (context.json) {
    print_json(context, *trace, options, result);
  } else {
    print_table(context, *trace, options, result);
  }
  return kExitOk;
}

}  // namespace

void register_replay(CLI::App& app, Context& context) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "replay", "Hit rates of a trace at given pool sizes, through the production block manager");
  command->footer(
      "Example:\n"
      "  octavo replay --trace traces/chat.jsonl --block-size 16 --blocks 1024,4096,16384");
  command->add_option("--trace", options->trace, "Trace file, or - for standard input")
      ->required()
      ->type_name("FILE");
  command->add_option("--format", options->format, "auto, mooncake or octavo")
      ->check(one_of({"auto", "mooncake", "octavo"}))
      ->type_name("NAME");
  command
      ->add_option("--trace-block", options->trace_block,
                   "Prompt tokens an id of the trace stands for (Mooncake: 512)")
      ->check(integer_range(1, kInt32Max))
      ->type_name("TOKENS");
  command->add_option("--block-size", options->replay.block_size, "Tokens a block of the pool")
      ->check(integer_range(1, 65536))
      ->capture_default_str()
      ->type_name("TOKENS");
  add_integer_list(*command, "--blocks", options->replay.blocks, 1, kInt32Max,
                   "Pool sizes in blocks; one run each")
      ->required();
  command->add_option("--live", options->replay.live, "Requests held at a time; the oldest retires")
      ->check(integer_range(1, 1 << 24))
      ->capture_default_str()
      ->type_name("N");
  command->add_option("--limit", options->replay.limit, "Only the first N requests")
      ->check(integer_range(1, kInt64Max))
      ->type_name("N");
  command->add_flag("--full-blocks-only", options->replay.full_blocks_only,
                    "Share whole blocks only (no partial keys)");
  command->add_flag("--expand-tokens", options->replay.expand_tokens,
                    "Hash and compare every token, even where one could stand for a block");
  command->callback([options, &context] {
    context.run = [options, &context] { return run_replay(*options, context); };
  });
}

}  // namespace octavo::tools
