// `octavo trace` and `octavo trace info`: look at a trace.
//
// The options of a subcommand live in a shared block that its callbacks own, since they run after
// register_trace has returned.

#include "cmd_trace.h"

#include <memory>
#include <string>
#include <vector>

#include "command.h"
#include "octavo/sim/trace.h"
#include "octavo/sim/trace_stats.h"
#include "progress.h"
#include "table.h"
#include "validate.h"

namespace octavo::tools {
namespace {

struct InfoOptions {
  std::string file;
  std::string format = "auto";
  std::int64_t trace_block = 0;
  std::int64_t limit = 0;
};

// Passes requests on and shows how many there were.
class WatchedReader final : public sim::TraceReader {
 public:
  WatchedReader(sim::TraceReader& reader, const Context& context, std::int64_t total)
      : TraceReader(reader.name(), reader.format(), reader.block_size(), reader.traits()),
        reader_(reader),
        progress_(context, "trace info", "requests"),
        total_(total) {}

  std::int64_t line() const noexcept override { return reader_.line(); }
  std::int64_t skipped() const noexcept override { return reader_.skipped(); }

 private:
  bool read(sim::TraceRequest& request) override {
    if (!reader_.next(request)) {
      return false;
    }
    progress_.update(++done_, total_);
    return true;
  }

