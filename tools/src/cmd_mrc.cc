// `octavo mrc`: what LRU pools of all sizes would have served of a trace, in one pass over it.

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "command.h"
#include "curve_chart.h"
#include "octavo/sim/footprint_report.h"
#include "octavo/sim/gpu_catalogue.h"
#include "octavo/sim/loaded_trace.h"
#include "octavo/sim/model_source.h"
#include "octavo/sim/mrc.h"
#include "pool_sizes.h"
#include "progress.h"
#include "table.h"
#include "validate.h"
#include <nlohmann/json.hpp>

namespace octavo::tools {
namespace {

using Json = nlohmann::ordered_json;

struct MrcArguments {
  std::string trace;
  std::string format = "auto";
  std::int64_t trace_block = 0;
  std::int64_t block_size = 16;
  std::int64_t limit = 0;
  PoolSizes at;
  int points = 24;
  bool all = false;
  std::optional<double> sample;
  std::uint64_t seed = 1;
  bool csv = false;
  std::string model;
  std::int64_t tp = 1;
  std::string kv_dtype = "bf16";
  std::optional<double> usd_per_gib;
  std::optional<double> gpu_hour_usd;
  std::string gpu;
};

// What a block costs in memory and in money. Memory is that of all ranks together.
struct Scale {
  std::int64_t bytes_per_token = 0;   // 0: no model was given.
  std::optional<double> usd_per_gib;  // By the hour when it comes from a GPU's price.
  bool by_hour = false;

