#include "blocks/eviction_order.h"

#include <string>

#include "blocks/block_order.h"
#include "blocks/hdq_order.h"
#include "blocks/order_arc.h"
#include "blocks/order_fifo.h"
#include "blocks/order_lfu.h"
#include "blocks/order_priority.h"
#include "blocks/order_s3_fifo.h"
#include "blocks/order_sieve.h"
#include "blocks/order_slru.h"
#include "blocks/order_two_queue.h"
#include "octavo/error.h"

namespace octavo::blocks {

std::unique_ptr<EvictionOrder> make_eviction_order(const BlockManagerConfig& config,
                                                   const RunStore& store) {
  switch (config.policy) {
    case EvictionPolicy::Lru:
      return nullptr;
    case EvictionPolicy::Fifo:
      return std::make_unique<BlockOrder<FifoOrder>>(config, store);
    case EvictionPolicy::Lfu:
      return std::make_unique<BlockOrder<LfuOrder>>(config, store);
    case EvictionPolicy::Slru:
      return std::make_unique<BlockOrder<SlruOrder>>(config, store);
    case EvictionPolicy::TwoQueue:
      return std::make_unique<BlockOrder<TwoQueueOrder>>(config, store);
    case EvictionPolicy::Arc:
      return std::make_unique<BlockOrder<ArcOrder>>(config, store);
    case EvictionPolicy::S3Fifo:
      return std::make_unique<BlockOrder<S3FifoOrder>>(config, store);
    case EvictionPolicy::Sieve:
      return std::make_unique<BlockOrder<SieveOrder>>(config, store);
    case EvictionPolicy::Priority:
      return std::make_unique<BlockOrder<PriorityOrder>>(config, store);
    case EvictionPolicy::Hdq:
      return std::make_unique<HdqOrder>(config, store);
  }
  throw Error(ErrorCode::InvalidArgument, "BlockManager: policy " +
                                              std::to_string(static_cast<int>(config.policy)) +
                                              " is none of EvictionPolicy's");
}

}  // namespace octavo::blocks
