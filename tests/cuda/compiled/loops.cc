#include "tests/cuda/compiled/loops.h"

#include <set>
#include <utility>

#include "tests/cuda/compiled/flow.h"

namespace octavo::compiled {
namespace {

// Adds the blocks from which `latch` is reached without passing `header`.
void add_natural_loop(const FlowGraph& flow,
                      std::size_t header,
                      std::size_t latch,
                      std::set<std::size_t>& members) {
  members.insert(header);
  std::vector<std::size_t> left;
  if (members.insert(latch).second) {
    left.push_back(latch);
  }
  while (!left.empty()) {
    const std::size_t block = left.back();
    left.pop_back();
    for (const std::size_t p : flow.blocks[block].predecessors) {
      if (members.insert(p).second) {
        left.push_back(p);
      }
    }
  }
}

// The blocks of `open` that are reached from those of `left` by `neighbours`, within `open`.
std::set<std::size_t> reach(const FlowGraph& flow,
                            const std::set<std::size_t>& open,
                            std::vector<std::size_t> left,
                            std::vector<std::size_t> FlowBlock::*neighbours) {
  std::set<std::size_t> reached;
  while (!left.empty()) {
    const std::size_t block = left.back();
    left.pop_back();
    if (open.contains(block) && reached.insert(block).second) {
      const std::vector<std::size_t>& next = flow.blocks[block].*neighbours;
      left.insert(left.end(), next.begin(), next.end());
    }
  }
  return reached;
}

}  // namespace

std::size_t Loop::count(unsigned operation) const {
  const auto found = operations.find(operation);
  return found == operations.end() ? 0 : found->second;
}

std::vector<Loop> find_loops(const SassCode& code) {
  const FlowGraph flow = flow_of(code);
  std::map<std::size_t, std::set<std::size_t>> members;  // By header.
  for (const std::size_t b : flow.order) {
    for (const std::size_t header : flow.blocks[b].successors) {
      if (flow.dominates(header, b)) {
        add_natural_loop(flow, header, b, members[header]);
      }
    }
  }
  std::vector<Loop> loops;
  for (const auto& [header, loop_blocks] : members) {
    Loop loop;
    loop.header = flow.blocks[header].begin;
    for (const std::size_t b : loop_blocks) {
      loop.is_innermost = loop.is_innermost && (b == header || !members.contains(b));
      for (std::size_t i = flow.blocks[b].begin; i < flow.blocks[b].end; ++i) {
        loop.body.push_back(i);
        ++loop.operations[code[i].operation()];
      }
    }
    loops.push_back(std::move(loop));
  }
  return loops;
}

std::vector<std::size_t> iteration_without(const SassCode& code,
                                           const Loop& loop,
                                           unsigned operation) {
  const FlowGraph flow = flow_of(code);
  const std::set<std::size_t> body(loop.body.begin(), loop.body.end());
  std::set<std::size_t> open;
  std::vector<std::size_t> headers;
  std::vector<std::size_t> latches;
  for (const std::size_t b : flow.order) {
    const FlowBlock& block = flow.blocks[b];
    bool is_open = body.contains(block.begin);
    for (std::size_t i = block.begin; i < block.end; ++i) {
      is_open = is_open && code[i].operation() != operation;
    }
    if (!is_open) {
      continue;
    }
    open.insert(b);
    if (block.begin == loop.header) {
      headers.push_back(b);
    }
    for (const std::size_t next : block.successors) {
      if (flow.blocks[next].begin == loop.header) {
        latches.push_back(b);
      }
    }
  }
  const auto forth = reach(flow, open, headers, &FlowBlock::successors);
  const auto back = reach(flow, open, latches, &FlowBlock::predecessors);
  std::vector<std::size_t> iteration;
  for (const std::size_t b : forth) {
    for (std::size_t i = flow.blocks[b].begin; back.contains(b) && i < flow.blocks[b].end; ++i) {
      iteration.push_back(i);
    }
  }
  return iteration;
}

}  // namespace octavo::compiled
