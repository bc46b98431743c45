#include "octavo/sim/serve/serving_config.h"

#include <array>
#include <limits>
#include <string>
#include <utility>

#include "octavo/error.h"

namespace octavo::sim {
namespace {

constexpr std::int64_t kInt64Max = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kInt32Max = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t kMeanMax = std::int64_t{1} << 53;

constexpr std::array kRouters{
    std::pair{RouterKind::RoundRobin, std::string_view("round-robin")},
    std::pair{RouterKind::LeastLoaded, std::string_view("least-loaded")},
    std::pair{RouterKind::LongestPrefix, std::string_view("longest-prefix")},
    std::pair{RouterKind::PowerOfTwo, std::string_view("power-of-two")},
};

constexpr std::array kOrders{
    std::pair{QueueOrder::Fcfs, std::string_view("fcfs")},
    std::pair{QueueOrder::Priority, std::string_view("priority")},
};

template <typename Names, typename Value>
std::string_view name_of(const Names& names, Value value) noexcept {
  for (const auto& [known, name] : names) {
    if (known == value) {
      return name;
    }
  }
  return "unknown";
}

template <typename Names>
auto value_of(const Names& names, std::string_view name, const char* what) {
  std::string expected;
  for (const auto& [value, known] : names) {
    if (known == name) {
      return value;
    }
    expected += expected.empty() ? "" : ", ";
    expected += known;
  }
  throw Error(ErrorCode::InvalidArgument, std::string(what) + " '" + std::string(name) +
                                              "' is unknown; it must be one of " + expected);
}

void check(const char* field, std::int64_t value, std::int64_t low, std::int64_t high) {
  if (value >= low && value <= high) {
    return;
  }
  throw Error(ErrorCode::InvalidArgument,
              std::string("simulate: ") + field + " " + std::to_string(value) + " is outside [" +
                  std::to_string(low) + ", " + std::to_string(high) + "]");
}

}  // namespace

std::string_view to_string(RouterKind router) noexcept {
  return name_of(kRouters, router);
}

RouterKind parse_router(std::string_view name) {
  return value_of(kRouters, name, "router");
}

std::string_view to_string(QueueOrder order) noexcept {
  return name_of(kOrders, order);
}

QueueOrder parse_queue_order(std::string_view name) {
  return value_of(kOrders, name, "order");
}

void check(const ServingConfig& config) {
  check("replicas", config.replicas, 1, 1024);
  check("router", static_cast<std::int64_t>(config.router), 0, kRouters.size() - 1);
  check("prefix_weight", config.prefix_weight, 0, 1000);
  check("order", static_cast<std::int64_t>(config.order), 0, kOrders.size() - 1);
  check("max_num_seqs", config.max_num_seqs, 1, 65536);
  check("max_num_batched_tokens", config.max_num_batched_tokens, 1, 1 << 24);
  check("max_prefill_chunk", config.max_prefill_chunk, 0, 1 << 24);
  check("max_model_len", config.max_model_len, 0, kInt32Max);
  check("num_blocks", config.num_blocks, 1, kInt32Max);
  check("block_size", config.block_size, 1, 65536);
  check("draft_tokens", config.draft_tokens, 0, 64);
  check("accept_millionths", config.accept_millionths, 0, kMillion);
  check("cancel_millionths", config.cancel_millionths, 0, kMillion);
  check("cancel_mean_ns", config.cancel_mean_ns, 0, kMeanMax);
  check("timeout_ns", config.timeout_ns, 0, kInt64Max);
  check("think_mean_ns", config.think_mean_ns.value_or(0), 0, kMeanMax);
  if (config.think_mean_ns && !config.closed_loop) {
    throw Error(ErrorCode::InvalidArgument, "simulate: think_mean_ns " +
                                                std::to_string(*config.think_mean_ns) +
                                                " needs closed_loop, which is off");
  }
  check("limit", config.limit, 0, kInt64Max);
  check("read_ahead", config.read_ahead, 1, 1 << 24);
  check("warm_requests", config.warm_requests, 0, kInt64Max);
  check("warm_ns", config.warm_ns, 0, kInt64Max);
  check("audit_every", config.audit_every, 0, kInt64Max);
}

}  // namespace octavo::sim
