#include "tests/cuda/compiled/ways.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <stdexcept>
#include <utility>

#include "tests/cuda/compiled/flow.h"

namespace octavo::compiled {
namespace {

constexpr std::size_t kMostPasses = 8;

// A block, and which of the lists have been passed once it is done.
struct State {
  std::size_t block = 0;
  unsigned passed = 0;
};

struct BlockCosts {
  std::vector<std::size_t> length;
  std::vector<unsigned> passes;
  std::vector<bool> closed;
};

BlockCosts costs_of(const SassCode& code, const FlowGraph& flow, const WayRules& rules) {
  std::vector<unsigned> passes(code.size());
  std::vector<bool> avoided(code.size());
  std::vector<bool> is_free(code.size());
  for (std::size_t list = 0; list < rules.passes.size(); ++list) {
    for (const std::size_t i : rules.passes[list]) {
      passes.at(i) |= 1u << list;
    }
  }
  for (const std::size_t i : rules.avoids) {
    avoided.at(i) = true;
  }
  for (const std::size_t i : rules.free) {
    is_free.at(i) = true;
  }
  BlockCosts costs;
  for (const FlowBlock& block : flow.blocks) {
    std::size_t length = 0;
    unsigned passed = 0;
    bool closed = false;
    for (std::size_t i = block.begin; i < block.end; ++i) {
      length += is_free[i] ? 0u : 1u;
      passed |= passes[i];
      closed = closed || avoided[i];
    }
    costs.length.push_back(length);
    costs.passes.push_back(passed);
    costs.closed.push_back(closed);
  }
  return costs;
}

// Dijkstra's search, over blocks and what has been passed.
class Search {
 public:
  Search(const FlowGraph& flow, const BlockCosts& costs, std::size_t num_lists)
      : flow_(flow),
        costs_(costs),
        all_((1u << num_lists) - 1),
        best_(flow.blocks.size() * (all_ + 1), FlowBlock::kNone),
        before_(best_.size(), FlowBlock::kNone) {}

  // The blocks of the shortest way; empty: there is none.
  std::vector<std::size_t> run(const SassCode& code) {
    reach({0, 0}, 0, FlowBlock::kNone);
    while (!queue_.empty()) {
      const auto [length, at] = queue_.top();
      queue_.pop();
      const State state = {at / (all_ + 1), static_cast<unsigned>(at % (all_ + 1))};
      if (length > best_[at]) {
        continue;
      }
      const FlowBlock& block = flow_.blocks[state.block];
      if (state.passed == all_ && code[block.end - 1].flow == SassFlow::Exit) {
        return blocks_to(at);
      }
      for (const std::size_t next : block.successors) {
        reach({next, state.passed}, length, at);
      }
    }
    return {};
  }

 private:
  void reach(State state, std::size_t length, std::size_t from) {
    if (costs_.closed[state.block]) {
      return;
    }
    state.passed |= costs_.passes[state.block];
    length += costs_.length[state.block];
    const std::size_t at = state.block * (all_ + 1) + state.passed;
    if (length < best_[at]) {
      best_[at] = length;
      before_[at] = from;
      queue_.emplace(length, at);
    }
  }

  std::vector<std::size_t> blocks_to(std::size_t at) const {
    std::vector<std::size_t> blocks;
    for (; at != FlowBlock::kNone; at = before_[at]) {
      blocks.push_back(at / (all_ + 1));
    }
    std::reverse(blocks.begin(), blocks.end());
    return blocks;
  }

  using Entry = std::pair<std::size_t, std::size_t>;  // Length, state.

  const FlowGraph& flow_;
  const BlockCosts& costs_;
  std::size_t all_;
  std::vector<std::size_t> best_;
  std::vector<std::size_t> before_;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue_;
};

}  // namespace

std::optional<std::vector<std::size_t>> shortest_way(const SassCode& code, const WayRules& rules) {
  if (rules.passes.size() > kMostPasses) {
    throw std::invalid_argument("shortest_way: " + std::to_string(rules.passes.size()) +
                                " lists to pass; at most " + std::to_string(kMostPasses));
  }
  if (code.empty()) {
    return std::nullopt;
  }
  const FlowGraph flow = flow_of(code);
  const BlockCosts costs = costs_of(code, flow, rules);
  const std::vector<std::size_t> blocks = Search(flow, costs, rules.passes.size()).run(code);
  if (blocks.empty()) {
    return std::nullopt;
  }
  std::vector<bool> is_free(code.size());
  for (const std::size_t i : rules.free) {
    is_free[i] = true;
  }
  std::vector<std::size_t> way;
  for (const std::size_t b : blocks) {
    for (std::size_t i = flow.blocks[b].begin; i < flow.blocks[b].end; ++i) {
      if (!is_free[i]) {
        way.push_back(i);
      }
    }
  }
  return way;
}

}  // namespace octavo::compiled
