// `octavo fit`: coefficients of a step's time from measured steps.
#include <memory>
#include <string>

#include "command.h"
#include "octavo/sim/serve/linear_cost.h"
#include "table.h"

namespace octavo::tools {
namespace {

struct FitOptions {
  std::string steps;
};

void print_table(const std::string& file, const sim::LinearFit& fit, std::ostream& out) {
  const sim::LinearCoefficients& c = fit.coefficients;
  out << file << ": " << grouped(fit.steps) << " steps\n";
  Table table({{"a step costs", Table::Align::Left}, {"ns"}});
  const auto add = [&table](const std::string& name, std::int64_t fs) {
    table.add_row({name, fixed(static_cast<double>(fs) / 1e6, 6)});
  };
  add("in any case", c.step_fs);
  add("a sequence in prefill", c.prefill_sequence_fs);
  add("a sequence that generates", c.decode_sequence_fs);
  add("a token computed", c.token_fs);
  add("a cached token read", c.kv_token_fs);
  add("a pair attended", c.pair_fs);
  out << table << "\nR2 " << fixed(fit.r2, 6) << ", residuals of " << fixed(fit.rms_us, 3)
      << " us (root of the mean square), at most " << fixed(fit.error_us_max, 3) << " us and "
      << fixed(fit.error_rel_max * 100, 2) << " % (line " << grouped(fit.error_line)
      << ")\nWith --json, the file that octavo simulate --cost reads.\n";
}

int run_fit(const FitOptions& options, Context& context) {
  const sim::MeasuredSteps measured = sim::read_measured_steps(options.steps);
  const sim::LinearFit fit = sim::fit_linear_cost(measured);
  if (context.json) {
    context.out << sim::to_json(fit) << '\n';
  } else {
    print_table(measured.file, fit, context.out);
  }
  return kExitOk;
}

}  // namespace

void register_fit(CLI::App& app, Context& context) {
  auto options = std::make_shared<FitOptions>();
  CLI::App* command = app.add_subcommand("fit", "what a step costs, from a CSV of measured steps");
  command
      ->add_option("--steps", options->steps,
                   "columns prefill_tokens, decode_sequences, kv_tokens, time_us; and "
                   "prefill_sequences, decode_tokens, attended_pairs where they are known")
      ->required();
  command->footer("Example:\n  octavo fit --steps steps.csv --json > cost.json");
  command->callback([options, &context] {
    context.run = [options, &context] { return run_fit(*options, context); };
  });
}

}  // namespace octavo::tools
