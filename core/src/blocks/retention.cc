// What EvictionPolicy::Priority is told: how much a slot's blocks are worth, and the time.

#include <string>

#include "blocks/block_manager_impl.h"
#include "octavo/error.h"

namespace octavo {
namespace {

constexpr std::int64_t kTicksMost = std::int64_t{1} << 62;

void require_priority(const char* call, EvictionPolicy policy) {
  if (policy != EvictionPolicy::Priority) {
    throw Error(ErrorCode::FailedPrecondition, std::string(call) + ": the eviction policy is " +
                                                   std::string(to_string(policy)) +
                                                   "; it must be priority");
  }
}

}  // namespace

void BlockManager::Impl::set_retention(int slot, int priority, std::int64_t ttl_ticks) {
  (void)checked_slot("set_retention", slot);
  require_priority("set_retention", config_.policy);
  if (priority < 0 || priority > kHighestPriority) {
    throw_outside("set_retention", "priority", priority, 0, kHighestPriority);
  }
  if (ttl_ticks < 0 || ttl_ticks > kTicksMost) {
    throw_outside("set_retention", "ttl_ticks", ttl_ticks, 0, kTicksMost);
  }
  tree_.order()->set_retention(slot, priority, ttl_ticks);
}

void BlockManager::Impl::advance_clock(std::int64_t now_ticks) {
  require_priority("advance_clock", config_.policy);
  const std::int64_t now = tree_.order()->now_ticks();
  if (now_ticks < now || now_ticks > kTicksMost) {
    throw_outside("advance_clock", "now_ticks", now_ticks, now, kTicksMost);
  }
  tree_.order()->advance_clock(now_ticks);
}

// --- The public face ---

void BlockManager::set_retention(int slot, int priority, std::int64_t ttl_ticks) {
  whole("set_retention", impl_).set_retention(slot, priority, ttl_ticks);
}
void BlockManager::advance_clock(std::int64_t now_ticks) {
  whole("advance_clock", impl_).advance_clock(now_ticks);
}

}  // namespace octavo
