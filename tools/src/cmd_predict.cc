// `octavo predict`: what the block manager would have served of an engine's log, beside what the
// engine says it did.
#include <memory>
#include <string>

#include "command.h"
#include "octavo/sim/serve/engine_log.h"
#include "table.h"
#include "validate.h"

namespace octavo::tools {
namespace {

struct PredictOptions {
  std::string trace;
  std::int64_t blocks = 0;
};

void print_table(const sim::EngineLog& log,
                 const sim::EngineLogPrediction& prediction,
                 std::ostream& out) {
  out << log.file << ": " << grouped(static_cast<std::int64_t>(log.requests.size()))
      << " requests, blocks of " << grouped(log.block_size) << " tokens; cached tokens\n";
  Table table({{"request"},
               {"line"},
               {"prompt"},
               {"recorded"},
               {"predicted"},
               {"prompts only"},
               {"at once"},
               {"", Table::Align::Left}});
  for (std::size_t i = 0; i < log.requests.size(); ++i) {
    const sim::LogPrediction& row = prediction.requests[i];
    table.add_row({grouped(static_cast<std::int64_t>(i)), grouped(log.requests[i].line),
                   grouped(log.requests[i].input_tokens), grouped(row.recorded),
                   grouped(row.predicted), grouped(row.prompts_only), grouped(row.at_once),
                   sim::explanation(log, prediction, i)});
  }
  out << table << "\nall: " << grouped(prediction.recorded_tokens) << " of "
      << grouped(prediction.input_tokens) << " prompt tokens recorded as cached, "
      << grouped(prediction.predicted_tokens) << " predicted\n"
      << grouped(prediction.equal_requests) << " equal, " << grouped(prediction.rewritten_requests)
      << " less because the next prompt rewrites the reply, "
      << grouped(prediction.unexplained_requests) << " unexplained\n";
}

int run_predict(const PredictOptions& options, Context& context) {
  const sim::EngineLog log = sim::read_engine_log(options.trace);
  const sim::EngineLogPrediction prediction = sim::predict_cached_tokens(log, options.blocks);
  if (context.json) {
    context.out << sim::to_json(log, prediction) << '\n';
  } else {
    print_table(log, prediction, context.out);
  }
  return prediction.unexplained_requests == 0 ? kExitOk : kExitCheckFailed;
}

}  // namespace

void register_predict(CLI::App& app, Context& context) {
  auto options = std::make_shared<PredictOptions>();
  CLI::App* command =
      app.add_subcommand("predict", "an engine's cache hits, predicted and compared");
  command
      ->add_option("--trace", options->trace,
                   "a dynamo.request.trace.v1 file; - reads standard input")
      ->required();
  command
      ->add_option("--blocks", options->blocks,
                   "in each worker's pool (default: nothing is ever evicted)")
      ->check(integer_range(1, kInt32Max));
  command->footer(
      "Exit code 1 when a difference has no explanation.\n\n"
      "Example:\n  octavo predict --trace request_trace.jsonl");
  command->callback([options, &context] {
    context.run = [options, &context] { return run_predict(*options, context); };
  });
}

}  // namespace octavo::tools
