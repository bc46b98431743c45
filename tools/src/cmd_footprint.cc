// `octavo footprint`: the bytes of a cache for a model, by storage class and by layer.
#include <memory>
#include <optional>
#include <string>

#include "command.h"
#include "octavo/sim/footprint_report.h"
#include "octavo/sim/memory_budget.h"
#include "octavo/sim/model_source.h"
#include "table.h"
#include "validate.h"

namespace octavo::tools {
namespace {

struct FootprintOptions {
  std::string model;
  std::string kv_dtype = "bf16";
  std::string mode = "paged";
  std::int64_t tp = 1;
  std::int64_t block_size = 16;
  std::optional<std::int64_t> num_blocks;
  std::optional<double> bytes_gib;
  std::int64_t max_seqs = 256;
  std::int64_t max_len = 0;
  std::int64_t step_tokens = 8192;
};

sim::FootprintRequest make_request(const FootprintOptions& options) {
  sim::FootprintRequest request;
  request.rows.tp = options.tp;
  request.rows.format = sim::parse_kv_format(options.kv_dtype);
  request.rows.mode = options.mode == "paged" ? KVCacheMode::Paged : KVCacheMode::Continuous;
  request.rows.block_size = options.block_size;
  request.rows.max_seqs = options.max_seqs;
  request.rows.max_len = options.max_len;
  request.rows.max_step_tokens = options.step_tokens;
  request.num_blocks = options.num_blocks;
  if (options.bytes_gib) {
    request.budget_bytes = sim::gib_to_bytes(*options.bytes_gib);
  }
  request.model = sim::load_model(options.model);
  return request;
}

void print_classes(const KVCacheFootprint& bytes, std::ostream& out) {
  Table table({{"storage", Table::Align::Left}, {"bytes"}, {"GiB"}});
  const auto add = [&table](const char* name, std::int64_t value, bool always = false) {
    if (value != 0 || always) {
      table.add_row({name, grouped(value), fixed(static_cast<double>(value) / 1073741824.0, 3)});
    }
  };
  add("paged pools (K and V)", bytes.paged_pools);
  add("continuous K and V", bytes.continuous_kv);
  add("quantization scales", bytes.quant_scales);
  add("cross-attention K and V", bytes.cross_kv);
  add("convolution windows", bytes.conv);
  add("recurrent states", bytes.recurrent);
  add("tables and indices", bytes.tables);
  add("total", bytes.total(), true);
  out << table;
}

void print_layers(const sim::FootprintReport& report, std::ostream& out) {
  Table table({{"layers", Table::Align::Left},
               {"number"},
               {"attention"},
               {"KV heads"},
               {"head dim"},
               {"bytes a layer"}});
  for (const sim::LayerGroup& group : report.groups) {
    std::string kind(sim::kind_name(group.layer));
    if (group.layer.window > 0) {
      kind += " " + grouped(group.layer.window);
    }
    table.add_row({group.layers_text(), grouped(static_cast<std::int64_t>(group.layers.size())),
                   kind, grouped(group.layer.kv_heads), grouped(group.layer.head_dim),
                   grouped(group.bytes_per_layer)});
  }
  out << table;
}

void print_units(const sim::FootprintReport& report, std::ostream& out) {
  Table table({{"unit", Table::Align::Left}, {"bytes"}});
  table.add_row({report.bytes.bytes_per_block > 0 ? "one token, all layers"
                                                  : "one more token of capacity, rows that grow",
                 grouped(report.bytes_per_token)});
  if (report.bytes.bytes_per_block > 0) {
    table.add_row({"one block of " + grouped(report.request.rows.block_size) + " tokens",
                   grouped(report.bytes.bytes_per_block)});
  }
  table.add_row({"one slot, outside the pools", grouped(report.bytes.bytes_per_slot)});
  out << table;
}

int run_footprint(const FootprintOptions& options, Context& context) {
  const sim::FootprintReport report = sim::report_footprint(make_request(options));
  if (context.json) {
    context.out << sim::to_json(report) << '\n';
    return kExitOk;
  }
  const sim::RowOptions& rows = report.request.rows;
  const bool paged = rows.mode == KVCacheMode::Paged;
  context.out << report.request.model.name << ", " << options.mode << " cache in "
              << rows.format.name << ", "
              << (paged ? grouped(rows.num_blocks) + " blocks of " + grouped(rows.block_size) +
                              " tokens, "
                        : "")
              << grouped(rows.max_seqs) << " slots of up to " << grouped(rows.max_len) << " tokens"
              << (rows.tp > 1 ? ", on each of " + grouped(rows.tp) + " GPUs" : "") << "\n\n";
  print_classes(report.bytes, context.out);
  context.out << '\n';
  print_layers(report, context.out);
  context.out << '\n';
  print_units(report, context.out);
  return kExitOk;
}

void add_options(CLI::App& command, FootprintOptions& options) {
  command.add_option("--model", options.model, "a Hugging Face config.json")->required();
  command.add_option("--tp", options.tp, "GPUs that share the heads (default: 1)")
      ->check(integer_range(1, 16384));
  command
      .add_option("--kv-dtype", options.kv_dtype,
                  "bf16, f16, f32, fp8, fp8_e5m2, int8 or int4 (default: bf16)")
      ->check(one_of({"bf16", "f16", "f32", "fp8", "fp8_e5m2", "int8", "int4"}));
  command.add_option("--mode", options.mode, "paged or continuous (default: paged)")
      ->check(one_of({"paged", "continuous"}));
  command
      .add_option("--block-size", options.block_size,
                  "tokens a block, a power of two (default: 16)")
      ->check(integer_range(1, kMaxBlockSize));
  command
      .add_option("--num-blocks", options.num_blocks,
                  "blocks in the pool (default: one sequence of --max-len)")
      ->check(integer_range(1, kInt32Max));
  command
      .add_option("--bytes-gib", options.bytes_gib,
                  "as many blocks (continuous: slots) as fit into so many GiB")
      ->check(number_range(0, 100000, true));
  command.add_option("--max-seqs", options.max_seqs, "slots (default: 256)")
      ->check(integer_range(1, kMaxSeqs));
  command
      .add_option("--max-len", options.max_len,
                  "tokens of the longest sequence (default: what the model allows)")
      ->check(integer_range(1, kInt32Max));
  command
      .add_option("--max-step-tokens", options.step_tokens,
                  "tokens that one step may append; sizes continuous windows (default: 8192)")
      ->check(integer_range(1, kInt32Max));
}

}  // namespace

void register_footprint(CLI::App& app, Context& context) {
  auto options = std::make_shared<FootprintOptions>();
  CLI::App* command =
      app.add_subcommand("footprint", "the bytes of a cache, by storage class and by layer");
  add_options(*command, *options);
  command->footer(
      "Example:\n  octavo footprint --model config.json --bytes-gib 40 --kv-dtype int8");
  command->callback([options, &context] {
    context.run = [options, &context] { return run_footprint(*options, context); };
  });
}

}  // namespace octavo::tools