  sim::TraceReader& reader_;
  Progress progress_;
  std::int64_t total_;  // 0 is unknown.
  std::int64_t done_ = 0;
};

std::string seconds(std::int64_t time_ns) {
  return fixed(static_cast<double>(time_ns) / 1e9, 3);
}

std::string yes_no(bool value) {
  return value ? "yes" : "no";
}

void add_arrivals(const sim::TraceStats& stats, Table& table) {
  if (!stats.traits.arrivals) {
    table.add_row({"duration", "-", "the trace has no times"});
    return;
  }
  table.add_row({"duration", seconds(stats.duration_ns()),
                 "s, from " + seconds(stats.first_arrival_ns) + " s to " +
                     seconds(stats.last_arrival_ns) + " s"});
  table.add_row({"distinct arrival times", grouped(stats.distinct_arrivals)});
  table.add_row({"sorted by arrival", yes_no(stats.sorted()),
                 stats.sorted() ? ""
                                : grouped(stats.unsorted_requests) +
                                      " requests arrive before the one on the line above"});
}

void add_blocks(const sim::TraceStats& stats, Table& table) {
  if (!stats.traits.prefix_ids) {
    table.add_row({"block ids", "-", "the trace does not say what prompts share"});
    return;
  }
  table.add_row({"block ids", grouped(stats.blocks.sum),
                 "of " + grouped(stats.block_size) +
                     (stats.traits.tail_has_id ? " tokens, partial tails included"
                                               : " tokens, whole blocks only")});
  table.add_row({"distinct", grouped(stats.distinct_blocks),
                 "the largest is " + grouped(stats.max_block_id)});
  table.add_row({"used once", grouped(stats.blocks_used_once)});
  table.add_row({"prefix-chained", yes_no(stats.prefix_chained()),
                 stats.prefix_chained()
                     ? ""
                     : grouped(stats.unchained_blocks) +
                           " ids occur at two positions or behind two ids: they name contents, not "
                           "prefixes, and the hits below are too high"});
}

// What only some traces have.
void add_extras(const sim::TraceStats& stats, Table& table) {
  const auto add = [&](const char* name, std::int64_t count, const char* what) {
    if (count != 0) {
      table.add_row({name, grouped(count), what});
    }
  };
  add("skipped records", stats.skipped, "are no requests");
  add("requests of sub-agents", stats.sub_requests, "");
  add("delayed requests", stats.delayed_requests, "wait for the end of others");
  add("empty outputs", stats.empty_outputs, "requests of which nothing was generated");
  add("media", stats.media, "images and the like in prompts");
}

void print_counts(const sim::TraceStats& stats, std::ostream& out) {
  using Align = Table::Align;
  Table table({{"", Align::Left}, {"", Align::Right}, {"", Align::Left}});
  table.add_row({"requests", grouped(stats.requests)});
  table.add_row({"sessions", stats.sessions == 0 ? "-" : grouped(stats.sessions),
                 stats.sessions == 0 ? "the trace names none" : ""});
  add_arrivals(stats, table);
  add_extras(stats, table);
  table.add_gap();
  add_blocks(stats, table);
  out << table;
}

void print_lengths(const sim::TraceStats& stats, std::ostream& out) {
  Table table({{"per request", Table::Align::Left},
               {"sum"},
               {"mean"},
               {"p50"},
               {"p90"},
               {"p99"},
               {"min"},
               {"max"}});
  const auto add = [&](const char* name, const sim::Summary& summary) {
    table.add_row({name, grouped(summary.sum), fixed(summary.mean, 2), grouped(summary.p50),
                   grouped(summary.p90), grouped(summary.p99), grouped(summary.min),
                   grouped(summary.max)});
  };
  add("input tokens", stats.input_tokens);
  if (stats.traits.outputs) {
    add("output tokens", stats.output_tokens);
  }
  if (stats.traits.prefix_ids) {
    add("block ids", stats.blocks);
  }
  out << table;
}

void print_session_hits(const sim::SessionHits& hits, std::ostream& out) {
  Table table({{"ideal hits of each session alone", Table::Align::Left},
               {"sessions"},
               {"mean"},
               {"min"},
               {"p25"},
               {"p50"},
               {"p75"},
               {"max"}});
  table.add_row({"blocks", grouped(hits.sessions), fixed(hits.mean, 5), fixed(hits.min, 5),
                 fixed(hits.p25, 5), fixed(hits.p50, 5), fixed(hits.p75, 5), fixed(hits.max, 5)});
  out << '\n' << table;
}

void print_hits(const sim::TraceStats& stats, std::ostream& out) {
  if (!stats.traits.prefix_ids) {
    out << "ideal hits: not known, since the trace does not say what prompts share\n";
    return;
  }
  const sim::IdealHits& ideal = stats.ideal;
  Table table({{"ideal hits (nothing is ever evicted)", Table::Align::Left},
               {"hits"},
               {"of"},
               {"rate"},
               {"mean of requests"}});
  const auto row = [](const char* name, const sim::HitCount& count) {
    return std::vector<std::string>{name, grouped(count.hits), grouped(count.total),
                                    fixed(count.rate(), 5)};
  };
  const bool tails = stats.traits.tail_has_id;
  std::vector<std::string> cells =
      row(tails ? "blocks, partial tails included" : "blocks", ideal.blocks);
  cells.push_back(fixed(ideal.mean_request_blocks, 5));
  table.add_row(cells);
  table.add_row(row("whole blocks", ideal.full_blocks));
  cells = row(tails ? "tokens, partial tails included" : "tokens", ideal.tokens);
  cells.push_back(fixed(ideal.mean_request_tokens, 5));
  table.add_row(cells);
  table.add_row(row("tokens of whole blocks, never a whole prompt", ideal.servable_tokens));
  table.add_row(row("requests with every block hit",
                    {.hits = ideal.whole_requests, .total = stats.requests}));
  if (stats.recorded_requests > 0) {
    table.add_row(row("tokens, as the recorded engine counted", stats.recorded_tokens));
  }
  out << table;
  if (stats.session_hits.sessions > 0) {
    print_session_hits(stats.session_hits, out);
  }
}

int run_info(const InfoOptions& options, Context& context) {
  const auto file = sim::open_trace(
      options.file,
      {.format = sim::parse_trace_format(options.format), .trace_block = options.trace_block});
  sim::TraceStats stats;
  {
    WatchedReader reader(*file, context, options.limit);
    stats = sim::compute_trace_stats(reader, options.limit);
  }
  if (context.json) {
    context.out << sim::to_json(stats) << '\n';
    return kExitOk;
  }
  context.out << stats.name << ": " << sim::to_string(stats.format) << " trace, ";
  if (stats.traits.prefix_ids) {
    context.out << grouped(stats.block_size) << " tokens a block\n\n";
  } else {
    context.out << "lengths" << (stats.traits.arrivals ? " and times" : "") << " only\n\n";
  }
  print_counts(stats, context.out);
  context.out << '\n';
  print_lengths(stats, context.out);
  context.out << '\n';
  print_hits(stats, context.out);
  return kExitOk;
}

void register_info(CLI::App& trace, Context& context) {
  auto options = std::make_shared<InfoOptions>();
  CLI::App* info = trace.add_subcommand(
      "info", "requests, tokens, blocks, duration, and what an ideal cache would hit");
  info->footer(
      "Example:\n"
      "  octavo trace info traces/chat.jsonl");
  info->add_option("FILE", options->file,
                   "the trace, .gz and .zst too; - reads standard input; a folder of WEKA sessions")
      ->required();
  info->add_option("--format", options->format,
                   "auto, mooncake, dynamo, aiperf, bailian, azure, burstgpt, vidur, splitwise, "
                   "weka, dynamo-trace, llmservingsim, tair or octavo (default: auto)")
      ->check(one_of(sim::trace_format_names()));
  info->add_option("--trace-block", options->trace_block,
                   "tokens an id stands for (default: the file's, else 512 for mooncake, dynamo "
                   "and aiperf, 16 for bailian, llmservingsim and tair)")
      ->check(integer_range(1, sim::kTraceBlockMax));
  info->add_option("--limit", options->limit, "look at the first so many requests only")
      ->check(integer_range(1, kInt64Max));
  info->callback([options, &context] {
    context.run = [options, &context] { return run_info(*options, context); };
  });
}

}  // namespace

void register_trace(CLI::App& app, Context& context) {
  CLI::App* trace = app.add_subcommand("trace", "look at traces, and make them");
  trace->footer(
      "Example:\n"
      "  octavo trace info traces/chat.jsonl");
  trace->require_subcommand(1);
  register_info(*trace, context);
  register_trace_gen(*trace, context);
  register_trace_convert(*trace, context);
  register_trace_events(*trace, context);
}

}  // namespace octavo::tools
