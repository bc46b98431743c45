// First in, first out: sealed first leaves first, however often it was served since.
#pragma once

#include "blocks/queue_algorithm.h"

namespace octavo::blocks {

class FifoOrder : public QueueAlgorithm<1> {
 public:
  using QueueAlgorithm::QueueAlgorithm;

  void insert(BlockId block) noexcept { enter(block, 0); }
  BlockId turn() noexcept { return pop(0); }
};

}  // namespace octavo::blocks
