#include "octavo/sim/serve/roofline_cost.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "octavo/error.h"
#include "octavo/sim/serve/wide.h"

namespace octavo::sim {
namespace {

constexpr Wide kWhole = Wide{1} << 32;  // 1 in the table of untouched experts.
constexpr std::size_t kUntouchedMax = 65536;

/// The time of `units` at `per_second`, in picoseconds.
Wide picoseconds(Wide units, std::int64_t per_second) {
  return units * kPicosecondsPerS / wide(per_second);
}

void require(bool holds, const char* what) {
  if (!holds) {
    throw Error(ErrorCode::InvalidArgument, std::string("roofline: ") + what);
  }
}

std::vector<std::uint32_t> untouched_experts(std::int64_t experts, std::int64_t per_token) {
  std::vector<std::uint32_t> table;
  if (experts == 0) {
    return table;
  }
  Wide left = kWhole;
  while (table.size() < kUntouchedMax) {
    left = left * wide(experts - per_token) / wide(experts);  // rounds down: never rises
    if (left == 0) {
      break;
    }
    table.push_back(static_cast<std::uint32_t>(left));
  }
  return table;
}

}  // namespace

/// In picoseconds.
struct RooflineCost::Times {
  Wide overhead = 0;
  Wide linear_compute = 0;
  Wide linear_memory = 0;
  Wide head = 0;
  Wide attention = 0;
  Wide reduce = 0;
};

RooflineCost::RooflineCost(RooflineFigures figures) : figures_(std::move(figures)) {
  const RooflineFigures& f = figures_;
  require(f.memory_bytes_per_s > 0 && f.linear_flops_per_s > 0 && f.head_flops_per_s > 0 &&
              f.attention_flops_per_s > 0,
          "a rate is not positive");
  require(f.link_bytes_per_s > 0 || f.reduces == 0, "all-reduces without a link");
  require(f.linear_bytes >= 0 && f.linear_flops_per_token >= 0 && f.expert_bytes >= 0 &&
              f.head_bytes >= 0 && f.head_flops_per_row >= 0 && f.reduces >= 0 &&
              f.reduce_bytes_per_token >= 0 && f.reduce_ns >= 0 && f.overhead_ns >= 0,
          "a count is negative");
  require(f.experts_per_token >= 0 && f.experts_per_token <= f.experts,
          "a token meets more experts than there are");
  require(!f.spans.empty() && f.spans.size() <= kSpansMax, "there are not 1 to 4 spans");
  for (const AttentionCost& cost : f.attention) {
    require(cost.span < f.spans.size() && cost.flops_per_pair >= 0 && cost.bytes_per_token >= 0,
            "an attention class is out of range");
  }
  untouched_ = untouched_experts(f.experts, f.experts_per_token);
}

std::int64_t RooflineCost::expert_bytes_read(std::int64_t tokens) const {
  if (tokens <= 0) {
    return 0;
  }
  const auto index = static_cast<std::size_t>(tokens - 1);
  const Wide untouched = index < untouched_.size() ? untouched_[index] : 0;
  return static_cast<std::int64_t>(wide(figures_.expert_bytes) * (kWhole - untouched) / kWhole);
}

RooflineCost::Times RooflineCost::times(const StepShape& shape) const {
  const RooflineFigures& f = figures_;
  const Wide tokens = wide(shape.prefill_tokens) + wide(shape.decode_tokens);
  Times times;
  times.overhead = wide(f.overhead_ns) * kPicosecondsPerNs;
  if (tokens > 0) {
    times.linear_compute =
        picoseconds(wide(f.linear_flops_per_token) * tokens, f.linear_flops_per_s);
    times.linear_memory = picoseconds(
        wide(f.linear_bytes) + wide(expert_bytes_read(clamped(tokens))), f.memory_bytes_per_s);
    const Wide sent = wide(f.reduce_bytes_per_token) * tokens;
    const Wide wire = f.reduces > 0 ? picoseconds(sent, f.link_bytes_per_s) : 0;
    times.reduce = wide(f.reduces) * (wire + wide(f.reduce_ns) * kPicosecondsPerNs);
  }
  const Wide rows = wide(shape.prefill_sequences) + wide(shape.decode_tokens);
  if (rows > 0) {
    times.head = std::max(picoseconds(wide(f.head_flops_per_row) * rows, f.head_flops_per_s),
                          picoseconds(wide(f.head_bytes), f.memory_bytes_per_s));
  }
  for (const AttentionCost& cost : f.attention) {
    const Wide pairs = wide(shape.attended_pairs[cost.span]);
    const Wide moved = wide(shape.read_tokens[cost.span]) + tokens;  // read; the new ones written
    times.attention +=
        std::max(picoseconds(wide(cost.flops_per_pair) * pairs, f.attention_flops_per_s),
                 picoseconds(wide(cost.bytes_per_token) * moved, f.memory_bytes_per_s));
  }
  return times;
}

std::int64_t RooflineCost::step_time_ns(const StepShape& shape) const {
  const Times t = times(shape);
  return ns_of_picoseconds(t.overhead + std::max(t.linear_compute, t.linear_memory) + t.head +
                           t.attention + t.reduce);
}

StepTimeParts RooflineCost::parts(const StepShape& shape) const {
  const Times t = times(shape);
  const auto rounded_up = [](Wide picoseconds) {
    return picoseconds == 0 ? 0 : ns_of_picoseconds(picoseconds);
  };
  return {.overhead_ns = rounded_up(t.overhead),
          .linear_ns = rounded_up(std::max(t.linear_compute, t.linear_memory)),
          .head_ns = rounded_up(t.head),
          .attention_ns = rounded_up(t.attention),
          .reduce_ns = rounded_up(t.reduce),
          .linear_memory_bound = t.linear_memory > t.linear_compute};
}

}  // namespace octavo::sim
