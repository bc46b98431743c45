// From what a log tells to the terms of a budget.
#include <cmath>

#include "number_text.h"
#include "octavo/error.h"
#include "octavo/sim/boot_log.h"

namespace octavo::sim {
namespace {

std::string in_gib(double value) {
  return decimal(value, 2) + " GiB";
}

class Calibration {
 public:
  Calibration(const PlanRequest& request, const BootLog& log) : log_(log) {
    result_.request = request;
  }

  Calibrated run() {
    take_facts();
    if (log_.free_before_gib && log_.free_after_gib && log_.engine == Engine::Sglang) {
      solve_sglang();
    } else if (log_.kv_gib) {
      solve_remainder();
    }
    return std::move(result_);
  }

 private:
  PlanRequest& request() { return result_.request; }
  void say(std::string text) { result_.inferred.push_back(std::move(text)); }

  void take_facts() {
    if (!request().engine && log_.engine) {
      request().engine = log_.engine;
      say("engine " + std::string(to_string(*log_.engine)) + ": the log's");
    }
    if (log_.total_gib && request().gpu.total_source != FigureSource::Given) {
      request().gpu.total_gib = *log_.total_gib;
      request().gpu.total_source = FigureSource::Log;
      say("total " + in_gib(*log_.total_gib) + ": the log's");
    }
    if (log_.weights_gib && !request().weights_gib) {
      // A log's figure is one rank's; the question's is the whole model's.
      const auto ranks = static_cast<double>(request().tp * request().pp);
      request().weights_gib = *log_.weights_gib * ranks;
      say("weights " + in_gib(*log_.weights_gib) + " a rank: the log's");
    }
    take(log_.non_torch_gib, request().non_torch_gib, "outside torch");
    take(log_.activation_gib, request().activation_gib, "activation peak");
    take(log_.graph_gib, request().graph_gib, "graphs");
    if (!request().graph_gib) {
      request().graph_gib = 0;  // a start that says nothing of graphs set nothing aside
    }
    if (log_.max_len && request().max_len == 0) {
      request().max_len = *log_.max_len;
      say("max-len " + grouped(*log_.max_len) + ": the log's");
    }
  }

  void take(const std::optional<double>& told, std::optional<double>& term, const char* name) {
    if (told && !term) {
      term = told;
      say(std::string(name) + " " + in_gib(*told) + ": the log's");
    }
  }

  // What nothing else explains goes to the first term that is not known.
  void solve_remainder() {
    const PlanRequest full = plan_capacity(without_budget()).request;
    const double utilization = log_.utilization.value_or(full.utilization);
    const CapacityPlan plan = plan_capacity(with_utilization(utilization));
    if (!plan.budget) {
      return;
    }
    const MemoryBudget& budget = *plan.budget;
    const double share = budget.total_gib * utilization;
    const double rest = share - budget.weights.expected - *log_.kv_gib;
    const std::string equation = in_gib(budget.total_gib) + " x " + decimal(utilization, 3) +
                                 " - " + in_gib(budget.weights.expected) + " - " +
                                 in_gib(*log_.kv_gib) + " = " + in_gib(rest);
    constexpr double kRounding = 0.05;  // each printed figure is rounded
    if (rest < -kRounding) {
      throw Error(ErrorCode::InvalidArgument,
                  log_.file + ": " + in_gib(*log_.kv_gib) + " of KV cache and " +
                      in_gib(budget.weights.expected) + " of weights exceed the share of " +
                      in_gib(share) + "; the log is of another GPU, utilisation or model");
    }
    const double graphs = budget.graph.expected;
    if (request().activation_gib) {
      if (!request().non_torch_gib) {
        request().non_torch_gib = std::max(rest - *request().activation_gib - graphs, 0.0);
        say("outside torch " + in_gib(*request().non_torch_gib) + ": what is left of " + equation +
            ", the share less weights and KV cache");
      }
      return;
    }
    if (!request().non_torch_gib) {
      request().non_torch_gib = std::min(budget.non_torch.expected, std::max(rest - graphs, 0.0));
    }
    request().activation_gib = std::max(rest - graphs - *request().non_torch_gib, 0.0);
    say("activation peak, memory outside torch and graphs together " + equation +
        ", the share less weights and KV cache; of it " + in_gib(*request().non_torch_gib) +
        " outside torch and " + in_gib(graphs) + " for graphs");
  }

  // rest = free after - free before x (1 - fraction), before the states' part.
  void solve_sglang() {
    constexpr double kDefaultFraction = 0.88;
    const double fraction = log_.utilization.value_or(kDefaultFraction);
    const double rest = *log_.free_after_gib - *log_.free_before_gib * (1 - fraction);
    say("memory for the pools " + in_gib(*log_.free_after_gib) + " - " +
        in_gib(*log_.free_before_gib) + " x (1 - " + decimal(fraction, 3) + ") = " + in_gib(rest) +
        (log_.utilization ? "" : " (static fraction not in the log, taken as 0.88)"));
    if (!request().kv_budget_gib) {
      request().kv_budget_gib = std::max(rest, 0.0);
    }
  }

  PlanRequest without_budget() const {
    PlanRequest asked = result_.request;
    asked.kv_budget_gib.reset();
    return asked;
  }
  PlanRequest with_utilization(double utilization) const {
    PlanRequest asked = without_budget();
    asked.utilization = utilization;
    return asked;
  }

  const BootLog& log_;
  Calibrated result_;
};

std::string compared(const std::string& what, double low, double high, double logged, int digits) {
  const bool inside = logged >= low && logged <= high;
  return what + ": the log has " + decimal(logged, digits) + ", this plan " +
         (low == high ? decimal(low, digits)
                      : decimal(low, digits) + " to " + decimal(high, digits)) +
         " for the KV memory it printed" + (inside ? "" : "; they differ");
}

}  // namespace

Calibrated calibrate(const PlanRequest& request, const BootLog& log) {
  return Calibration(request, log).run();
}

std::vector<std::string> compare_with_log(const PlanRequest& request, const BootLog& log) {
  std::vector<std::string> result;
  if (!log.kv_gib) {
    return result;
  }
  // Two decimals were printed; SGLang prints K and V apart.
  const double half_digit = log.engine == Engine::Sglang ? 0.01 : 0.005;
  PlanRequest asked = request;
  asked.engine = log.engine ? log.engine : asked.engine;
  asked.max_len = log.max_len.value_or(asked.max_len);
  const double states = log.state_gib.value_or(0);
  asked.kv_budget_gib = std::max(*log.kv_gib + states - half_digit, 0.0);
  const PoolCapacity low = plan_capacity(asked).expected;
  asked.kv_budget_gib = *log.kv_gib + states + half_digit;
  const PoolCapacity high = plan_capacity(asked).expected;
  const auto as_double = [](std::int64_t value) { return static_cast<double>(value); };
  if (log.blocks) {
    result.push_back(compared("blocks", as_double(low.blocks), as_double(high.blocks),
                              as_double(*log.blocks), 0));
  }
  if (log.tokens) {
    result.push_back(compared("tokens", as_double(low.tokens), as_double(high.tokens),
                              as_double(*log.tokens), 0));
  }
  if (log.concurrency) {
    constexpr double kPrinted = 0.005;
    result.push_back(compared("concurrency", low.concurrency - kPrinted,
                              high.concurrency + kPrinted, *log.concurrency, 2));
  }
  return result;
}

}  // namespace octavo::sim
