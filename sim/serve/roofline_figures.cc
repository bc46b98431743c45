// From a model and a GPU to the figures of the roofline.
#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "checked.h"
#include "number_text.h"
#include "octavo/sim/serve/roofline_cost.h"

namespace octavo::sim {
namespace {

constexpr std::string_view kFlops = "the FLOPs of a token";
constexpr std::string_view kBytes = "the bytes of the weights";
constexpr std::int64_t kActivationBytes = 2;  // of an element that ranks exchange: bf16

struct Link {
  std::string_view gpu;
  double gb_per_s;
};

// One direction, from the vendors' datasheets: NVLink 3, 4, 5 and Infinity Fabric where the GPU has
// them, else PCIe x16 of generation 4 (32) or 5 (64); GB10: one port of 200 Gbit/s.
constexpr std::array<Link, 18> kLinks = {{
    {"A100 40 SXM", 300},
    {"A100 80 SXM", 300},
    {"H100 SXM", 450},
    {"H100 PCIe", 64},
    {"H100 NVL", 300},
    {"H200", 450},
    {"B200", 900},
    {"GB200", 900},
    {"GB300", 900},
    {"L4", 32},
    {"L40S", 32},
    {"A10G", 32},
    {"RTX 3090", 32},
    {"RTX 4090", 32},
    {"RTX 5090", 64},
    {"RTX PRO 6000", 64},
    {"MI300X", 448},
    {"GB10", 25},
}};

[[noreturn]] void refuse(const std::string& what) {
  throw Error(ErrorCode::InvalidArgument, what);
}

/// `figure` x `scale` x `efficiency` as whole units a second. One rounding, at the end.
std::int64_t rate(double figure, double scale, double efficiency, std::string_view name) {
  if (!(efficiency > 0) || efficiency > 1) {
    refuse(std::string(name) + " efficiency is " + decimal(efficiency, 3) +
           ", expected more than 0 and at most 1");
  }
  if (!(figure > 0) || figure > 1e6) {
    refuse(std::string(name) + " figure is " + decimal(figure, 3) +
           ", expected more than 0 and at most 1,000,000");
  }
  return std::max<std::int64_t>(std::llround(figure * scale * efficiency), 1);
}

std::int64_t ns_of_us(double us, std::string_view name) {
  if (!(us >= 0) || us > 1e9) {
    refuse(std::string(name) + " is " + decimal(us, 3) +
           " us, expected at least 0 and at most 1,000,000,000");
  }
  return std::llround(us * 1000);
}

/// The weights by what a step does with them; whole model.
struct WeightRoles {
  std::int64_t linear_parameters = 0;
  std::int64_t linear_bytes = 0;
  std::int64_t expert_parameters = 0;
  std::int64_t expert_bytes = 0;
  std::int64_t head_parameters = 0;
  std::int64_t head_bytes = 0;
};

WeightRoles weight_roles(const ModelWeights& weights) {
  WeightRoles roles;
  for (const WeightPart& part : weights.parts) {
    if (part.name == "experts") {
      roles.expert_parameters += part.parameters;
      roles.expert_bytes += part.bytes;
    } else if (part.name == "output head" || part.name == "embedding (also the output head)") {
      roles.head_parameters += part.parameters;
      roles.head_bytes += part.bytes;
    } else if (!part.name.starts_with("embedding") && part.name != "vision tower" &&
               part.name != "encoder") {
      // An embedding is looked up row by row; a vision tower or encoder is no part of a step.
      roles.linear_parameters += part.parameters;
      roles.linear_bytes += part.bytes;
    }
  }
  return roles;
}

/// Bytes in proportion, where the caller knows what the whole weighs.
std::int64_t scaled(std::int64_t bytes, double factor) {
  return std::llround(static_cast<double>(bytes) * factor);
}

WeightRoles checked_roles(const ModelConfig& model, const RooflineOptions& options) {
  if (!options.weights_gib && !model.weights.unknown.empty()) {
    refuse("the weights of " + model.name + " cannot be counted (" + model.weights.unknown +
           "); give their GiB");
  }
  WeightRoles roles = weight_roles(model.weights);
  if (options.weights_gib) {
    const auto counted = static_cast<double>(model.weights.bytes());
    if (!(*options.weights_gib >= 0) || !(counted > 0)) {
      refuse("the weights are " + decimal(*options.weights_gib, 3) + " GiB, expected at least 0");
    }
    const double factor = *options.weights_gib * kGib / counted;
    roles.linear_bytes = scaled(roles.linear_bytes, factor);
    roles.expert_bytes = scaled(roles.expert_bytes, factor);
    roles.head_bytes = scaled(roles.head_bytes, factor);
  }
  return roles;
}

void set_rates(const ModelConfig& model,
               const Gpu& gpu,
               const RooflineOptions& options,
               RooflineFigures& figures) {
  const double tb_per_s = options.tb_per_s.value_or(gpu.bandwidth_tb_per_s);
  if (tb_per_s == 0) {
    refuse("the memory bandwidth of " + gpu.name + " is not known; give its TB/s");
  }
  if (!options.tflops && !gpu.bf16_tflops) {
    refuse("the bf16 peak of " + gpu.name + " is not known; give its TFLOP/s");
  }
  const double tflops = options.tflops ? *options.tflops : *gpu.bf16_tflops;
  double linear_tflops = tflops;
  if (model.weights.format.starts_with("fp8") && gpu.fp8_tflops && !options.tflops) {
    linear_tflops = *gpu.fp8_tflops;
  }
  figures.memory_bytes_per_s = rate(tb_per_s, 1e12, options.memory_efficiency, "memory");
  figures.linear_flops_per_s = rate(linear_tflops, 1e12, options.compute_efficiency, "compute");
  figures.head_flops_per_s = rate(tflops, 1e12, options.compute_efficiency, "compute");
  figures.attention_flops_per_s = rate(tflops, 1e12, options.attention_efficiency, "attention");
  if (options.tp > 1) {
    const std::optional<double> link =
        options.link_gb_per_s ? options.link_gb_per_s : link_gb_per_s(gpu);
    if (!link) {
      refuse("the link between GPUs like " + gpu.name + " is not known; give its GB/s");
    }
    figures.link_bytes_per_s = rate(*link, 1e9, options.link_efficiency, "link");
  }
}

void set_spans(const ModelConfig& model, RooflineFigures& figures) {
  for (const CacheLayer& layer : model.layers) {
    if (layer.grows()) {
      figures.spans.push_back(layer.window);
    }
  }
  std::sort(figures.spans.begin(), figures.spans.end());
  figures.spans.erase(std::unique(figures.spans.begin(), figures.spans.end()), figures.spans.end());
  if (figures.spans.empty() || figures.spans.size() > kSpansMax) {
    refuse(model.name + " has " + grouped(static_cast<std::int64_t>(figures.spans.size())) +
           " different attention spans, expected 1 to " + grouped(std::int64_t{kSpansMax}));
  }
}

void set_attention(const ModelConfig& model,
                   const RooflineOptions& options,
                   RooflineFigures& figures) {
  const std::int64_t query_heads = model.attention_heads / options.tp;
  const RowOptions rows_of{.tp = options.tp, .format = options.format};
  for (const KvClass& rows : rank_classes(model, rows_of, 0, model.layers.size())) {
    if (!rows.layer.grows()) {
      continue;  // states and the encoder's rows: see COST.md, what is not modelled
    }
    const auto span =
        std::lower_bound(figures.spans.begin(), figures.spans.end(), rows.layer.window);
    // Scores read K and sums read V; the V of a latent is the latent itself.
    const std::int64_t v_dim =
        rows.layer.v_head_dim > 0 ? rows.layer.v_head_dim : rows.layer.head_dim;
    const std::int64_t per_layer =
        checked_mul(checked_mul(2, query_heads, kFlops), rows.layer.head_dim + v_dim, kFlops);
    figures.attention.push_back({.span = static_cast<std::size_t>(span - figures.spans.begin()),
                                 .flops_per_pair = checked_mul(per_layer, rows.layers, kFlops),
                                 .bytes_per_token = rows.bytes_per_token});
  }
}

}  // namespace

std::optional<double> link_gb_per_s(const Gpu& gpu) {
  for (const Link& link : kLinks) {
    if (link.gpu == gpu.name) {
      return link.gb_per_s;
    }
  }
  return std::nullopt;
}

RooflineFigures roofline_figures(const ModelConfig& model,
                                 const Gpu& gpu,
                                 const RooflineOptions& options) {
  kv_heads_per_rank(model, options.tp);  // refuses a tp that does not fit the heads
  RooflineFigures figures;
  set_rates(model, gpu, options, figures);
  set_spans(model, figures);
  set_attention(model, options, figures);

  const WeightRoles roles = checked_roles(model, options);
  figures.experts = model.experts;
  figures.experts_per_token = model.experts_per_token;
  std::int64_t active = roles.linear_parameters;
  if (model.experts > 0) {
    active += checked_mul(roles.expert_parameters / model.experts, model.experts_per_token, kFlops);
  }
  const std::int64_t tp = options.tp;
  figures.linear_flops_per_token = ceil_div(checked_mul(2, active, kFlops), tp);
  figures.linear_bytes = ceil_div(roles.linear_bytes, tp);
  figures.expert_bytes = ceil_div(roles.expert_bytes, tp);
  figures.head_bytes = ceil_div(roles.head_bytes, tp);
  figures.head_flops_per_row = ceil_div(checked_mul(2, roles.head_parameters, kFlops), tp);

  if (tp > 1) {
    // After the attention and after the MLP of every layer; a ring sends 2 (tp - 1) / tp of it.
    figures.reduces = 2 * static_cast<std::int64_t>(model.layers.size());
    const std::int64_t payload = checked_mul(model.hidden_size, kActivationBytes, kBytes);
    figures.reduce_bytes_per_token = ceil_div(checked_mul(2 * (tp - 1), payload, kBytes), tp);
    figures.reduce_ns = ns_of_us(options.reduce_us, "the time of an all-reduce");
  }
  figures.overhead_ns = ns_of_us(options.overhead_us, "the overhead of a step");
  return figures;
}

}  // namespace octavo::sim
