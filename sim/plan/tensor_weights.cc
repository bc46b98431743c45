#include "tensor_weights.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "checked.h"
#include "number_text.h"

namespace octavo::sim {
namespace {

constexpr std::string_view kPrediction = "multi-token prediction";

struct Rule {
  std::string_view piece;  ///< Of the name.
  std::string_view part;
};

// The first rule whose piece occurs in the name holds. Names of transformers checkpoints and of
// GGUF ("blk.0.ffn_gate_exps.weight").
constexpr std::array kRules = {
    Rule{"visual", "vision tower"},
    Rule{"vision", "vision tower"},
    Rule{"multi_modal_projector", "vision tower"},
    Rule{"embed_vision", "vision tower"},
    Rule{"audio_tower", "vision tower"},
    Rule{"mtp.", kPrediction},
    Rule{"nextn", kPrediction},
    Rule{"encoder.embed_positions", "encoder"},
    Rule{"model.encoder.", "encoder"},
    Rule{"lm_head", "output head"},
    Rule{"proj_out", "output head"},
    Rule{"embed_tokens", "embedding"},
    Rule{"token_embd", "embedding"},
    Rule{"embed_positions", "attention"},
    Rule{"backbone.embedding", "embedding"},
    Rule{"shared_expert", "shared experts"},
    Rule{"shexp", "shared experts"},
    Rule{"mlp.gate.", "routers"},
    Rule{"mixer.gate.", "routers"},
    Rule{"block_sparse_moe.gate", "routers"},
    Rule{"router", "routers"},
    Rule{"ffn_gate_inp", "routers"},
    Rule{"exp_probs", "routers"},
    Rule{"experts", "experts"},
    Rule{"_exps", "experts"},
    Rule{"linear_attn", "state layers"},
    Rule{"mamba", "state layers"},
    Rule{"ssm_", "state layers"},
    Rule{"norm", "norms"},
    Rule{"self_attn", "attention"},
    Rule{"encoder_attn", "attention"},
    Rule{"attn", "attention"},
    Rule{"mixer.q_proj", "attention"},
    Rule{"mixer.k_proj", "attention"},
    Rule{"mixer.v_proj", "attention"},
    Rule{"mixer.o_proj", "attention"},
    Rule{"mixer.up_proj", "MLP"},
    Rule{"mixer.down_proj", "MLP"},
    Rule{"mixer.", "state layers"},
    Rule{"mlp", "MLP"},
    Rule{"feed_forward", "MLP"},
    Rule{"ffn_", "MLP"},
    Rule{".fc1", "MLP"},
    Rule{".fc2", "MLP"},
};

/// The number in "layers.17.": which layer a tensor is of.
std::optional<std::int64_t> layer_of(std::string_view name) {
  for (const std::string_view marker : {"layers.", "blk."}) {
    const std::size_t start = name.find(marker);
    if (start == std::string_view::npos) {
      continue;
    }
    std::int64_t number = 0;
    std::size_t i = start + marker.size();
    const std::size_t first = i;
    constexpr std::size_t kDigitsMax = 6;
    while (i < name.size() && i - first < kDigitsMax && name[i] >= '0' && name[i] <= '9') {
      number = number * 10 + (name[i] - '0');
      ++i;
    }
    if (i > first) {
      return number;
    }
  }
  return std::nullopt;
}

std::string most_bytes(const std::map<std::string, std::int64_t>& types) {
  const auto most = std::max_element(
      types.begin(), types.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return most->first;
}

}  // namespace

std::string tensor_part(std::string_view name, std::int64_t layers) {
  if (name == "output.weight") {
    return "output head";
  }
  const bool text = name.find("vis") == std::string_view::npos;
  if (const auto layer = layer_of(name); text && layer && *layer >= layers) {
    return std::string(kPrediction);
  }
  for (const Rule& rule : kRules) {
    if (name.find(rule.piece) != std::string_view::npos) {
      return std::string(rule.part);
    }
  }
  return "other";
}

ModelWeights add_up_tensors(const std::vector<Tensor>& tensors,
                            std::int64_t layers,
                            std::string_view kind,
                            std::vector<std::string>& notes) {
  std::map<std::string, WeightPart> parts;
  std::map<std::string, std::int64_t> types;
  for (const Tensor& tensor : tensors) {
    WeightPart& part = parts[tensor_part(tensor.name, layers)];
    part.parameters = checked_add(part.parameters, tensor.elements, "the elements of the tensors");
    part.bytes = checked_add(part.bytes, tensor.bytes, "the bytes of the tensors");
    std::int64_t& of_type = types[tensor.type];
    of_type = checked_add(of_type, tensor.bytes, "the bytes of the tensors");
  }
  ModelWeights weights;
  weights.from_file = true;
  weights.format = std::string(kind) + (types.empty() ? "" : ", mostly " + most_bytes(types));
  const bool tied = parts.count("output head") == 0;
  for (auto& [name, part] : parts) {
    if (name == kPrediction) {
      notes.push_back("tensors for multi-token prediction (" + gib_text(part.bytes) +
                      " GiB) are in the files and not counted: engines load them for speculation "
                      "only");
      continue;
    }
    part.name = name == "embedding" && tied ? "embedding (also the output head)" : name;
    weights.parts.push_back(part);
  }
  return weights;
}

}  // namespace octavo::sim
