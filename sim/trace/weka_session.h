// One WEKA / kv-cache-tester session: a JSON document with the requests of an agent and of the
// sub-agents that it started.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "octavo/sim/trace.h"

namespace octavo::sim {

struct WekaSession {
  std::int64_t block_size = 0;
  bool global_ids = false;  ///< The ids of all sessions are one space; otherwise of this one only.

  /// In order of arrival, in nanoseconds since the start of the session; equal times stay in the
  /// order of the document. `session` is 0 for the agent and counts on for the sub-agents,
  /// `wait_for` counts from the first request here.
  std::vector<TraceRequest> requests{};
  std::vector<std::int64_t> lines{};  ///< The line that each request ends on.
  std::uint64_t sessions = 1;         ///< The agent and its sub-agents.
};

/// Reads a document whose first line has this number in `file`. Raises InputError for what is no
/// session.
WekaSession parse_weka_session(const std::string& file,
                               std::string_view document,
                               std::int64_t line);

}  // namespace octavo::sim
