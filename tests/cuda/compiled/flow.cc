#include "tests/cuda/compiled/flow.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

namespace octavo::compiled {
namespace {

constexpr std::size_t kNone = FlowBlock::kNone;

using Blocks = std::vector<FlowBlock>;

Blocks split(const SassCode& code) {
  std::set<std::size_t> begins = {0};
  for (std::size_t i = 0; i < code.size(); ++i) {
    begins.insert(code[i].targets.begin(), code[i].targets.end());
    if (code[i].flow != SassFlow::Next && i + 1 < code.size()) {
      begins.insert(i + 1);
    }
  }
  Blocks blocks;
  std::vector<std::size_t> block_of(code.size());
  for (auto begin = begins.begin(); begin != begins.end(); ++begin) {
    const auto next = std::next(begin);
    const std::size_t end = next == begins.end() ? code.size() : *next;
    std::fill(block_of.begin() + static_cast<std::ptrdiff_t>(*begin),
              block_of.begin() + static_cast<std::ptrdiff_t>(end), blocks.size());
    blocks.push_back({.begin = *begin, .end = end, .successors = {}, .predecessors = {}});
  }
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    const SassInstruction& last = code[blocks[b].end - 1];
    const bool goes_on = last.flow == SassFlow::Next || last.flow == SassFlow::Branch ||
                         last.flow == SassFlow::Diverged;
    if (goes_on && b + 1 < blocks.size()) {
      blocks[b].successors.push_back(b + 1);
    }
    if (last.flow != SassFlow::Diverged) {
      for (const std::size_t target : last.targets) {
        blocks[b].successors.push_back(block_of[target]);
      }
    }
  }
  return blocks;
}

// Sets order and predecessors of what can be reached; returns it in reverse postorder.
std::vector<std::size_t> order_blocks(Blocks& blocks) {
  std::vector<std::size_t> postorder;
  std::vector<bool> seen(blocks.size());
  std::vector<std::pair<std::size_t, std::size_t>> path = {{0, 0}};  // Block, next successor.
  seen[0] = true;
  while (!path.empty()) {
    auto& [block, next] = path.back();
    if (next == blocks[block].successors.size()) {
      postorder.push_back(block);
      path.pop_back();
      continue;
    }
    const std::size_t successor = blocks[block].successors[next++];
    blocks[successor].predecessors.push_back(block);
    if (!seen[successor]) {
      seen[successor] = true;
      path.emplace_back(successor, 0);
    }
  }
  std::reverse(postorder.begin(), postorder.end());
  for (std::size_t i = 0; i < postorder.size(); ++i) {
    blocks[postorder[i]].order = i;
  }
  return postorder;
}

// The iteration of Cooper, Harvey and Kennedy.
void find_dominators(Blocks& blocks, const std::vector<std::size_t>& order) {
  const auto common = [&blocks](std::size_t a, std::size_t b) {
    while (a != b) {
      std::size_t& later = blocks[a].order > blocks[b].order ? a : b;
      later = blocks[later].dominator;
    }
    return a;
  };
  blocks[0].dominator = 0;
  for (bool changed = true; changed;) {
    changed = false;
    for (const std::size_t b : order) {
      if (b == 0) {
        continue;
      }
      std::size_t dominator = kNone;
      for (const std::size_t p : blocks[b].predecessors) {
        if (blocks[p].dominator != kNone) {
          dominator = dominator == kNone ? p : common(p, dominator);
        }
      }
      changed = changed || blocks[b].dominator != dominator;
      blocks[b].dominator = dominator;
    }
  }
}

}  // namespace

bool FlowGraph::dominates(std::size_t a, std::size_t b) const {
  while (blocks[b].order > blocks[a].order) {
    b = blocks[b].dominator;
  }
  return a == b;
}

FlowGraph flow_of(const SassCode& code) {
  if (code.empty()) {
    return {};
  }
  FlowGraph flow;
  flow.blocks = split(code);
  flow.order = order_blocks(flow.blocks);
  find_dominators(flow.blocks, flow.order);
  return flow;
}

}  // namespace octavo::compiled
