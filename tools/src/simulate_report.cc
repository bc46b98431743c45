#include "simulate_report.h"

#include "table.h"

namespace octavo::tools {
namespace {

using Align = Table::Align;

std::string ms_text(std::int64_t ns) {
  return fixed(static_cast<double>(ns) / 1e6, 2);
}

std::string count_text(std::int64_t count, const std::string& one) {
  return grouped(count) + " " + one + (count == 1 ? "" : "s");
}

void print_head(const SimulatedRun& run, std::ostream& out) {
  out << run.trace << " on " << count_text(run.config.replicas, "replica");
  if (!run.model.empty()) {
    out << " of " << run.model;
  }
  if (!run.gpu.empty()) {
    out << (run.tp == 1 ? " on " : " on " + grouped(run.tp) + " x ") << run.gpu;
  }
  out << ", KV cache in " << run.kv_dtype << "\n";
  const sim::ServingConfig& config = run.config;
  out << grouped(config.num_blocks) << " blocks of " << grouped(std::int64_t{config.block_size})
      << " tokens (" << grouped(config.num_blocks * config.block_size) << " tokens), at most "
      << grouped(std::int64_t{config.max_num_seqs}) << " requests and "
      << grouped(config.max_num_batched_tokens) << " tokens a step\n";
  out << "policy " << octavo::to_string(config.policy) << ", order "
      << sim::to_string(config.order);
  if (config.replicas > 1) {
    out << ", router " << sim::to_string(config.router);
  }
  out << ", step cost by " << run.cost << "\n\n";
}

void print_latencies(const sim::ServingSummary& summary, std::ostream& out) {
  Table table({{"ms", Align::Left}, {"mean"}, {"p50"}, {"p90"}, {"p99"}, {"max"}});
  const auto add = [&table](const std::string& name, const sim::TimeSummary& times) {
    if (times.count == 0) {
      table.add_row({name, "-", "-", "-", "-", "-"});
      return;
    }
    table.add_row({name, ms_text(times.mean_ns), ms_text(times.p50_ns), ms_text(times.p90_ns),
                   ms_text(times.p99_ns), ms_text(times.max_ns)});
  };
  add("time to first token", summary.ttft);
  add("time per output token", summary.tpot);
  add("between tokens", summary.itl);
  add("end to end", summary.end_to_end);
  add("queued", summary.queued);
  out << table << '\n';
}

void print_rates(const SimulatedRun& run, std::ostream& out) {
  const sim::ServingSummary& s = run.summary;
  Table table({{"requests", Align::Left}, {""}, {"", Align::Left}});
  table.add_row({"finished", grouped(s.finished_requests),
                 "in " + fixed(s.seconds(), 2) + " s, " +
                     fixed(s.per_second(s.finished_requests), 3) + " a second"});
  if (run.limits.ttft_ns || run.limits.tpot_ns) {
    std::string limits;
    if (run.limits.ttft_ns) {
      limits += "first token in " + ms_text(*run.limits.ttft_ns) + " ms";
    }
    if (run.limits.tpot_ns) {
      limits += (limits.empty() ? "" : ", ") + ms_text(*run.limits.tpot_ns) + " ms a token";
    }
    table.add_row({"good", grouped(s.good_requests),
                   fixed(s.per_second(s.good_requests), 3) + " a second (" + limits + ")"});
  }
  if (s.cancelled_requests > 0) {
    table.add_row({"cancelled", grouped(s.cancelled_requests)});
  }
  if (s.rejected_requests > 0) {
    table.add_row({"rejected", grouped(s.rejected_requests), "can never fit"});
  }
  table.add_row({"preempted", grouped(s.preemptions),
                 s.preemptions > 0 ? grouped(s.recomputed_tokens) + " tokens computed again" : ""});
  table.add_gap();
  table.add_row({"input tokens", grouped(s.input_tokens),
                 fixed(s.per_second(s.input_tokens), 1) + " a second"});
  table.add_row({"of them cached", grouped(s.cached_tokens), fixed(s.hit_rate() * 100, 2) + " %"});
  table.add_row({"output tokens", grouped(s.output_tokens),
                 fixed(s.per_second(s.output_tokens), 1) + " a second"});
  if (s.draft_tokens > 0) {
    table.add_row(
        {"draft tokens", grouped(s.draft_tokens), grouped(s.rejected_draft_tokens) + " rejected"});
  }
  table.add_row({"steps", grouped(s.steps),
                 "the replicas were busy for " + fixed(s.busy_share(run.config.replicas) * 100, 1) +
                     " % of the time"});
  out << table << '\n';
}

void print_load(const SimulatedRun& run, std::ostream& out) {
  Table table({{"while steps ran", Align::Left}, {"mean"}, {"min"}, {"max"}});
  const auto add = [&](const std::string& name, sim::Gauge gauge) {
    const auto index = static_cast<std::size_t>(gauge);
    sim::Wide weighted = 0;
    sim::Wide busy = 0;
    std::int64_t least = 0;
    std::int64_t most = 0;
    for (const sim::StepSeries& replica : run.series) {
      for (const sim::StepBucket& bucket : replica.buckets()) {
        if (bucket.steps == 0) {
          continue;
        }
        const sim::GaugeBucket& values = bucket.gauges[index];
        least = busy == 0 ? values.min : std::min(least, values.min);
        most = std::max(most, values.max);
        weighted += values.weighted;
        busy += sim::wide(bucket.busy_ns);
      }
    }
    if (busy > 0) {
      const double mean = static_cast<double>(weighted) / static_cast<double>(busy);
      table.add_row({name, fixed(mean, 1), grouped(least), grouped(most)});
    }
  };
  add("running requests", sim::Gauge::Running);
  add("waiting requests", sim::Gauge::Waiting);
  add("live blocks", sim::Gauge::LiveBlocks);
  add("parked blocks", sim::Gauge::ParkedBlocks);
  add("free blocks", sim::Gauge::FreeBlocks);
  out << table;
  if (run.config.replicas > 1) {
    out << "(of one replica)\n";
  }
}

}  // namespace

void print_text(const SimulatedRun& run, std::ostream& out) {
  print_head(run, out);
  print_latencies(run.summary, out);
  print_rates(run, out);
  print_load(run, out);
  if (!run.remarks.empty()) {
    out << '\n';
  }
  for (const std::string& remark : run.remarks) {
    out << "Note: " << remark << ".\n";
  }
}

}  // namespace octavo::tools