  double gib(std::int64_t tokens) const {
    return static_cast<double>(tokens) * static_cast<double>(bytes_per_token) / kGib;
  }
  const char* usd_name() const { return by_hour ? "usd_per_hour" : "usd"; }
  const char* usd_title() const { return by_hour ? "USD/hour" : "USD"; }
};

// A point of either curve.
struct Point {
  sim::MrcPoint value;
  double hit_rate = 0;
  std::optional<double> error;  // Of a sampled curve.
};

struct Curve {
  std::int64_t requests = 0;
  std::int64_t prompt_tokens = 0;
  std::int64_t longest_blocks = 0;
  std::int64_t working_set_blocks = 0;  // Of a sampled curve: estimated.
  std::int64_t distinct_blocks = 0;     // Likewise.
  std::vector<Point> points;
  std::function<double(std::int64_t)> rate;
};

Scale make_scale(const MrcArguments& options) {
  Scale scale;
  if (!options.model.empty()) {
    sim::FootprintRequest request;
    request.model = sim::load_model(options.model);
    if (request.model.all_windowed()) {
      throw UsageError("--model: " + request.model.name +
                       " has windowed layers only, whose cache keeps no prefixes");
    }
    request.rows.tp = options.tp;
    request.rows.format = sim::parse_kv_format(options.kv_dtype);
    scale.bytes_per_token = sim::report_footprint(request).bytes_per_token * options.tp;
  }
  scale.usd_per_gib = options.usd_per_gib;
  if (options.gpu_hour_usd) {
    scale.usd_per_gib = *options.gpu_hour_usd / sim::find_gpu(options.gpu).total_gib;
    scale.by_hour = true;
  }
  return scale;
}

void check(const MrcArguments& options) {
  const bool priced = options.usd_per_gib || options.gpu_hour_usd;
  if (options.usd_per_gib && options.gpu_hour_usd) {
    throw UsageError("--usd-per-gib and --gpu-hour-usd exclude each other");
  }
  if (options.gpu_hour_usd.has_value() == options.gpu.empty()) {
    throw UsageError("--gpu-hour-usd and --gpu go together");
  }
  if (priced && options.model.empty()) {
    throw UsageError("a price needs --model, which says how many GiB a block is");
  }
  if (options.all && (options.sample || !options.at.empty())) {
    throw UsageError("--all excludes --sample, --at and --tokens");
  }
}

Curve exact_curve(sim::TraceReader& trace,
                  const MrcArguments& options,
                  const std::vector<std::int64_t>& at,
                  const sim::MrcProgress& progress) {
  auto mrc = std::make_shared<const sim::Mrc>(
      sim::compute_mrc(trace, {options.block_size, at, options.limit}, progress));
  Curve curve;
  curve.requests = mrc->requests;
  curve.prompt_tokens = mrc->prompt_tokens;
  curve.longest_blocks = mrc->longest_blocks;
  curve.working_set_blocks = mrc->working_set_blocks();
  curve.distinct_blocks = mrc->distinct_blocks;
  const std::vector<std::int64_t> sizes = options.all  ? mrc->breakpoints()
                                          : at.empty() ? mrc->spread_sizes(options.points)
                                                       : at;
  for (const std::int64_t blocks : sizes) {
    const sim::MrcPoint point = mrc->at(blocks);
    curve.points.push_back({point, point.hit_rate(), std::nullopt});
  }
  curve.rate = [mrc](std::int64_t blocks) { return mrc->at(blocks).hit_rate(); };
  return curve;
}

Curve sampled_curve(sim::TraceReader& trace,
                    const MrcArguments& options,
                    const std::vector<std::int64_t>& at,
                    const sim::MrcProgress& progress) {
  auto mrc = std::make_shared<const sim::SampledMrc>(sim::compute_sampled_mrc(
      trace, {options.block_size, *options.sample, options.seed, options.limit}, progress));
  Curve curve;
  curve.requests = mrc->requests;
  curve.prompt_tokens = mrc->prompt_tokens;
  curve.longest_blocks = mrc->longest_blocks;
  const std::vector<std::int64_t> spread = mrc->spread_sizes(options.points);
  curve.working_set_blocks = spread.back();
  curve.distinct_blocks = std::llround(mrc->distinct_blocks());
  for (const std::int64_t blocks : at.empty() ? spread : at) {
    const sim::SampledPoint estimate = mrc->at(blocks);
    sim::MrcPoint point;
    point.blocks = blocks;
    point.requests = mrc->requests;
    point.prompt_tokens = mrc->prompt_tokens;
    point.hit_tokens = std::llround(estimate.hit_rate * static_cast<double>(mrc->prompt_tokens));
    curve.points.push_back({point, estimate.hit_rate, estimate.error});
  }
  curve.rate = [mrc](std::int64_t blocks) { return mrc->at(blocks).hit_rate; };
  return curve;
}

void print_json(const Context& context,
                const sim::TraceReader& trace,
                const MrcArguments& options,
                const Scale& scale,
                const Curve& curve) {
  Json json = {{"schema_version", 1},
               {"trace",
                {{"file", trace.name()},
                 {"format", sim::to_string(trace.format())},
                 {"block_size", trace.block_size()},
                 {"requests", curve.requests},
                 {"prompt_tokens", curve.prompt_tokens}}},
               {"policy", "lru"},
               {"block_size", options.block_size},
               {"exact", !options.sample.has_value()},
               {"curve_from_blocks", curve.longest_blocks},
               {"working_set_blocks", curve.working_set_blocks},
               {"distinct_blocks", curve.distinct_blocks}};
  if (options.sample) {
    json["sample"] = {{"rate", *options.sample}, {"seed", options.seed}};
  }
  if (scale.bytes_per_token > 0) {
    json["kv_bytes_per_token"] = scale.bytes_per_token;
  }
  json["points"] = Json::array();
  for (const Point& point : curve.points) {
    const std::int64_t tokens = point.value.blocks * options.block_size;
    Json row = {{"blocks", point.value.blocks},
                {"tokens", tokens},
                {"hit_rate", point.hit_rate},
                {"hit_tokens", point.value.hit_tokens},
                {"requests", point.value.requests},
                {"rejected_requests", point.value.rejected_requests},
                {"prompt_tokens", point.value.prompt_tokens}};
    if (point.error) {
      row["error"] = *point.error;
    }
    if (scale.bytes_per_token > 0) {
      row["gib"] = scale.gib(tokens);
    }
    if (scale.usd_per_gib) {
      row[scale.usd_name()] = scale.gib(tokens) * *scale.usd_per_gib;
    }
    json["points"].push_back(std::move(row));
  }
  context.out << json.dump() << '\n';
}

void print_csv(const Context& context,
               const MrcArguments& options,
               const Scale& scale,
               const Curve& curve) {
  std::ostream& out = context.out;
  const auto number = [](double value) { return nlohmann::json(value).dump(); };
  out << "blocks,tokens,hit_rate,hit_tokens,requests,rejected_requests,prompt_tokens"
      << (options.sample ? ",error" : "") << (scale.bytes_per_token > 0 ? ",gib" : "");
  if (scale.usd_per_gib) {
    out << ',' << scale.usd_name();
  }
  out << '\n';
  for (const Point& point : curve.points) {
    const std::int64_t tokens = point.value.blocks * options.block_size;
    out << point.value.blocks << ',' << tokens << ',' << number(point.hit_rate) << ','
        << point.value.hit_tokens << ',' << point.value.requests << ','
        << point.value.rejected_requests << ',' << point.value.prompt_tokens;
    if (point.error) {
      out << ',' << number(*point.error);
    }
    if (scale.bytes_per_token > 0) {
      out << ',' << number(scale.gib(tokens));
    }
    if (scale.usd_per_gib) {
      out << ',' << number(scale.gib(tokens) * *scale.usd_per_gib);
    }
    out << '\n';
  }
}

void print_table(const Context& context,
                 const MrcArguments& options,
                 const Scale& scale,
                 const Curve& curve) {
  const bool small = std::any_of(curve.points.begin(), curve.points.end(), [](const Point& point) {
    return point.value.rejected_requests > 0;
  });
  std::vector<Table::Column> columns{{"blocks"}, {"tokens"}};
  if (scale.bytes_per_token > 0) {
    columns.push_back({"GiB"});
  }
  if (scale.usd_per_gib) {
    columns.push_back({scale.usd_title()});
  }
  columns.push_back({"hit tokens"});
  columns.push_back({"hit rate"});
  if (options.sample) {
    columns.push_back({"+/-"});
  }
  if (small) {
    columns.push_back({"never fit"});
  }
  Table table(columns);
  for (const Point& point : curve.points) {
    const std::int64_t tokens = point.value.blocks * options.block_size;
    std::vector<std::string> cells{grouped(point.value.blocks), grouped(tokens)};
    if (scale.bytes_per_token > 0) {
      cells.push_back(fixed(scale.gib(tokens), 3));
    }
    if (scale.usd_per_gib) {
      cells.push_back(fixed(scale.gib(tokens) * *scale.usd_per_gib, 4));
    }
    cells.push_back(grouped(point.value.hit_tokens));
    cells.push_back(fixed(point.hit_rate, 5));
    if (point.error) {
      cells.push_back(fixed(*point.error, 5));
    }
    if (small) {
      cells.push_back(grouped(point.value.rejected_requests));
    }
    table.add_row(cells);
  }
  context.out << table;
}

void print_text(const Context& context,
                const sim::TraceReader& trace,
                const MrcArguments& options,
                const Scale& scale,
                const Curve& curve) {
  context.out << trace.name() << ": " << grouped(curve.requests) << " requests, "
              << grouped(curve.prompt_tokens) << " prompt tokens; blocks of "
              << grouped(options.block_size) << " tokens, policy lru, whole blocks only, 1 live\n"
              << (options.sample
                      ? "estimated from a sample; +/- is nominally 95 %, see sim/README.md"
                      : "exact at every size")
              << "; nothing is gained above " << (options.sample ? "about " : "")
              << grouped(curve.working_set_blocks) << " blocks\n";
  print_table(context, options, scale, curve);
  if (curve.longest_blocks < curve.working_set_blocks) {
    context.out << '\n';
    draw_curve(context.out, curve.longest_blocks, curve.working_set_blocks, "blocks", curve.rate);
  }
}

int run_mrc(const MrcArguments& options, const Context& context) {
  check(options);
  const Scale scale = make_scale(options);
  const std::unique_ptr<sim::TraceReader> reader = sim::open_trace(
      options.trace, {sim::parse_trace_format(options.format), options.trace_block});
  sim::TraceReader* trace = reader.get();
  std::optional<sim::LoadedTrace> loaded;
  std::int64_t distinct = 0;
  if (options.at.needs_distinct()) {
    loaded.emplace(*reader, options.limit);
    trace = &*loaded;
    distinct = sim::compute_mrc(*trace, {options.block_size, {}, 0}).distinct_blocks;
    loaded->rewind();
  }
  const std::vector<std::int64_t> at = options.at.blocks(options.block_size, distinct);
  Curve curve;
  {
    Progress progress(context, "mrc", "requests");
    const sim::MrcProgress update = [&](std::int64_t done) {
      progress.update(done, options.limit);
    };
    curve = options.sample ? sampled_curve(*trace, options, at, update)
                           : exact_curve(*trace, options, at, update);
  }
  if (options.csv) {
    print_csv(context, options, scale, curve);
  } else if (context.json) {
    print_json(context, *trace, options, scale, curve);
  } else {
    print_text(context, *trace, options, scale, curve);
  }
  return kExitOk;
}

void add_curve_options(CLI::App& command, MrcArguments& options) {
  command.add_option("--trace", options.trace, "Trace file, or - for standard input")
      ->required()
      ->type_name("FILE");
  command.add_option("--format", options.format, "Format of the trace (default: told from it)")
      ->type_name("NAME");
  command.add_option("--trace-block", options.trace_block, "Prompt tokens an id stands for")
      ->check(integer_range(1, kInt32Max))
      ->type_name("N");
  command.add_option("--block-size", options.block_size, "Tokens a block of the pool")
      ->check(integer_range(1, 65536))
      ->capture_default_str()
      ->type_name("N");
  options.at.add_options(command, "--at", "Pool sizes in blocks, or 0.01 of the distinct blocks");
  command.add_option("--points", options.points, "Else so many sizes")
      ->check(integer_range(2, 10000))
      ->capture_default_str()
      ->type_name("N");
  command.add_flag("--all", options.all, "Else every size at which the curve rises");
  command.add_option("--limit", options.limit, "Only the first N requests")
      ->check(integer_range(1, kInt64Max))
      ->type_name("N");
  command.add_option("--sample", options.sample, "Estimate from this share of the blocks")
      ->check(number_range(0, 1, true))
      ->type_name("RATE");
  command.add_option("--seed", options.seed, "Which blocks are sampled")
      ->check(integer_range(0, kInt64Max))
      ->capture_default_str()
      ->type_name("N");
}

void add_unit_options(CLI::App& command, MrcArguments& options) {
  command.add_flag("--csv", options.csv, "Comma-separated values");
  command.add_option("--model", options.model, "A config.json, for sizes in GiB")
      ->type_name("FILE");
  command.add_option("--tp", options.tp, "GPUs that share the model")
      ->check(integer_range(1, 16384))
      ->capture_default_str()
      ->type_name("N");
  command.add_option("--kv-dtype", options.kv_dtype, "As octavo footprint's")
      ->check(one_of({"bf16", "f16", "f32", "fp8", "fp8_e5m2", "int8", "int4"}))
      ->capture_default_str()
      ->type_name("NAME");
  command.add_option("--usd-per-gib", options.usd_per_gib, "Price of a GiB of cache")
      ->check(number_range(0, 1e9, true))
      ->type_name("X");
  command.add_option("--gpu-hour-usd", options.gpu_hour_usd, "Or that of a GPU by the hour,")
      ->check(number_range(0, 1e9, true))
      ->type_name("X");
  command.add_option("--gpu", options.gpu, "shared out over its memory")->type_name("NAME");
}

}  // namespace

void register_mrc(CLI::App& app, Context& context) {
  auto options = std::make_shared<MrcArguments>();
  CLI::App* command = app.add_subcommand("mrc", "hit rates of LRU pools of all sizes, in one pass");
  command->footer(
      "Example:\n"
      "  octavo mrc --trace traces/chat.jsonl --block-size 16 --at 1024,4096,16384");
  add_curve_options(*command, *options);
  add_unit_options(*command, *options);
  command->callback([options, &context] {
    context.run = [options, &context] { return run_mrc(*options, context); };
  });
}

}  // namespace octavo::tools
