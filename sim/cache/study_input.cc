#include "study_input.h"

#include <limits>
#include <string>

#include "octavo/error.h"
#include "octavo/sim/input_error.h"

namespace octavo::sim {

void check_range(
    const char* study, const char* name, std::int64_t value, std::int64_t low, std::int64_t high) {
  if (value < low || value > high) {
    throw Error(ErrorCode::InvalidArgument,
                std::string(study) + ": " + name + " " + std::to_string(value) + " is outside [" +
                    std::to_string(low) + ", " + std::to_string(high) + "]");
  }
}

void require_prefix_ids(const TraceReader& trace) {
  if (!trace.traits().prefix_ids) {
    throw InputError(trace.name(), 0, "",
                     "has no prefix ids, so nothing is known of what its prompts share, expected "
                     "a trace with prefix ids");
  }
}

bool next_request(TraceReader& trace,
                  std::int64_t limit,
                  std::int64_t done,
                  TraceRequest& request) {
  if ((limit != 0 && done >= limit) || !trace.next(request)) {
    return false;
  }
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  if (request.input_tokens > kMost) {
    throw InputError(trace.name(), trace.line(), "input_length",
                     std::to_string(request.input_tokens) + " tokens; a replay takes at most " +
                         std::to_string(kMost));
  }
  return true;
}

}  // namespace octavo::sim
