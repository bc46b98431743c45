#include "octavo/sim/serve/arrival_times.h"

#include <string>

#include "octavo/error.h"
#include "octavo/sim/rng.h"
#include "octavo/sim/serve/wide.h"

namespace octavo::sim {
namespace {

constexpr std::int64_t kMillionths = 1'000'000;
constexpr std::int64_t kSpeedMax = std::int64_t{1} << 40;
constexpr std::int64_t kMeanMax = std::int64_t{1} << 53;

void require_within(const char* name, std::int64_t value, std::int64_t low, std::int64_t high) {
  if (value < low || value > high) {
    throw Error(ErrorCode::InvalidArgument,
                std::string("arrivals: ") + name + " " + std::to_string(value) + " is outside [" +
                    std::to_string(low) + ", " + std::to_string(high) + "]");
  }
}

TraceTraits with_times(TraceTraits traits) {
  traits.arrivals = true;
  return traits;
}

class ArrivalReader final : public TraceReader {
 public:
  ArrivalReader(TraceReader& trace, const ArrivalPace& options)
      : TraceReader(trace.name(),
                    trace.format(),
                    trace.block_size(),
                    options.poisson_mean_ns > 0 ? with_times(trace.traits()) : trace.traits()),
        trace_(trace),
        options_(options),
        rng_(options.seed) {}

  std::int64_t line() const noexcept override { return trace_.line(); }

 private:
  bool read(TraceRequest& request) override {
    if (!trace_.next(request)) {
      return false;
    }
    if (options_.poisson_mean_ns > 0) {
      now_ns_ = clamped(wide(now_ns_) + wide(rng_.exponential(options_.poisson_mean_ns)));
      request.arrival_ns = now_ns_;
    } else if (options_.speed_millionths != kMillionths) {
      request.arrival_ns =
          clamped(wide(request.arrival_ns) * kMillionths / wide(options_.speed_millionths));
    }
    return true;
  }

  TraceReader& trace_;
  ArrivalPace options_;
  Rng rng_;
  std::int64_t now_ns_ = 0;
};

}  // namespace

std::unique_ptr<TraceReader> with_arrivals(TraceReader& trace, const ArrivalPace& options) {
  require_within("speed_millionths", options.speed_millionths, 1, kSpeedMax);
  require_within("poisson_mean_ns", options.poisson_mean_ns, 0, kMeanMax);
  return std::make_unique<ArrivalReader>(trace, options);
}

}  // namespace octavo::sim
