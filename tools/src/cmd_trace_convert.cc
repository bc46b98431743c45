// `octavo trace convert IN OUT`: any readable trace as an Octavo or a Mooncake trace.

#include <memory>
#include <string>

#include "cmd_trace.h"
#include "decimal.h"
#include "octavo/sim/trace_convert.h"
#include "output_file.h"
#include "progress.h"
#include "table.h"
#include "validate.h"
#include <nlohmann/json.hpp>

namespace octavo::tools {
namespace {

constexpr std::int64_t kArrivalNsMax = 9'000'000'000'000'000'000;  // In ns.

struct ConvertArguments {
  std::string in;
  std::string out;
  std::string format = "auto";
  std::int64_t trace_block = 0;
  std::string to = "octavo";
  sim::ConvertOptions convert;
};

// A report for people, or one JSON object; on stderr when the trace itself goes to stdout.
void report(const ConvertArguments& options, const sim::ConvertResult& result, Context& context) {
  std::ostream& out = options.out == "-" ? context.err : context.out;
  if (context.json) {
    nlohmann::ordered_json json = {{"schema_version", 1},
                                   {"read", result.read},
                                   {"written", result.written},
                                   {"format", options.to},
                                   {"block_size", result.block_size},
                                   {"lost", nlohmann::ordered_json::object()}};
    for (const auto& [field, count] : result.lost) {
      json["lost"][field] = count;
    }
    out << json.dump() << '\n';
    return;
  }
  if (context.quiet) {
    return;
  }
  out << grouped(result.written) << " of " << grouped(result.read)
      << " requests written, blocks of " << grouped(result.block_size) << " tokens\n";
  for (const auto& [field, count] : result.lost) {
    out << "lost: " << field << " of " << grouped(count) << " requests\n";
  }
  if (options.to == "mooncake" && result.block_size != sim::kMooncakeTraceBlock) {
    out << "a Mooncake file does not say its block size: read it with --trace-block "
        << result.block_size << '\n';
  }
}

int run_convert(const ConvertArguments& options, Context& context) {
  const auto trace = sim::open_trace(options.in, {.format = sim::parse_trace_format(options.format),
                                                  .trace_block = options.trace_block});
  sim::ConvertOptions convert = options.convert;
  convert.format = sim::parse_trace_format(options.to);
  if (convert.to_ns < convert.from_ns) {
    throw UsageError("--to-s: lies before --from-s");
  }
  if (trace->traits().prefix_ids && convert.block_size > 0 &&
      trace->block_size() % convert.block_size != 0) {
    throw UsageError("--block-size: " + std::to_string(convert.block_size) +
                     " does not divide the trace's " + std::to_string(trace->block_size()));
  }
  if (!trace->traits().prefix_ids && convert.block_size == 0) {
    throw UsageError("--block-size: needed, since the trace has no ids");
  }
  OutputFile file("OUT", options.out, context.out);
  sim::ConvertResult result;
  {
    Progress progress(context, "trace convert", "requests");
    result = sim::convert_trace(*trace, convert, file.stream(),
                                [&](std::int64_t done) { progress.update(done, convert.limit); });
  }
  file.commit();
  report(options, result, context);
  return kExitOk;
}

}  // namespace

void register_trace_convert(CLI::App& trace, Context& context) {
  auto options = std::make_shared<ConvertArguments>();
  CLI::App* command = trace.add_subcommand(
      "convert", "write a trace as an Octavo or Mooncake trace, re-blocked, cut or faster");
  command->footer(
      "Example:\n"
      "  octavo trace convert conversation_trace.jsonl small.jsonl --block-size 16 --limit 1000");
  command->add_option("IN", options->in, "the trace; - reads standard input")->required();
  command->add_option("OUT", options->out, "the file to write, whole or not at all; - is stdout")
      ->required();
  command->add_option("--to", options->to, "octavo or mooncake")
      ->check(one_of({"octavo", "mooncake"}))
      ->capture_default_str()
      ->type_name("NAME");
  command->add_option("--format", options->format, "of IN, as for trace info")
      ->check(taken_by([](std::string_view name) { sim::parse_trace_format(name); }))
      ->capture_default_str()
      ->type_name("NAME");
  command->add_option("--trace-block", options->trace_block, "tokens an id of IN stands for")
      ->check(integer_range(1, sim::kTraceBlockMax))
      ->type_name("TOKENS");
  sim::ConvertOptions& convert = options->convert;
  command->add_option("--block-size", convert.block_size, "of OUT, a divisor of that of IN")
      ->check(integer_range(1, sim::kTraceBlockMax))
      ->type_name("TOKENS");
  command->add_option("--limit", convert.limit, "only the first N requests (of the window)")
      ->check(integer_range(1, kInt64Max))
      ->type_name("N");
  add_decimal(*command, "--from-s", convert.from_ns, 9, 0, kArrivalNsMax,
              "only arrivals from here on; times count from here");
  add_decimal(*command, "--to-s", convert.to_ns, 9, 0, kArrivalNsMax, "only arrivals before this")
      ->default_str("");
  add_decimal(*command, "--speedup", convert.speedup_micro, 6, 1, 1'000'000'000'000'000,
              "divides arrivals and delays");
  command->add_flag("--sort", convert.sort, "by arrival, ties in file order; takes memory for all");
  command->add_flag("--lossy", convert.lossy, "drop what OUT cannot hold, and count it");
  command->callback([options, &context] {
    context.run = [options, &context] { return run_convert(*options, context); };
  });
}

}  // namespace octavo::tools
