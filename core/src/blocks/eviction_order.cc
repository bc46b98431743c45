#include "blocks/eviction_order.h"

#include <string>

#include "blocks/block_order.h"
#include "blocks/hdq_order.h"
#include "blocks/order_fifo.h"
#include "octavo/error.h"

namespace octavo::blocks {

std::unique_ptr<EvictionOrder> make_eviction_order(const BlockManagerConfig& config,
                                                   const RunStore& store) {
  switch (config.policy) {
    case EvictionPolicy::Lru:
      return nullptr;
    case EvictionPolicy::Fifo:
      return std::make_unique<BlockOrder<FifoOrder>>(config, store);
    case EvictionPolicy::Hdq:
      return std::make_unique<HdqOrder>(config, store);
    default:
      break;
  }
  throw Error(ErrorCode::Unimplemented,
              "BlockManager: policy " + std::string(to_string(config.policy)) + " is not there");
}

}  // namespace octavo::blocks
