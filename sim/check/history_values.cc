#include "history_values.h"

#include "index.h"
#include "octavo/sim/rng.h"

namespace octavo::sim::check {
namespace {

std::uint64_t mixed(std::uint64_t a, std::uint64_t b) noexcept {
  std::uint64_t state = a ^ (b + 1) * 0xd6e8feb86659fd93ULL;
  return splitmix64(state);
}

}  // namespace

Chain extend(Chain before, std::int32_t token) noexcept {
  return mixed(before, static_cast<std::uint32_t>(token));
}

std::vector<Chain> chains_of(Chain before, std::span<const std::int32_t> tokens) {
  std::vector<Chain> chains;
  chains.reserve(tokens.size());
  for (const std::int32_t token : tokens) {
    before = extend(before, token);
    chains.push_back(before);
  }
  return chains;
}

Chain first_chain(std::uint64_t namespace_id, std::uint64_t generation) noexcept {
  return mixed(mixed(0x6f637461766fULL, namespace_id), generation);
}

void draw_row(Chain chain, const Operand& operand, std::int64_t head, std::span<float> out) {
  const std::uint64_t what = static_cast<std::uint64_t>(operand.role) << 48U |
                             static_cast<std::uint64_t>(operand.layer) << 24U |
                             static_cast<std::uint64_t>(operand.part) << 16U |
                             static_cast<std::uint64_t>(head);
  std::uint64_t state = mixed(chain, what);
  const float unit = 0x1p-15F / static_cast<float>(1U << (state & 3U));
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < out.size(); ++i) {
    bits = i % 4 == 0 ? splitmix64(state) : bits >> 16U;
    const auto number = static_cast<std::int32_t>(bits & 0xffffU) - 0x8000;
    out[i] = static_cast<float>(number | 1) * unit;  // Odd: never 0 and never -1.
  }
}

Tensor draw_operand(std::span<const Chain> chains,
                    const Operand& operand,
                    std::int64_t heads,
                    std::int64_t elements,
                    const std::shared_ptr<Device>& device) {
  const std::int64_t rows = heads == 0 ? 1 : heads;
  std::vector<float> values(chains.size() * index(rows * elements));
  float* out = values.data();
  for (const Chain chain : chains) {
    for (std::int64_t head = 0; head < rows; ++head) {
      draw_row(chain, operand, head, {out, index(elements)});
      out += elements;
    }
  }
  const auto tokens = static_cast<std::int64_t>(chains.size());
  const Dims shape = heads == 0 ? Dims{tokens, elements} : Dims{tokens, heads, elements};
  return Tensor::from_values<float>(DType::F32, shape, values, device);
}

}  // namespace octavo::sim::check
