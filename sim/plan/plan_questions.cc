#include "octavo/sim/plan_questions.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "number_text.h"
#include "octavo/error.h"

namespace octavo::sim {
namespace {

constexpr std::string_view kFigures[] = {"concurrency", "tokens",        "blocks",
                                         "gpus",        "kv_budget_gib", "hit_rate"};
constexpr std::string_view kRelations[] = {">=", "<=", "==", ">", "<"};  // longer ones first
constexpr double kUtilizationStep = 0.01;

[[noreturn]] void refuse_question(const std::string& text) {
  throw Error(ErrorCode::InvalidArgument, text);
}

bool reaches(const PlanRequest& request, double concurrency) {
  const CapacityPlan plan = plan_capacity(request);
  return plan.fits && plan.total_concurrency() >= concurrency;
}

/// reaches(), where a division or a format that the model does not allow is merely no way.
bool would_reach(const PlanRequest& request, double concurrency) {
  try {
    return reaches(request, concurrency);
  } catch (const Error&) {
    return false;
  }
}

std::optional<double> utilization_for(PlanRequest request, double concurrency) {
  std::int64_t low = 1;
  std::int64_t high = 1000;
  std::optional<double> found;
  while (low <= high) {
    const std::int64_t middle = low + (high - low) / 2;
    request.utilization = static_cast<double>(middle) / 1000;
    if (would_reach(request, concurrency)) {
      found = request.utilization;
      high = middle - 1;
    } else {
      low = middle + 1;
    }
  }
  return found;
}

std::optional<std::int64_t> length_for(PlanRequest request, double concurrency) {
  std::int64_t low = 1;
  std::int64_t high = request.model.max_positions;
  std::optional<std::int64_t> found;
  while (low <= high) {
    request.max_len = low + (high - low) / 2;
    if (would_reach(request, concurrency)) {
      found = request.max_len;
      low = request.max_len + 1;
    } else {
      high = request.max_len - 1;
    }
  }
  return found;
}

std::optional<std::string> format_for(PlanRequest request, double concurrency) {
  for (const char* name : {"bf16", "fp8", "int8", "int4"}) {
    request.format = parse_kv_format(name);
    if (would_reach(request, concurrency)) {
      return name;
    }
  }
  return std::nullopt;
}

void find_gpus(PlanRequest request, double concurrency, WaysToReach& ways) {
  for (std::int64_t gpus = 1; gpus <= kGpusTried; ++gpus) {
    const Division division = divide_gpus(request.model, gpus);
    // Fewer ranks and more replicas may hold more: the weights are there several times, but K and V
    // heads are not.
    for (std::int64_t tp = division.tp; tp >= 1; --tp) {
      if (gpus % tp != 0) {
        continue;
      }
      request.pp = 1;
      request.tp = tp;
      request.dp = gpus / tp;
      if (would_reach(request, concurrency)) {
        ways.gpus = gpus;
        ways.division = {tp, gpus / tp};
        return;
      }
    }
  }
}

double figure_of(const CapacityPlan& plan, const std::string& figure) {
  const auto replicas = static_cast<double>(plan.request.dp);
  if (figure == "concurrency") {
    return plan.total_concurrency();
  }
  if (figure == "tokens") {
    return static_cast<double>(plan.expected.tokens) * replicas;
  }
  if (figure == "blocks") {
    return static_cast<double>(plan.expected.blocks);
  }
  if (figure == "gpus") {
    return static_cast<double>(plan.gpus());
  }
  if (figure == "kv_budget_gib") {
    return static_cast<double>(plan.expected.budget_bytes) / kGib;
  }
  if (!plan.hits) {
    refuse_question("hit_rate is required, but no trace was given");
  }
  return plan.hits->hit_rate();
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(' ');
  return first == std::string_view::npos
             ? std::string_view()
             : text.substr(first, text.find_last_not_of(' ') - first + 1);
}

std::string bounds_text(const Estimate& estimate) {
  return decimal(estimate.low, 2) + " to " + decimal(estimate.high, 2) + " GiB";
}

void add_estimate(const CapacityPlan& plan,
                  const std::string& input,
                  const Estimate& estimate,
                  std::optional<double> PlanRequest::*field,
                  std::vector<Sensitivity>& result) {
  if (estimate.low == estimate.high) {
    return;
  }
  PlanRequest request = plan.request;
  Sensitivity sensitivity{input, bounds_text(estimate)};
  request.*field = estimate.low;
  sensitivity.tokens_at_low = plan_capacity(request).expected.tokens;
  request.*field = estimate.high;
  sensitivity.tokens_at_high = plan_capacity(request).expected.tokens;
  result.push_back(std::move(sensitivity));
}

/// Quoted where a comma or a quote would end it.
std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) {
    return text;
  }
  std::string quoted = "\"";
  for (const char c : text) {
    quoted += c == '"' ? "\"\"" : std::string(1, c);
  }
  return quoted + "\"";
}

}  // namespace

