// `octavo report`: results of other commands as one HTML page.
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "command.h"
#include "octavo/sim/input_error.h"
#include "octavo/sim/report.h"
#include "output_file.h"

namespace octavo::tools {
namespace {

struct ReportOptions {
  std::vector<std::string> results;
  std::string output = "-";
};

sim::ReportInput read_result(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (!file) {
    throw sim::InputError(path, 0, "", "cannot be read");
  }
  return {path, std::move(text)};
}

int run_report(const ReportOptions& options, const Context& context) {
  std::vector<sim::ReportInput> inputs;
  for (const std::string& path : options.results) {
    inputs.push_back(read_result(path));
  }
  const std::string page = sim::make_report(inputs);
  OutputFile output("--output", options.output, context.out);
  output.stream() << page;
  output.commit();
  return kExitOk;
}

}  // namespace

void register_report(CLI::App& app, Context& context) {
  auto options = std::make_shared<ReportOptions>();
  CLI::App* command = app.add_subcommand("report", "results of other commands as one HTML page");
  command
      ->add_option("RESULT", options->results,
                   "What those commands wrote with --json; several make one page")
      ->required()
      ->type_name("FILE...");
  command->add_option("-o,--output", options->output, "The page (default: standard output)")
      ->type_name("FILE");
  command->footer(
      "Example:\n"
      "  octavo plan --model config.json --gpu h100 --explain --json > plan.json\n"
      "  octavo report plan.json -o plan.html");
  command->callback([options, &context] {
    context.run = [options, &context] { return run_report(*options, context); };
  });
}

}  // namespace octavo::tools
