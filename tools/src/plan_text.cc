#include "plan_text.h"

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <string>

#include "table.h"
#include <nlohmann/json.hpp>

namespace octavo::tools {
namespace {

using Json = nlohmann::ordered_json;
using Align = Table::Align;

constexpr std::size_t kTextWidth = 96;

/// "  - " and the text, broken at blanks, the following lines indented as far.
void print_wrapped(const std::string& text, std::ostream& out) {
  std::istringstream words(text);
  std::string word;
  std::string line = "  -";
  while (words >> word) {
    if (line.size() + 1 + word.size() > kTextWidth) {
      out << line << '\n';
      line = "   ";
    }
    line += ' ';
    line += word;
  }
  out << line << '\n';
}

std::string gib_text(std::int64_t bytes) {
  return fixed(static_cast<double>(bytes) / kGib, 2);
}

std::string range_text(const sim::Estimate& estimate) {
  if (estimate.low == estimate.high) {
    return "";
  }
  return fixed(estimate.low, 2) + " to " + fixed(estimate.high, 2) + ", estimated";
}

std::string gpus_text(const sim::CapacityPlan& plan) {
  const sim::PlanRequest& request = plan.request;
  if (plan.gpus() == 1) {
    return request.gpu.name;
  }
  std::string text = grouped(plan.gpus()) + " x " + request.gpu.name;
  if (request.pp > 1 || request.dp > 1) {
    text += " (tp " + grouped(request.tp) + ", pp " + grouped(request.pp) + ", dp " +
            grouped(request.dp) + ")";
  }
  return text;
}

void print_budget(const sim::CapacityPlan& plan, std::ostream& out) {
  const sim::MemoryBudget& budget = *plan.budget;
  Table table({{"memory of each GPU", Align::Left}, {"GiB"}, {"", Align::Left}});
  const bool marked = plan.request.gpu.total_source == sim::FigureSource::Datasheet;
  table.add_row({"total", (marked ? "~" : "") + fixed(budget.total_gib, 2)});
  table.add_row({"usable, " + fixed(budget.utilization * 100, 1) + " % of it",
                 fixed(budget.total_gib * budget.utilization, 2)});
  table.add_row({"- weights", fixed(budget.weights.expected, 2), range_text(budget.weights)});
  table.add_row(
      {"- activation peak", fixed(budget.activation.expected, 2), range_text(budget.activation)});
  table.add_row(
      {"- outside torch", fixed(budget.non_torch.expected, 2), range_text(budget.non_torch)});
  if (budget.graph.expected > 0) {
    table.add_row({"- CUDA graphs", fixed(budget.graph.expected, 2), range_text(budget.graph)});
  }
  table.add_row({"= KV cache", gib_text(plan.expected.budget_bytes)});
  out << table << '\n';
}

void print_capacity(const sim::CapacityPlan& plan, std::ostream& out) {
  const sim::PlanRequest& request = plan.request;
  const bool ranged = plan.low.budget_bytes != plan.high.budget_bytes;
  Table table({{"KV cache of each GPU", Align::Left},
               {"expected"},
               {ranged ? "at least" : ""},
               {ranged ? "at most" : ""}});
  const auto add = [&](const std::string& name, const auto& text_of) {
    if (ranged) {
      table.add_row({name, text_of(plan.expected), text_of(plan.low), text_of(plan.high)});
    } else {
      table.add_row({name, text_of(plan.expected)});
    }
  };
  add("GiB", [](const sim::PoolCapacity& pool) { return gib_text(pool.budget_bytes); });
  add(plan.groups.size() > 1 ? "blocks, for " + grouped(plan.groups.size()) + " groups of layers"
                             : "blocks of " + grouped(plan.block_size) + " tokens",
      [](const sim::PoolCapacity& pool) { return grouped(pool.blocks); });
  add("tokens", [](const sim::PoolCapacity& pool) { return grouped(pool.tokens); });
  add("requests of " + grouped(request.max_len) + " tokens at once",
      [](const sim::PoolCapacity& pool) { return fixed(pool.concurrency, 2); });
  out << table << '\n';
}

std::string class_text(const sim::CacheLayer& layer) {
  switch (layer.kind) {
    case sim::CacheKind::Attention:
      return layer.window > 0 ? "window of " + grouped(layer.window) + " tokens" : "full attention";
    case sim::CacheKind::Chunked:
      return "chunks of " + grouped(layer.window) + " tokens";
    case sim::CacheKind::Latent:
      return "latent (MLA)";
    case sim::CacheKind::State:
      return "state";
    case sim::CacheKind::Cross:
      return "cross-attention to " + grouped(layer.encoder_len) + " positions";
    case sim::CacheKind::None:
      break;
  }
  return "nothing";
}

void print_classes(const sim::CapacityPlan& plan, std::ostream& out) {
  const bool sequences = plan.bytes_per_sequence > 0;
  Table table({{"KV rows of each GPU", Align::Left},
               {"layers"},
               {"KV heads"},
               {"head dim"},
               {"bytes per token"},
               {sequences ? "bytes per sequence" : ""}});
  const auto or_blank = [](std::int64_t value) { return value > 0 ? grouped(value) : ""; };
  for (const sim::KvClass& rows : plan.classes) {
    const bool state = rows.layer.kind == sim::CacheKind::State;
    table.add_row({class_text(rows.layer), grouped(rows.layers),
                   grouped(state ? rows.layer.state.heads : rows.layer.kv_heads),
                   state ? grouped(rows.layer.state.k_dim) + " x " + grouped(rows.layer.state.v_dim)
                         : grouped(rows.layer.head_dim),
                   or_blank(rows.bytes_per_token), or_blank(rows.bytes_per_sequence)});
  }
  if (plan.classes.size() > 1) {
    table.add_row(
        {"all", "", "", "", grouped(plan.bytes_per_token), or_blank(plan.bytes_per_sequence)});
  }
  out << table << '\n';
}

void print_waste(const sim::CapacityPlan& plan, std::ostream& out) {
  if (plan.waste.empty()) {
    return;
  }
  Table table({{"memory that holds nothing", Align::Left},
               {"MiB"},
               {"of a", Align::Left},
               {"", Align::Left}});
  for (const sim::Waste& waste : plan.waste) {
    std::string cause = waste.cause;
    std::replace(cause.begin(), cause.end(), '_', ' ');
    table.add_row(
        {cause, fixed(static_cast<double>(waste.bytes) / (1 << 20), 2), waste.of, waste.text});
  }
  out << table << '\n';
}

std::string limit_text(const sim::CapacityPlan& plan) {
  switch (plan.limited_by) {
    case sim::LimitedBy::TokenPool:
      return "the tokens of the pool";
    case sim::LimitedBy::SequenceSlots:
      return "max-num-seqs, " + grouped(plan.request.max_num_seqs) + " requests";
    case sim::LimitedBy::StateSlots:
      return "the slots for states, " + grouped(plan.expected.state_slots);
    case sim::LimitedBy::OneRequest:
      return "max-len: the pool is smaller than one such request";
    case sim::LimitedBy::Budget:
      break;
  }
  return "memory: nothing is left for the KV cache";
}

void print_request(const sim::CapacityPlan& plan, std::ostream& out) {
  out << "A request of " << grouped(plan.request.max_len) << " tokens holds "
      << grouped(plan.blocks_per_request) << " blocks, "
      << gib_text(plan.blocks_per_request * plan.bytes_per_block)
      << " GiB on each GPU.\nLimited by " << limit_text(plan) << ".\n";
  if (plan.gpus() > 1) {
    out << "All " << grouped(plan.gpus())
        << " GPUs: " << grouped(plan.expected.tokens * plan.request.dp) << " tokens, "
        << fixed(plan.total_concurrency(), 2) << " such requests at once.\n";
  }
}

void print_hits(const sim::PoolHits& hits, std::ostream& out) {
  const std::string file = std::filesystem::path(hits.trace).filename().string();
  out << "Prefix cache: " << fixed(hits.hit_rate() * 100, 2) << " % of "
      << grouped(hits.prompt_tokens) << " prompt tokens hit\n(" << file << ", "
      << grouped(hits.requests) << " requests, one at a time";
  if (hits.rejected_requests > 0) {
    out << "; " << grouped(hits.rejected_requests) << " more are longer than the pool";
  }
  out << ").\n";
}

void print_equations(const sim::CapacityPlan& plan, std::ostream& out) {
  out << "\nEquations\n";
  for (const sim::Equation& equation : sim::explain(plan)) {
    out << "  " << equation.left;
    if (!equation.formula.empty()) {
      out << " = " << equation.formula;
    }
    out << "\n      " << equation.numbers << '\n';
    if (!equation.source.empty()) {
      out << "      [" << equation.source << "]\n";
    }
  }
}

void print_sensitivities(const std::vector<sim::Sensitivity>& all, std::ostream& out) {
  if (all.empty()) {
    return;
  }
  Table table(
      {{"what moves the answer", Align::Left}, {"range", Align::Left}, {"tokens from"}, {"to"}});
  for (const sim::Sensitivity& one : all) {
    table.add_row({one.input, one.range, grouped(std::min(one.tokens_at_low, one.tokens_at_high)),
                   grouped(std::max(one.tokens_at_low, one.tokens_at_high))});
  }
  out << '\n' << table;
}

std::string verdict_text(const sim::CapacityPlan& plan, bool colour) {
  const std::string text = plan.fits ? "fits" : "does not fit";
  const char* code = plan.fits ? "\x1b[1;32m" : "\x1b[1;31m";
  return colour ? code + text + "\x1b[0m" : text;
}

void print_ways(const sim::WaysToReach& ways, std::ostream& out) {
  Table table({{"for " + fixed(ways.concurrency, 0) + " requests at once, one of", Align::Left},
               {"", Align::Left}});
  const auto add = [&](const std::string& option, const std::string& value) {
    table.add_row({option, value.empty() ? "not by this alone" : value});
  };
  add("--gpu-memory-utilization", ways.utilization ? fixed(*ways.utilization, 3) : "");
  add("--gpus", ways.gpus ? grouped(*ways.gpus) + " (tp " + grouped(ways.division.tp) + ", dp " +
                                grouped(ways.division.dp) + ")"
                          : "");
  add("--kv-dtype", ways.kv_dtype.value_or(""));
  add("--max-len", ways.max_len ? std::to_string(*ways.max_len) : "");
  out << '\n' << table;
  if (ways.max_num_seqs) {
    out << "each with --max-num-seqs " << *ways.max_num_seqs << '\n';
  }
}

}  // namespace

void print_plan(const sim::CapacityPlan& plan, const PlanExtras& extras, std::ostream& out) {
  out << plan.request.model.name << " on " << gpus_text(plan) << ", KV cache in "
      << plan.request.format.name << ", engine " << sim::to_string(plan.engine) << ": "
      << verdict_text(plan, extras.colour) << "\n\n";
  if (plan.budget) {
    print_budget(plan, out);
  }
  print_capacity(plan, out);
  print_classes(plan, out);
  print_waste(plan, out);
  print_request(plan, out);
  if (plan.hits) {
    print_hits(*plan.hits, out);
  }
  print_workload(extras.workload, plan, out);
  print_sensitivities(extras.sensitivities, out);
  if (extras.ways) {
    print_ways(*extras.ways, out);
  }
  if (!extras.log_found.empty()) {
    out << "\nFrom the start-up log\n";
    for (const auto* lines : {&extras.log_found, &extras.log_inferred, &extras.log_compared}) {
      for (const std::string& line : *lines) {
        print_wrapped(line, out);
      }
    }
  }
  out << "\nRemarks\n";
  for (const std::string& remark : sim::remarks(plan)) {
    print_wrapped(remark, out);
  }
  if (extras.equations) {
    print_equations(plan, out);
  }
}

std::string plan_json(const sim::CapacityPlan& plan, const PlanExtras& extras) {
  Json json = Json::parse(sim::to_json(plan, extras.equations));
  json["sensitivities"] = Json::array();
  for (const sim::Sensitivity& one : extras.sensitivities) {
    json["sensitivities"].push_back({{"input", one.input},
                                     {"range", one.range},
                                     {"tokens_at_low", one.tokens_at_low},
                                     {"tokens_at_high", one.tokens_at_high}});
  }
  const auto or_null = [](const auto& value) { return value ? Json(*value) : Json(nullptr); };
  if (extras.ways) {
    const sim::WaysToReach& ways = *extras.ways;
    json["wanted"] = {{"concurrency", ways.concurrency},
                      {"gpu_memory_utilization", or_null(ways.utilization)},
                      {"gpus", or_null(ways.gpus)},
                      {"tp", ways.gpus ? Json(ways.division.tp) : Json(nullptr)},
                      {"dp", ways.gpus ? Json(ways.division.dp) : Json(nullptr)},
                      {"kv_dtype", or_null(ways.kv_dtype)},
                      {"max_len", or_null(ways.max_len)},
                      {"max_num_seqs", or_null(ways.max_num_seqs)}};
  }
  if (!extras.log_found.empty()) {
    json["boot_log"] = {{"found", extras.log_found},
                        {"inferred", extras.log_inferred},
                        {"compared", extras.log_compared}};
  }
  add_workload_json(extras.workload, plan, json);
  json["requirements"] = Json::array();
  for (const sim::Verdict& verdict : extras.verdicts) {
    json["requirements"].push_back({{"requirement", verdict.requirement.text()},
                                    {"value", verdict.value},
                                    {"met", verdict.met}});
  }
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace octavo::tools