WaysToReach ways_to_reach(const PlanRequest& request, double concurrency) {
  if (!(concurrency >= 1) || concurrency > static_cast<double>(kMaxSeqs)) {
    refuse_question("the wanted concurrency is " + decimal(concurrency, 2) +
                    ", expected a number in [1, " + grouped(kMaxSeqs) + "]");
  }
  WaysToReach ways;
  ways.concurrency = concurrency;
  PlanRequest asked = plan_capacity(request).request;
  const auto sequences = static_cast<std::int64_t>(std::ceil(concurrency));
  const std::int64_t per_replica = (sequences + asked.dp - 1) / asked.dp;
  if (asked.max_num_seqs < per_replica) {
    ways.max_num_seqs = per_replica;
    asked.max_num_seqs = per_replica;
  }
  if (!asked.kv_budget_gib) {
    ways.utilization = utilization_for(asked, concurrency);
    find_gpus(asked, concurrency, ways);
  }
  ways.kv_dtype = format_for(asked, concurrency);
  ways.max_len = length_for(asked, concurrency);
  return ways;
}

std::string Requirement::text() const {
  std::string number = decimal(value, 3);
  number.erase(std::remove(number.begin(), number.end(), ','), number.end());
  while (number.ends_with('0')) {
    number.pop_back();
  }
  if (number.ends_with('.')) {
    number.pop_back();
  }
  return figure + relation + number;
}

std::vector<std::string> requirement_figures() {
  return {std::begin(kFigures), std::end(kFigures)};
}

Requirement parse_requirement(std::string_view text) {
  const std::string shape = "requirement \"" + std::string(text) + "\": ";
  for (const std::string_view relation : kRelations) {
    const std::size_t at = text.find(relation);
    if (at == std::string_view::npos) {
      continue;
    }
    Requirement requirement;
    requirement.figure = trimmed(text.substr(0, at));
    requirement.relation = relation;
    const std::string_view number = trimmed(text.substr(at + relation.size()));
    const auto [end, error] =
        std::from_chars(number.data(), number.data() + number.size(), requirement.value);
    if (error != std::errc() || end != number.data() + number.size() ||
        !std::isfinite(requirement.value)) {
      refuse_question(shape + "\"" + std::string(number) + "\" is not a number");
    }
    std::string known;
    for (const std::string_view figure : kFigures) {
      if (figure == requirement.figure) {
        return requirement;
      }
      known += (known.empty() ? "" : ", ") + std::string(figure);
    }
    refuse_question(shape + "\"" + requirement.figure + "\" is none of " + known);
  }
  refuse_question(shape +
                  "expected a figure, one of >=, >, <=, <, ==, and a number: concurrency>=32");
}

Verdict judge_requirement(const CapacityPlan& plan, const Requirement& requirement) {
  Verdict verdict{requirement, figure_of(plan, requirement.figure), false};
  const double value = verdict.value;
  const double wanted = requirement.value;
  const std::string& relation = requirement.relation;
  verdict.met = relation == ">="   ? value >= wanted
                : relation == ">"  ? value > wanted
                : relation == "<=" ? value <= wanted
                : relation == "<"  ? value < wanted
                                   : value == wanted;
  return verdict;
}

std::vector<Sensitivity> sensitivities(const CapacityPlan& plan) {
  std::vector<Sensitivity> result;
  if (!plan.budget) {
    return result;
  }
  add_estimate(plan, "activation peak", plan.budget->activation, &PlanRequest::activation_gib,
               result);
  add_estimate(plan, "memory outside torch", plan.budget->non_torch, &PlanRequest::non_torch_gib,
               result);
  PlanRequest request = plan.request;
  const double low = std::max(plan.request.utilization - kUtilizationStep, 0.001);
  const double high = std::min(plan.request.utilization + kUtilizationStep, 1.0);
  Sensitivity utilization{"utilisation", decimal(low, 3) + " to " + decimal(high, 3)};
  request.utilization = low;
  utilization.tokens_at_low = plan_capacity(request).expected.tokens;
  request.utilization = high;
  utilization.tokens_at_high = plan_capacity(request).expected.tokens;
  result.push_back(std::move(utilization));
  std::stable_sort(result.begin(), result.end(),
                   [](const auto& a, const auto& b) { return a.spread() > b.spread(); });
  return result;
}

std::string to_csv(const CapacityPlan& plan) {
  const PlanRequest& request = plan.request;
  std::string text =
      "model,gpu,gpus,tp,pp,dp,engine,kv_dtype,block_size,max_len,kv_budget_bytes,blocks,tokens,"
      "blocks_per_request,concurrency,total_concurrency,limited_by,fits,bytes_per_token,"
      "bytes_per_sequence,hit_rate\n";
  const auto add = [&](const std::string& field) { text += csv_field(field) + ","; };
  const auto number = [](double value, int decimals) {
    std::string result = decimal(value, decimals);
    result.erase(std::remove(result.begin(), result.end(), ','), result.end());
    return result;
  };
  add(request.model.name);
  add(request.gpu.name);
  for (const std::int64_t value : {plan.gpus(), request.tp, request.pp, request.dp}) {
    add(std::to_string(value));
  }
  add(std::string(to_string(plan.engine)));
  add(request.format.name);
  for (const std::int64_t value :
       {plan.block_size, request.max_len, plan.expected.budget_bytes, plan.expected.blocks,
        plan.expected.tokens, plan.blocks_per_request}) {
    add(std::to_string(value));
  }
  add(number(plan.expected.concurrency, 4));
  add(number(plan.total_concurrency(), 4));
  add(std::string(to_string(plan.limited_by)));
  add(plan.fits ? "true" : "false");
  add(std::to_string(plan.bytes_per_token));
  add(std::to_string(plan.bytes_per_sequence));
  return text + (plan.hits ? number(plan.hits->hit_rate(), 6) : "") + "\n";
}

}  // namespace octavo::sim
