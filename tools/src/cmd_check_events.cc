// `octavo check-events`: an engine's KV-event log against the block manager.

#include <memory>
#include <string>

#include "command.h"
#include "octavo/sim/kv_event_oracle.h"
#include "progress.h"
#include "table.h"
#include "validate.h"
#include <nlohmann/json.hpp>

namespace octavo::tools {
namespace {

using sim::OracleBlock;
using sim::OracleDifference;
using sim::OracleResult;
using Json = nlohmann::ordered_json;

struct CheckEventsOptions {
  std::string log;
  std::string trace;
  std::string format = "auto";
  std::int64_t trace_block = 0;
  std::string policy = "lru";
  std::int64_t rank = -1;
  sim::OracleOptions oracle;
};

const char* kind_name(OracleDifference::Kind kind) {
  switch (kind) {
    case OracleDifference::Kind::Stored:
      return "stored";
    case OracleDifference::Kind::Removed:
      return "removed";
    case OracleDifference::Kind::OursLeft:
      return "log_ended";
    case OracleDifference::Kind::EngineLeft:
      return "requests_ended";
    case OracleDifference::Kind::EngineCleared:
      return "engine_cleared";
  }
  return "unknown";
}

Json to_json(const OracleBlock& block) {
  if (block.name.empty()) {
    return nullptr;
  }
  return {{"hash", block.name}, {"position", block.position}};
}

void print_json(const OracleResult& result, const Context& context) {
  Json json = {{"schema_version", 1},
               {"same", !result.difference},
               {"block_size", result.block_size},
               {"requests", result.requests},
               {"prompt_tokens", result.prompt_tokens},
               {"hit_tokens", result.hit_tokens},
               {"stores_agreed", result.stores_agreed},
               {"removals_agreed", result.removals_agreed},
               {"clears_agreed", result.clears_agreed},
               {"events_passed_over", result.events_passed_over},
               {"difference", nullptr}};
  if (result.difference) {
    const OracleDifference& difference = *result.difference;
    json["difference"] = {{"kind", kind_name(difference.kind)},
                          {"event", sim::to_string(difference.event)},
                          {"what", difference.what},
                          {"request", difference.request},
                          {"batch", difference.batch},
                          {"engine", to_json(difference.engine)},
                          {"ours", to_json(difference.ours)}};
  }
  context.out << json.dump() << '\n';
}

std::string described(const OracleBlock& block, std::int64_t block_size) {
  if (block.name.empty()) {
    return "none";
  }
  if (block.position < 0) {
    return block.name + ", whose place is not known";
  }
  return block.name + ", tokens " + grouped(block.position * block_size) + " to " +
         grouped((block.position + 1) * block_size - 1) + " of its prefix";
}

void print_text(const OracleResult& result, const Context& context) {
  context.out << grouped(result.requests) << " requests, " << grouped(result.prompt_tokens)
              << " tokens, " << grouped(result.hit_tokens) << " of them cached; blocks of "
              << grouped(result.block_size) << " tokens\n"
              << "agreed: " << grouped(result.stores_agreed) << " blocks stored, "
              << grouped(result.removals_agreed) << " removed, " << grouped(result.clears_agreed)
              << " clearings\n";
  if (result.events_passed_over > 0) {
    context.out << "passed over: " << grouped(result.events_passed_over)
                << " events of other ranks, groups or media\n";
  }
  if (!result.difference) {
    context.out << "no difference\n";
    return;
  }
  const OracleDifference& difference = *result.difference;
  context.out << "first difference, request " << grouped(difference.request);
  if (difference.batch > 0) {
    context.out << ", batch " << grouped(difference.batch);
  }
  context.out << ": " << difference.what << '\n'
              << "  engine: " << sim::to_string(difference.event) << ' '
              << described(difference.engine, result.block_size) << '\n'
              << "  replay: " << described(difference.ours, result.block_size) << '\n';
}

int run_check(const CheckEventsOptions& options, const Context& context) {
  sim::OracleOptions oracle = options.oracle;
  oracle.policy = parse_eviction_policy(options.policy);
  if (options.rank >= 0) {
    oracle.rank = options.rank;
  }
  if (options.log == "-" && options.trace.empty()) {
    throw UsageError("--kv-events: standard input cannot be read twice; give --trace or a file");
  }
  std::unique_ptr<sim::TraceReader> requests;
  if (!options.trace.empty()) {
    requests = sim::open_trace(options.trace, {.format = sim::parse_trace_format(options.format),
                                               .trace_block = options.trace_block});
    if (!requests->traits().prefix_ids) {
      throw UsageError("--trace: " + requests->name() + " has no ids, nothing is known of prompts");
    }
  }
  const OracleResult result = sim::check_events(options.log, oracle, requests.get());
  context.json ? print_json(result, context) : print_text(result, context);
  return result.difference ? kExitCheckFailed : kExitOk;
}

}  // namespace

void register_check_events(CLI::App& app, Context& context) {
  auto options = std::make_shared<CheckEventsOptions>();
  CLI::App* command =
      app.add_subcommand("check-events", "an engine's KV events against the block manager");
  command->footer(
      "Example:\n"
      "  octavo check-events --kv-events kv_events.msgpack --blocks 4096\n"
      "Exit code 1: there is a difference.");
  command->add_option("--kv-events", options->log, "KV-event log of vLLM or SGLang")
      ->required()
      ->type_name("FILE");
  command->add_option("--blocks", options->oracle.blocks, "Blocks of the engine's pool")
      ->required()
      ->check(integer_range(1, kInt32Max))
      ->type_name("N");
  command
      ->add_option("--trace", options->trace,
                   "The requests that the engine served; without it, those that the log tells of")
      ->type_name("FILE");
  command->add_option("--format", options->format, "Of the trace, as for trace info")
      ->check(taken_by([](std::string_view name) { sim::parse_trace_format(name); }))
      ->capture_default_str()
      ->type_name("NAME");
  command->add_option("--trace-block", options->trace_block, "Tokens an id of the trace stands for")
      ->check(integer_range(1, kInt32Max))
      ->type_name("TOKENS");
  command->add_option("--policy", options->policy, "Eviction policy of the replay")
      ->check(taken_by([](std::string_view name) { parse_eviction_policy(name); }))
      ->capture_default_str()
      ->type_name("NAME");
  command->add_option("--rank", options->rank, "Data-parallel rank, when the log has several")
      ->check(integer_range(0, kInt32Max))
      ->type_name("N");
  command->add_option("--group", options->oracle.group, "Cache group")
      ->check(integer_range(0, kInt32Max))
      ->capture_default_str()
      ->type_name("N");
  command->add_option("--limit", options->oracle.limit, "Only the first N requests")
      ->check(integer_range(1, kInt64Max))
      ->type_name("N");
  command->callback([options, &context] {
    context.run = [options, &context] { return run_check(*options, context); };
  });
}

}  // namespace octavo::tools
