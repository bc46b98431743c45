// `octavo replay`: hit rates of a trace through the production block manager.

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "command.h"
#include "octavo/sim/belady.h"
#include "octavo/sim/loaded_trace.h"
#include "octavo/sim/mrc.h"
#include "octavo/sim/replay.h"
#include "pool_sizes.h"
#include "progress.h"
#include "table.h"
#include "validate.h"
#include <nlohmann/json.hpp>

namespace octavo::tools {
namespace {

constexpr char kBelady[] = "belady";
constexpr char kBeladyPinned[] = "belady-pinned";
constexpr char kBeladyText[] =
    "whole-block hits with one request live and the order of requests known; new blocks may be "
    "dropped at once";
constexpr char kBeladyPinnedText[] =
    "whole-block hits with one request live and the order of requests known; the live request's "
    "own whole blocks stay";

struct ReplayArguments {
  std::string trace;
  std::string format = "auto";
  std::int64_t trace_block = 0;
  std::vector<std::string> policies{"lru"};
  PoolSizes sizes;
  sim::ReplayOptions replay;
};

// A line of the result: a pool under a policy, or a bound.
struct Row {
  std::string policy;
  sim::ReplayRun run;  // Of a bound: only what a BeladyRun has.
  const char* bound = nullptr;
};

using Json = nlohmann::ordered_json;

bool is_bound(const std::string& policy) {
  return policy == kBelady || policy == kBeladyPinned;
}

Json to_json(const Row& row) {
  const sim::ReplayRun& run = row.run;
  Json json = {{"blocks", run.blocks},
               {"block_size", run.block_size},
               {"policy", row.policy},
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
  if (row.bound != nullptr) {  // There is no pool that could tell these.
    for (const char* field : {"evicted_blocks", "peak_bound_blocks", "peak_parked_blocks",
                              "ns_per_prompt_token", "seconds"}) {
      json[field] = nullptr;
    }
    json["bound"] = row.bound;
  }
  return json;
}

void print_json(const Context& context,
                const sim::TraceReader& trace,
                const ReplayArguments& options,
                const sim::ReplayResult& result,
                const std::vector<Row>& rows) {
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
  for (const Row& row : rows) {
    json["runs"].push_back(to_json(row));
  }
  context.out << json.dump() << '\n';
}

// One policy stands above the table, several in a column of it.
void print_table(const Context& context,
                 const sim::TraceReader& trace,
                 const ReplayArguments& options,
                 const sim::ReplayResult& result,
                 const std::vector<Row>& rows) {
  const bool one_policy = options.policies.size() == 1;
  context.out << trace.name() << ": " << grouped(result.requests) << " requests, "
              << grouped(result.prompt_tokens) << " prompt tokens; blocks of "
              << grouped(options.replay.block_size) << " tokens, "
              << (one_policy ? "policy " + options.policies[0] + ", " : "")
              << (options.replay.full_blocks_only ? "whole blocks only" : "partial keys on") << ", "
              << grouped(std::int64_t{options.replay.live}) << " live\n";
  std::vector<Table::Column> columns{{"blocks"},         {"pool tokens"},       {"requests"},
                                     {"prompt tokens"},  {"hit tokens"},        {"hit rate"},
                                     {"evicted blocks"}, {"peak bound blocks"}, {"never fit"},
                                     {"ns/prompt token"}};
  if (!one_policy) {
    columns.insert(columns.begin(), {"policy", Table::Align::Left});
  }
  Table table(columns);
  for (const Row& row : rows) {
    const sim::ReplayRun& run = row.run;
    const bool bound = row.bound != nullptr;
    std::vector<std::string> cells{grouped(run.blocks),
                                   grouped(run.blocks * run.block_size),
                                   grouped(run.requests),
                                   grouped(run.prompt_tokens),
                                   grouped(run.hit_tokens),
                                   fixed(run.hit_rate(), 5),
                                   bound ? "-" : grouped(run.evicted_blocks),
                                   bound ? "-" : grouped(run.bound_blocks_max),
                                   grouped(run.rejected_requests),
                                   bound ? "-" : fixed(run.ns_per_token(), 3)};
    if (!one_policy) {
      cells.insert(cells.begin(), row.policy);
    }
    table.add_row(cells);
  }
  context.out << table;
  for (const char* policy : {kBelady, kBeladyPinned}) {
    if (std::find(options.policies.begin(), options.policies.end(), policy) !=
        options.policies.end()) {
      context.out << policy << ": a bound for "
                  << (policy == kBelady ? kBeladyText : kBeladyPinnedText) << "\n";
    }
  }
}

std::vector<Row> bound_rows(const sim::Belady& belady,
                            const std::string& policy,
                            const sim::ReplayOptions& options) {
  std::vector<Row> rows;
  const bool pinned = policy == kBeladyPinned;
  for (const std::int64_t blocks : options.blocks) {
    const sim::BeladyRun best =
        belady.run(blocks, pinned ? sim::BeladyBound::Pinned : sim::BeladyBound::Dropping);
    sim::ReplayRun run;
    run.blocks = blocks;
    run.block_size = options.block_size;
    run.requests = best.requests;
    run.rejected_requests = best.rejected_requests;
    run.prompt_tokens = best.prompt_tokens;
    run.hit_tokens = best.hit_tokens;
    rows.push_back({policy, run, pinned ? kBeladyPinnedText : kBeladyText});
  }
  return rows;
}

sim::ReplayResult replay_pools(sim::TraceReader& trace,
                               const ReplayArguments& options,
                               const sim::ReplayOptions& replay,
                               const Context& context) {
  Progress progress(context, "replay", "requests");
  return sim::replay(trace, replay,
                     [&](std::int64_t done) { progress.update(done, options.replay.limit); });
}

// Bounds, and sizes that are shares of the distinct blocks, need the trace in memory; else it is
// read as it comes.
int run_replay(const ReplayArguments& options, const Context& context) {
  if (options.sizes.empty()) {
    throw UsageError("--blocks is required (or --tokens)");
  }
  const std::unique_ptr<sim::TraceReader> reader = sim::open_trace(
      options.trace, {sim::parse_trace_format(options.format), options.trace_block});
  const bool bounds = std::any_of(options.policies.begin(), options.policies.end(), is_bound);
  std::optional<sim::LoadedTrace> loaded;
  sim::TraceReader* trace = reader.get();
  if (bounds || options.sizes.needs_distinct()) {
    trace = &loaded.emplace(*reader, options.replay.limit);
  }
  std::int64_t distinct = 0;
  if (options.sizes.needs_distinct()) {
    distinct = sim::compute_mrc(*trace, {options.replay.block_size, {}, 0}).distinct_blocks;
    loaded->rewind();
  }
  sim::ReplayOptions replay = options.replay;
  replay.blocks = options.sizes.blocks(replay.block_size, distinct);
  replay.policies.clear();
  for (const std::string& policy : options.policies) {
    if (!is_bound(policy)) {
      replay.policies.push_back(parse_eviction_policy(policy));
    }
  }
  sim::ReplayResult result;
  if (!replay.policies.empty()) {
    result = replay_pools(*trace, options, replay, context);
  }
  std::optional<sim::Belady> belady;
  if (bounds) {
    loaded->rewind();
    belady.emplace(*trace, replay.block_size);
    if (replay.policies.empty()) {
      result.requests = static_cast<std::int64_t>(loaded->requests().size());
      for (const sim::TraceRequest& request : loaded->requests()) {
        result.prompt_tokens += request.input_tokens;
      }
    }
    if (replay.live != 1 || !replay.full_blocks_only) {
      context.err << "octavo replay: belady bounds the hits of whole blocks with one request live; "
                     "compare it with runs of --full-blocks-only and --live 1\n";
    }
  }
  std::vector<Row> rows;
  auto run = result.runs.cbegin();
  for (const std::string& policy : options.policies) {
    if (is_bound(policy)) {
      const std::vector<Row> more = bound_rows(*belady, policy, replay);
      rows.insert(rows.end(), more.begin(), more.end());
      continue;
    }
    for (std::size_t i = 0; i < replay.blocks.size(); ++i) {
      rows.push_back({policy, *run++, nullptr});
    }
  }
  if (context.json) {
    print_json(context, *trace, options, result, rows);
  } else {
    print_table(context, *trace, options, result, rows);
  }
  return kExitOk;
}

void add_policies(CLI::App& command, std::vector<std::string>& policies) {
  std::vector<std::string> names{kBelady, kBeladyPinned};
  for (int i = 0; i <= static_cast<int>(EvictionPolicy::Hdq); ++i) {
    names.insert(names.end() - 2, std::string(to_string(static_cast<EvictionPolicy>(i))));
  }
  command
      .add_option("--policy", policies,
                  "Who leaves a full pool: lru, fifo, lfu, slru, 2q, arc, s3fifo, sieve, priority, "
                  "hdq; belady, belady-pinned: bounds")
      ->delimiter(',')
      ->check(one_of(names))
      ->capture_default_str()
      ->type_name("P[,P...]");
}

}  // namespace

void register_replay(CLI::App& app, Context& context) {
  auto options = std::make_shared<ReplayArguments>();
  CLI::App* command = app.add_subcommand("replay", "hit rates of a trace at given pool sizes");
  command->footer(
      "Example:\n"
      "  octavo replay --trace traces/chat.jsonl --block-size 16 --blocks 1024,4096,16384\n"
      "  octavo replay --trace traces/chat.jsonl --full-blocks-only --policy lru,belady --blocks "
      "0.1");
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
  options->sizes.add_options(
      *command, "--blocks",
      "Pool sizes in blocks, or with a point (0.01) as a share of the distinct blocks; a run each");
  add_policies(*command, options->policies);
  command->add_option("--live", options->replay.live, "Requests held at a time; the oldest retires")
      ->check(integer_range(1, 1 << 24))
      ->capture_default_str()
      ->type_name("N");
  command->add_option("--limit", options->replay.limit, "Only the first N requests")
      ->check(integer_range(1, kInt64Max))
      ->type_name("N");
  options->replay.threads = 0;
  command->add_option("--threads", options->replay.threads, "Threads (default: one a core)")
      ->check(integer_range(1, 1024))
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
