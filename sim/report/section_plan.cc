// What one `octavo plan` says.
#include <algorithm>
#include <cmath>

#include "report_number.h"
#include "sections.h"
#include "stacked_bar.h"

namespace octavo::sim::report {
namespace {

std::string whole(double value) {
  return number(value, 0);
}

std::string gib(double value) {
  return number(value, 2) + " GiB";
}

std::string bytes_text(double bytes) {
  if (bytes >= kBytesPerGib) {
    return gib(bytes / kBytesPerGib);
  }
  if (bytes >= 1048576) {
    return number(bytes / 1048576, 2) + " MiB";
  }
  return bytes >= 10240 ? number(bytes / 1024, 2) + " KiB" : whole(bytes) + " bytes";
}

/// "block_tail" -> "Block tail".
std::string words(std::string name) {
  std::replace(name.begin(), name.end(), '_', ' ');
  if (!name.empty() && name[0] >= 'a' && name[0] <= 'z') {
    name[0] = static_cast<char>(name[0] - 'a' + 'A');
  }
  return name;
}

std::string tile(const std::string& figure, const std::string& unit, const std::string& range) {
  std::string out = "<div class=\"tile\"><dd>" + escape(figure) + "</dd><dt>" + escape(unit);
  if (!range.empty()) {
    out += "<small>" + escape(range) + "</small>";
  }
  return out + "</dt></div>\n";
}

std::string range_text(double low, double high, int decimals) {
  return low == high ? std::string() : number(low, decimals) + " to " + number(high, decimals);
}

std::string limit_text(const std::string& limit) {
  if (limit == "token_pool") {
    return "Limited by the tokens of the pool.";
  }
  if (limit == "state_slots") {
    return "Limited by the slots for recurrent states.";
  }
  if (limit == "max_num_seqs") {
    return "Limited by the requests in a batch.";
  }
  return "Limited by " + words(limit) + ".";
}

std::string verdict(const ResultFields& plan) {
  const ResultFields capacity = plan.object("capacity");
  if (capacity.flag("fits")) {
    return "<p class=\"verdict\"><span class=\"badge good\">\u2713 Fits</span> " +
           escape(limit_text(capacity.text("limited_by"))) + "</p>\n";
  }
  std::string text = bytes_text(capacity.number("missing_bytes")) + " are missing on each GPU.";
  if (plan.has("remedies")) {
    const ResultFields remedies = plan.object("remedies");
    std::string ways;
    const auto add = [&ways](const std::string& way) {
      ways += (ways.empty() ? "" : ", or ") + way;
    };
    if (const auto tp = remedies.optional_number("tp")) {
      add("--tp " + whole(*tp));
    }
    if (const auto share = remedies.optional_number("gpu_memory_utilization")) {
      add("--gpu-memory-utilization " + number(*share, 3));
    }
    if (const auto length = remedies.optional_number("max_len"); length && *length > 0) {
      add("--max-len " + plain(*length, 0));
    }
    text += ways.empty() ? "" : " What would fit: " + ways + ".";
  }
  return "<p class=\"verdict\"><span class=\"badge bad\">\u2717 Does not fit</span> " +
         escape(text) + "</p>\n";
}

std::string tiles(const ResultFields& plan) {
  const ResultFields capacity = plan.object("capacity");
  const ResultFields low = capacity.object("low");
  const ResultFields high = capacity.object("high");
  const auto range = [&](const char* name, int decimals, double unit) {
    return range_text(low.number(name) / unit, high.number(name) / unit, decimals);
  };
  std::string out = "<dl class=\"tiles\">\n";
  out += tile(whole(capacity.number("tokens")), "tokens", range("tokens", 0, 1));
  out +=
      tile(whole(capacity.number("blocks")),
           "blocks of " + counted(capacity.number("block_size"), "token"), range("blocks", 0, 1));
  out += tile(number(std::max(capacity.number("kv_budget_bytes"), 0.0) / kBytesPerGib, 2),
              "GiB of KV cache on each GPU",
              capacity.flag("fits") ? range("kv_budget_bytes", 2, kBytesPerGib) : "");
  out +=
      tile(number(capacity.number("concurrency"), 2),
           "requests of " + counted(plan.object("options").number("max_len"), "token") + " at once",
           range("concurrency", 2, 1));
  if (plan.has("trace")) {
    const ResultFields trace = plan.object("trace");
    out += tile(number(trace.number("hit_rate") * 100, 2) + " %",
                "of prompt tokens hit, " + file_name(trace.text("name")), "");
  }
  return out + "</dl>\n";
}

std::string setup_line(const ResultFields& plan) {
  const ResultFields options = plan.object("options");
  const ResultFields gpu = plan.object("gpu");
  double gpus = 1;
  for (const char* name : {"tp", "pp", "dp"}) {
    gpus *= options.optional_number(name).value_or(1);
  }
  std::string text = (gpus > 1 ? whole(gpus) + " \u00d7 " : "") + gpu.text("name");
  for (const char* name : {"tp", "pp", "dp", "dcp"}) {
    if (const auto ranks = options.optional_number(name); ranks && *ranks > 1) {
      text += std::string(", ") + name + " " + whole(*ranks);
    }
  }
  text += ", KV cache in " + options.text("kv_dtype");
  if (options.has("engine")) {
    text += ", engine " + options.text("engine");
  }
  const ResultFields model = plan.object("model");
  if (const auto parameters = model.optional_number("parameters")) {
    text += "; " + short_number(*parameters) + " parameters in " +
            counted(model.number("layers"), "layer");
  }
  return "<p class=\"setup\">" + escape(text) + "</p>\n";
}

std::string memory_bar(const ResultFields& plan) {
  if (!plan.has("budget")) {
    return {};
  }
  const ResultFields budget = plan.object("budget");
  StackedBar bar;
  bar.title = "Memory of each GPU by cause";
  bar.columns = {{"Cause", true}, {"GiB"}, {"At least"}, {"At most"}, {"Origin", true}};
  const double total = budget.number("total_gib");
  const double usable = total * budget.number("utilization");
  double held = 0;
  const auto add = [&](const std::string& name, double low, double amount, double high,
                       const std::string& origin, std::size_t colour) {
    bar.parts.push_back({name,
                         std::max(amount, 0.0),
                         gib(std::max(amount, 0.0)),
                         colour,
                         {name, number(std::max(amount, 0.0), 3), number(std::max(low, 0.0), 3),
                          number(std::max(high, 0.0), 3), origin}});
  };
  const auto add_estimate = [&](const char* member, const std::string& name, std::size_t colour) {
    const ResultFields estimate = budget.object(member);
    held += estimate.number("expected");
    add(name, estimate.number("low"), estimate.number("expected"), estimate.number("high"),
        estimate.text("origin"), colour);
  };
  add_estimate("weights_gib", "Weights", 0);
  add_estimate("activation_gib", "Activation peak", 1);
  add_estimate("non_torch_gib", "Outside torch", 3);
  if (budget.object("graph_gib").number("expected") > 0) {
    add_estimate("graph_gib", "CUDA graphs", 5);
  }
  const ResultFields capacity = plan.object("capacity");
  const auto pool = [&](const ResultFields& of) {
    return of.number("kv_budget_bytes") / kBytesPerGib;
  };
  add("KV cache", pool(capacity.object("low")), pool(capacity), pool(capacity.object("high")),
      "what is left", 2);
  held += std::max(pool(capacity), 0.0);
  if (held <= total) {
    add("Not to be used", total - usable, total - usable, total - usable,
        "1 - utilisation " + number(budget.number("utilization"), 3), 7);
  }
  const bool over = held > usable * 1.0001;
  bar.limit = {usable, "usable: " + gib(usable) + " of " + gib(total)};
  bar.note = over ? "What must be held exceeds the usable share by " + gib(held - usable) + "."
                  : "Expected values; the ranges are in the data.";
  return figure_html(draw(bar));
}

std::string class_table(const ResultFields& plan) {
  DataTable table;
  table.columns = {{"Layer class", true}, {"Layers"}, {"KV heads a rank"},
                   {"Head size"},         {"Window"}, {"Bytes a token"},
                   {"Bytes a sequence"}};
  for (const ResultFields& rows : plan.objects("classes")) {
    const auto figure = [&rows](const char* name, const char* none) {
      const auto value = rows.optional_number(name);
      return value && *value > 0 ? whole(*value) : std::string(none);
    };
    table.rows.push_back({rows.text("kind"), whole(rows.number("layers")),
                          figure("kv_heads_per_rank", "\u2013"), figure("head_dim", "\u2013"),
                          figure("window", "none"), whole(rows.number("per_token_bytes")),
                          whole(rows.number("per_sequence_bytes"))});
  }
  if (table.rows.empty()) {
    return {};
  }
  std::string out = "<h3>Layers by class</h3>\n" + table_html(table);
  std::string sum = "Together " + counted(plan.number("per_token_bytes"), "byte") + " a token";
  if (const double state = plan.number("per_sequence_bytes"); state > 0) {
    sum += " and " + counted(state, "byte") + " a sequence";
  }
  out += "<p class=\"quiet\">" + escape(sum + " on each GPU.") + "</p>\n";
  return "<div class=\"card\">" + out + "</div>\n";
}

std::string waste_table(const ResultFields& plan) {
  DataTable table;
  table.columns = {{"Waste", true}, {"Bytes"}, {"", true}, {"Of each", true}, {"Why", true}};
  for (const ResultFields& waste : plan.objects("waste")) {
    const double bytes = waste.number("bytes");
    table.rows.push_back({words(waste.text("cause")), whole(bytes),
                          bytes >= 10240 ? bytes_text(bytes) : "", waste.text("of"),
                          waste.text("text")});
  }
  if (table.rows.empty()) {
    return {};
  }
  return "<div class=\"card\"><h3>Waste by cause</h3>\n" + table_html(table) + "</div>\n";
}

std::string sensitivity_table(const ResultFields& plan) {
  DataTable table;
  table.columns = {{"Input", true},
                   {"Between", true},
                   {"Tokens at the low end"},
                   {"Tokens at the high end"},
                   {"Difference"}};
  const double tokens = plan.object("capacity").number("tokens");
  for (const ResultFields& one : plan.objects("sensitivities")) {
    const double low = one.number("tokens_at_low");
    const double high = one.number("tokens_at_high");
    const std::string share =
        tokens > 0 ? number(std::fabs(high - low) / tokens * 100, 1) + " %" : "\u2013";
    table.rows.push_back({one.text("input"), one.text("range"), whole(low), whole(high), share});
  }
  if (table.rows.empty() || tokens <= 0) {
    return {};
  }
  return "<div class=\"card\"><h3>What moves the answer most</h3>\n" + table_html(table) +
         "</div>\n";
}

std::string remark_list(const ResultFields& plan) {
  std::string out;
  for (const std::string& remark : plan.texts("remarks")) {
    out += "<li>" + escape(remark) + "</li>\n";
  }
  return out.empty() ? out : "<ul class=\"remarks\">\n" + out + "</ul>\n";
}

}  // namespace

std::string plan_section(const Result& result) {
  const ResultFields plan = result.fields();
  std::string out = setup_line(plan) + verdict(plan) + tiles(plan) + memory_bar(plan);
  const std::string tables = class_table(plan) + waste_table(plan) + sensitivity_table(plan);
  out += tables.empty() ? tables : "<div class=\"cards\">\n" + tables + "</div>\n";
  out += remark_list(plan);
  return section_html("Capacity of " + plan.object("model").text("name"), out);
}

std::string equations_section(const Result& result) {
  const ResultFields plan = result.fields();
  DataTable table;
  table.columns = {{"Quantity", true}, {"Formula", true}, {"In numbers", true}, {"From", true}};
  for (const ResultFields& equation : plan.objects("equations")) {
    table.rows.push_back({equation.text("left"), equation.text("formula"), equation.text("numbers"),
                          equation.text("source")});
  }
  if (table.rows.empty()) {
    return {};
  }
  return section_html("Equations of " + plan.object("model").text("name"),
                      "<div class=\"equations\">\n" + table_html(table) + "</div>\n");
}

}  // namespace octavo::sim::report
