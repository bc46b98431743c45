// The answer in sentences: what a reader should know beside the figures, and what to do when it
// does not fit.
#include <cmath>

#include "number_text.h"
#include "octavo/sim/capacity.h"

namespace octavo::sim {
namespace {

std::string layers_text(const CapacityPlan& plan, bool windowed) {
  std::int64_t count = 0;
  for (const CacheLayer& layer : plan.request.model.layers) {
    count += (layer.window > 0) == windowed ? 1 : 0;
  }
  return grouped(count);
}

void add_window_remark(const CapacityPlan& plan, std::vector<std::string>& remarks) {
  const ModelConfig& model = plan.request.model;
  const std::string window = grouped(model.largest_window());
  if (model.all_windowed() && plan.engine == Engine::Octavo) {
    remarks.push_back("Every layer has a window of " + window +
                      " tokens: blocks behind it are released, so a request holds at most " +
                      grouped(plan.blocks_per_request) +
                      " blocks; prefix caching is off in such a pool.");
  } else if (model.any_windowed() && plan.engine == Engine::Octavo) {
    remarks.push_back(
        layers_text(plan, true) + " of " + grouped(static_cast<std::int64_t>(model.layers.size())) +
        " layers have a window of " + window +
        " tokens, but Octavo keeps one block table for all layers: beside full layers "
        "the windows only mask, and a request pays its whole length in every layer.");
  }
}

void add_budget_remarks(const CapacityPlan& plan, std::vector<std::string>& remarks) {
  if (!plan.budget) {
    remarks.push_back("The KV budget was given; weights and activation were not looked at.");
    return;
  }
  if (!plan.request.activation_gib || !plan.request.non_torch_gib) {
    remarks.push_back(
        "The activation peak and the memory outside torch are estimates of what an engine measures "
        "at its start; the range shows what they may change. Give --activation-gib and "
        "--non-torch-gib (or --kv-budget-gib) from a start-up log to be exact.");
  }
  const Gpu& gpu = plan.request.gpu;
  if (gpu.total_source == FigureSource::Datasheet) {
    remarks.push_back("~ The total of " + decimal(gpu.total_gib, 2) + " GiB of the " + gpu.name +
                      " is from a datasheet, not from a log.");
  } else if (!gpu.note.empty()) {
    remarks.push_back(gpu.name + ": " + gpu.note + ".");
  }
  if (!plan.request.weights_gib && plan.request.tp > 1) {
    remarks.push_back(
        "The weights are divided evenly over the ranks; norms, routers and K/V projections that "
        "engines replicate add a little.");
  }
}

void add_state_remark(const CapacityPlan& plan, std::vector<std::string>& remarks) {
  if (plan.bytes_per_sequence == 0) {
    return;
  }
  const std::string each = decimal(static_cast<double>(plan.bytes_per_sequence) / 1e6, 2);
  if (plan.engine == Engine::Octavo) {
    remarks.push_back("Every sequence has " + each +
                      " MB of its own beside its blocks (states, cross-attention), set aside for " +
                      grouped(plan.request.max_num_seqs) +
                      " sequences; Octavo then serves no prefixes, since a state cannot be "
                      "restored (a smaller --max-num-seqs leaves more blocks).");
  }
}

void add_engine_remarks(const CapacityPlan& plan, std::vector<std::string>& remarks) {
  const std::string ours = octavo_refusal(plan.request.model, plan.request.format);
  if (plan.engine != Engine::Octavo && !ours.empty()) {
    remarks.push_back("Planned for engine " + std::string(to_string(plan.engine)) + ": " + ours +
                      ".");
  }
  for (const std::string& note : plan.engine_notes) {
    remarks.push_back("Engine: " + note + ".");
  }
  if (plan.request.dp > 1) {
    remarks.push_back(grouped(plan.request.dp) +
                      " replicas keep caches of their own; the figures above are those of one.");
  }
}

}  // namespace

std::vector<std::string> remarks(const CapacityPlan& plan) {
  std::vector<std::string> result;
  const PlanRequest& request = plan.request;
  add_budget_remarks(plan, result);
  add_window_remark(plan, result);
  add_state_remark(plan, result);
  add_engine_remarks(plan, result);
  if (request.model.kv_heads > 0 && request.tp > request.model.kv_heads) {
    result.push_back("The model has " + grouped(request.model.kv_heads) + " KV heads for " +
                     grouped(request.tp) + " ranks: each rank stores one, " +
                     grouped(request.tp / request.model.kv_heads) + " ranks the same.");
  }
  if (!request.format.scales.empty()) {
    result.push_back("KV dtype " + request.format.name + " keeps " + request.format.scales + ".");
  }
  for (const std::string& note : request.model.notes) {
    result.push_back("Model: " + note + ".");
  }
  return result;
}

std::string does_not_fit_text(const CapacityPlan& plan) {
  if (plan.fits) {
    return {};
  }
  const PlanRequest& request = plan.request;
  const std::int64_t needed = plan.blocks_per_request * plan.bytes_per_block + plan.slot_bytes;
  const std::string request_bytes = gib_text(needed);
  const std::int64_t left = plan.expected.budget_bytes;
  std::string text = "does not fit: ";
  if (left < 0) {
    text += "weights, activation and the rest already exceed the GPU's share by " +
            gib_text(-left) + " GiB";
  } else {
    text += gib_text(left) + " GiB are left for the KV cache";
  }
  text += ", one request of " + grouped(request.max_len) + " tokens needs " + request_bytes +
          " GiB, so " + gib_text(plan.missing_bytes) + " GiB are missing";
  std::string remedies;
  const auto add = [&remedies](const std::string& remedy) {
    remedies += remedies.empty() ? remedy : ", or " + remedy;
  };
  if (plan.remedies.max_len > 0) {
    add("--max-len " + std::to_string(plan.remedies.max_len));
  }
  if (plan.remedies.utilization) {
    add("--gpu-memory-utilization " + decimal(*plan.remedies.utilization, 3));
  }
  if (plan.remedies.tp) {
    add("--tp " + std::to_string(*plan.remedies.tp));
  }
  if (!plan.budget) {
    const double needed_gib = static_cast<double>(needed) / kGib;
    add("--kv-budget-gib " + decimal(std::ceil(needed_gib * 100) / 100, 2));
  }
  return text + (remedies.empty()
                     ? "; neither a shorter request, nor the whole memory, nor up to 64 "
                       "such GPUs would make it fit"
                     : "; what would fit: " + remedies);
}

}  // namespace octavo::sim
