#include "swarm.h"

#include <algorithm>
#include <vector>

namespace octavo::sim::check {
namespace {

KVQuantSpec draw_codec(Rng& rng) {
  constexpr std::array<KVQuantSpec, 6> kCodecs{
      {{},
       {.codec = KVCodec::Int8},
       {.codec = KVCodec::Int4},
       {.codec = KVCodec::E4M3},
       {.codec = KVCodec::E5M2},
       {.codec = KVCodec::E4M3, .scale = KVScale::Static}}};
  constexpr std::array<std::uint32_t, 6> kWeights{6, 3, 2, 2, 1, 1};
  return kCodecs[rng.weighted(kWeights)];
}

CheckRow draw_row_of(Rng& rng, CheckRowKind kind) {
  CheckRow row{.kind = kind};
  if (kind != CheckRowKind::State) {
    row.k_quant = draw_codec(rng);
    row.v_quant = rng.chance(1, 2) ? row.k_quant : draw_codec(rng);
  }
  return row;
}

// Most mixes share prefixes; the others are one of the kinds that must not.
std::vector<CheckRow> draw_rows(Rng& rng, int layers) {
  using enum CheckRowKind;
  struct Mix {
    CheckRowKind always;  ///< At least one layer.
    std::vector<CheckRowKind> others;
  };
  const std::array<Mix, 7> mixes{{{Paged, {Paged, Window}},
                                  {Window, {Window}},
                                  {Release, {Release}},
                                  {Continuous, {Continuous, Ring, Paged}},
                                  {Ring, {Ring, Paged, Window}},
                                  {Cross, {Paged, Continuous, Cross}},
                                  {State, {State, Paged, Ring}}}};
  constexpr std::array<std::uint32_t, 7> kWeights{12, 2, 2, 1, 2, 2, 2};
  const Mix& mix = mixes[rng.weighted(kWeights)];
  const auto special = static_cast<int>(rng.below(static_cast<std::uint64_t>(layers)));
  std::vector<CheckRow> rows;
  for (int layer = 0; layer < layers; ++layer) {
    const CheckRowKind other = mix.others[rng.below(mix.others.size())];
    rows.push_back(draw_row_of(rng, layer == special ? mix.always : other));
  }
  return rows;
}

// Off in one of three runs, else a power of two up to 32.
std::uint32_t draw_weight(Rng& rng, std::optional<int> given) {
  const bool is_off = rng.chance(1, 3);
  const std::uint32_t drawn = std::uint32_t{1} << rng.below(6);
  if (given) {
    return *given < 0 ? drawn : static_cast<std::uint32_t>(*given);
  }
  return is_off ? 0 : drawn;
}

}  // namespace

Swarm draw_swarm(Rng& rng, const CheckOptions& options, std::int64_t max_output) {
  constexpr std::array<std::uint32_t, 3> kTypes{3, 1, 1};
  constexpr std::array<DType, 3> kDTypes{DType::BF16, DType::F16, DType::F32};
  Swarm swarm;
  CheckSetup& setup = swarm.setup;
  setup.seed = rng.next() >> 1U;  // Logs hold integers that every JSON reader takes.
  setup.rows = draw_rows(rng, options.layers);
  for (std::size_t i = 0; i < setup.rows.size() && !options.rows.empty(); ++i) {
    setup.rows[i] = options.rows[i % options.rows.size()];
  }
  setup.kv_dtype = kDTypes[rng.weighted(kTypes)];
  setup.kv_heads = options.kv_heads;
  setup.head_dim = options.head_dim;
  setup.slots = static_cast<int>(rng.between(2, 6));
  setup.max_tokens = options.max_prompt + max_output + 16;
  setup.block_size = 1 << rng.between(1, 4);
  setup.max_step = rng.between(2, 40);
  setup.window = static_cast<int>(rng.between(1, 24));
  for (std::size_t i = 0; i < swarm.weights.size(); ++i) {
    swarm.weights[i] = draw_weight(rng, options.faults[i]);
  }
  const std::int64_t row = (setup.max_tokens + setup.block_size - 1) / setup.block_size;
  const std::int64_t small = rng.between(row + 1, row * 2);
  const std::int64_t large = rng.between(row * setup.slots, row * setup.slots * 3);
  setup.blocks = swarm.weight(CheckFault::Pressure) > 0 ? small : large;
  if (options.blocks > 0) {
    setup.blocks = options.blocks;
  }
  const std::int64_t every = std::int64_t{1} << rng.between(1, 5);
  const std::int64_t rare = rng.between(16, 200);
  swarm.chunk = rng.between(1, setup.max_step);
  swarm.drafts = rng.chance(1, 2) ? rng.between(1, std::min<std::int64_t>(4, setup.max_step)) : 0;
  swarm.boundary_chance = rng.chance(1, 2) ? rng.between(1, 12) : 0;
  swarm.partial_addressable = rng.chance(1, 3) ? rng.between(1, 8) : 0;
  swarm.other_namespaces = rng.chance(1, 3) ? rng.between(1, 12) : 0;
  if (setup.has(CheckRowKind::State) || swarm.weight(CheckFault::Rewind) == 0) {
    swarm.drafts = 0;  // A state does not go back.
  }
  const bool has_faults = std::any_of(swarm.weights.begin(), swarm.weights.end(),
                                      [](std::uint32_t weight) { return weight > 0; });
  swarm.fault_every = has_faults ? every : 0;
  swarm.rare_every = has_faults ? rare : 0;
  return swarm;
}

std::string describe(const Swarm& swarm, std::uint64_t seed) {
  const CheckSetup& setup = swarm.setup;
  std::string text = "seed " + std::to_string(seed) + ": rows ";
  for (std::size_t i = 0; i < setup.rows.size(); ++i) {
    text += (i == 0 ? "" : ",") + to_string(setup.rows[i]);
  }
  text += " in " + std::string(octavo::to_string(setup.kv_dtype)) + ", " +
          std::to_string(setup.slots) + " slots of " + std::to_string(setup.max_tokens) +
          " tokens, " + std::to_string(setup.blocks) + " blocks of " +
          std::to_string(setup.block_size) + ", window " + std::to_string(setup.window) +
          ", steps of up to " + std::to_string(setup.max_step) + ", prompts by " +
          std::to_string(swarm.chunk) + ", drafts " + std::to_string(swarm.drafts) + ", faults";
  if (swarm.fault_every == 0) {
    return text + " none";
  }
  for (int fault = 0; fault < kCheckFaults; ++fault) {
    text += (fault == 0 ? " " : ",") + std::string(to_string(static_cast<CheckFault>(fault))) +
            "=" + std::to_string(swarm.weights[static_cast<std::size_t>(fault)]);
  }
  return text + " in every " + std::to_string(swarm.fault_every) + "th step";
}

}  // namespace octavo::sim::check
