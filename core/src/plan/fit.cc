// The inverse of the footprint: the largest count whose footprint is within a budget.
#include <string>

#include "base/checked.h"
#include "octavo/kv_footprint.h"
#include "plan/kv_plan.h"
#include "plan/refuse.h"

namespace octavo {
namespace {

void check_budget(std::int64_t budget_bytes, const std::string& call) {
  if (budget_bytes < 0) {
    refuse(call + ": budget_bytes is " + std::to_string(budget_bytes) + "; it must be >= 0");
  }
}

/// The largest n in [1, limit] with footprint_at(n) <= budget_bytes, where the footprint never
/// shrinks as n grows; one that does not fit into 64 bits fits no budget.
template <typename FootprintAt>
std::int64_t largest(const FootprintAt& footprint_at,
                     std::int64_t limit,
                     std::int64_t budget_bytes,
                     const std::string& call,
                     const char* unit) {
  const std::int64_t needed = footprint_at(1);
  if (needed > budget_bytes) {
    throw Error(ErrorCode::ResourceExhausted,
                call + ": budget_bytes is " + std::to_string(budget_bytes) + "; one " + unit +
                    " needs " + std::to_string(needed) + " bytes, all storage included");
  }
  const auto fits = [&](std::int64_t n) {
    try {
      return footprint_at(n) <= budget_bytes;
    } catch (const SizeOverflow&) {
      return false;
    }
  };
  if (fits(limit)) {
    return limit;
  }
  std::int64_t fitting = 1;
  std::int64_t too_large = limit;
  while (too_large - fitting > 1) {
    const std::int64_t middle = fitting + (too_large - fitting) / 2;
    (fits(middle) ? fitting : too_large) = middle;
  }
  return fitting;
}

}  // namespace

std::int64_t largest_num_blocks(const KVCacheConfig& config,
                                std::span<const KVLayerSpec> layer_specs,
                                std::int64_t budget_bytes) {
  check_budget(budget_bytes, "largest_num_blocks");
  KVCacheConfig candidate = config;
  if (candidate.paged) {
    candidate.paged->num_blocks = 1;
  }
  if (!make_kv_plan(candidate, layer_specs).has_paged_rows) {
    refuse("largest_num_blocks: layer_specs has 0 paged rows; it must have at least 1");
  }
  const auto footprint_at = [&](std::int64_t num_blocks) {
    candidate.paged->num_blocks = num_blocks;
    return make_kv_plan(candidate, layer_specs).footprint.total();
  };
  return largest(footprint_at, kMaxBlocks, budget_bytes, "largest_num_blocks", "block");
}

std::int64_t largest_max_seqs(const KVCacheConfig& config,
                              std::span<const KVLayerSpec> layer_specs,
                              std::int64_t budget_bytes) {
  check_budget(budget_bytes, "largest_max_seqs");
  KVCacheConfig candidate = config;
  const auto footprint_at = [&](std::int64_t max_seqs) {
    candidate.max_seqs = static_cast<int>(max_seqs);
    return make_kv_plan(candidate, layer_specs).footprint.total();
  };
  return largest(footprint_at, kMaxSeqs, budget_bytes, "largest_max_seqs", "slot");
}

}  // namespace octavo
