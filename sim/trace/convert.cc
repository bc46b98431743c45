#include <algorithm>
#include <optional>
#include <vector>

#include "mooncake_writer.h"
#include "octavo/error.h"
#include "octavo/sim/input_error.h"
#include "octavo/sim/trace_convert.h"
#include "octavo/sim/trace_write.h"
#include "reblock.h"
#include "wide.h"

namespace octavo::sim {
namespace {

constexpr std::int64_t kNoEnd = std::numeric_limits<std::int64_t>::max();

[[noreturn]] void refuse_options(const std::string& what) {
  throw Error(ErrorCode::InvalidArgument, "convert_trace: " + what);
}

void check(const TraceReader& trace, const ConvertOptions& options) {
  if (options.format != TraceFormat::Octavo && options.format != TraceFormat::Mooncake) {
    refuse_options("format " + std::string(to_string(options.format)) +
                   " is none of octavo, mooncake");
  }
  const auto range = [](const char* name, std::int64_t value, std::int64_t low, std::int64_t high) {
    if (value < low || value > high) {
      refuse_options(std::string(name) + " " + std::to_string(value) + " is outside [" +
                     std::to_string(low) + ", " + std::to_string(high) + "]");
    }
  };
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  range("block_size", options.block_size, trace.traits().prefix_ids ? 0 : 1, kTraceBlockMax);
  range("limit", options.limit, 0, kMax);
  range("from_ns", options.from_ns, 0, kMax);
  range("to_ns", options.to_ns, options.from_ns, kMax);
  range("speedup_micro", options.speedup_micro, 1, 1'000'000'000'000'000);
  if (trace.traits().prefix_ids && options.block_size > 0 &&
      trace.block_size() % options.block_size != 0) {
    refuse_options("block_size " + std::to_string(options.block_size) +
                   " does not divide the trace's " + std::to_string(trace.block_size()));
  }
}

class Converter {
 public:
  Converter(TraceReader& trace, const ConvertOptions& options, std::ostream& out)
      : trace_(trace),
        options_(options),
        out_(out),
        reblock_(trace.traits(), trace.block_size(), result_block()) {
    result_.block_size = result_block();
    if (options.format == TraceFormat::Octavo) {
      writer_.emplace(out, TraceHeader{.block_size = result_.block_size});
    }
  }

  ConvertResult run(const ConvertProgress& progress) {
    std::vector<TraceRequest> kept;  // When sorting.
    for (TraceRequest request;
         (options_.limit == 0 || taken_ < options_.limit) && trace_.next(request);) {
      ++result_.read;
      if (progress) {
        progress(result_.read);
      }
      if (!is_in_window(request.arrival_ns)) {
        continue;
      }
      ++taken_;
      change(request);
      if (options_.sort) {
        kept.push_back(request);
      } else {
        write(request);
      }
    }
    std::stable_sort(kept.begin(), kept.end(), [](const TraceRequest& a, const TraceRequest& b) {
      return a.arrival_ns < b.arrival_ns;
    });
    for (const TraceRequest& request : kept) {
      write(request);
    }
    return std::move(result_);
  }

 private:
  bool is_in_window(std::int64_t time_ns) const {
    return time_ns >= options_.from_ns && (options_.to_ns == kNoEnd || time_ns < options_.to_ns);
  }

  std::int64_t result_block() const {
    return options_.block_size > 0 ? options_.block_size : trace_.block_size();
  }

  void lose(const char* field, const char* why) {
    if (!options_.lossy) {
      throw InputError(trace_.name(), trace_.line(), field,
                       std::string(why) + ", expected to be told that it may be lost");
    }
    ++result_.lost[field];
  }

  void change(TraceRequest& request) {
    check_loss(request);
    reblock_.apply(request);
    request.arrival_ns = scaled(request.arrival_ns - options_.from_ns);
    if (request.delay_ns) {
      request.delay_ns = scaled(*request.delay_ns);
    }
  }

  void check_loss(const TraceRequest& request) {
    const TraceTraits& traits = trace_.traits();
    if (!traits.prefix_ids) {
      lose("block_ids", "the trace does not say what is shared, the result would say: nothing");
    }
    if (!traits.arrivals) {
      lose("arrival", "the trace has no times, the result would say: all at once");
    }
    constexpr const char* kNoPlace = "has no place in the format to be written";
    if (options_.format == TraceFormat::Mooncake && request.session) {
      lose("session", kNoPlace);
    }
    if (options_.format == TraceFormat::Mooncake && request.delay_ns) {
      lose("delay_ns", kNoPlace);
    }
    if (!request.wait_for.empty()) {
      lose("wait_for", kNoPlace);
    }
    if (request.priority != 0) {
      lose("priority", kNoPlace);
    }
    if (request.cached_tokens) {
      lose("cached_tokens", kNoPlace);
    }
  }

  std::int64_t scaled(std::int64_t time_ns) const {
    const Wide time = Wide{static_cast<std::uint64_t>(time_ns)} * 1'000'000 /
                      static_cast<std::uint64_t>(options_.speedup_micro);
    if (time > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
      throw InputError(trace_.name(), trace_.line(), "",
                       "the time " + std::to_string(time_ns) +
                           " ns outgrows 2^63 ns at this speed, expected a larger speedup");
    }
    return static_cast<std::int64_t>(time);
  }

  void write(const TraceRequest& request) {
    if (writer_) {
      writer_->write(request);
    } else {
      write_mooncake(request, line_, out_);
    }
    ++result_.written;
  }

  TraceReader& trace_;
  const ConvertOptions& options_;
  std::ostream& out_;
  Reblock reblock_;
  ConvertResult result_;
  std::optional<TraceWriter> writer_;
  std::int64_t taken_ = 0;
  std::string line_;  // Kept for its capacity.
};

}  // namespace

ConvertResult convert_trace(TraceReader& trace,
                            const ConvertOptions& options,
                            std::ostream& out,
                            const ConvertProgress& progress) {
  check(trace, options);
  return Converter(trace, options, out).run(progress);
}

}  // namespace octavo::sim
