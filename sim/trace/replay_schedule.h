// When the rows of Dynamo's and AIPerf's replay files are sent: sessions whose turns follow each
// other, and requests that wait for others by name.
//
// Takes memory for each distinct session and each named request of the file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "json_scanner.h"
#include "octavo/sim/trace.h"

namespace octavo::sim {

/// What one row says about its time. Kept and reused; `clear` keeps the memory.
struct ReplayRow {
  std::optional<std::int64_t> timestamp_ns;
  std::optional<std::int64_t> delay_ns;
  std::int64_t tool_wait_ns = 0;
  bool has_session = false;
  bool has_request_id = false;
  std::string session;
  std::string request_id;
  std::vector<std::string> wait_for;  // The first `waits` of them.
  std::size_t waits = 0;

  void clear();
  void add_wait(std::string_view name);
};

class ReplaySchedule {
 public:
  /// Sets session, arrival_ns, delay_ns and wait_for of the request of a row. Without `arrivals` no
  /// row has a timestamp. Raises InputError for a row that cannot be placed.
  void place(const ReplayRow& row,
             bool arrivals,
             const JsonScanner& scanner,
             TraceRequest& request);

  /// Counts a request of a row that has nothing but a timestamp.
  void pass() noexcept { ++placed_; }

 private:
  struct Session {
    std::uint64_t number;
    std::int64_t arrival_ns;  // Of the last turn.
    bool timed;               // It had a timestamp; otherwise arrival_ns is the earliest it can be.
  };

  struct Sent {
    std::int64_t index;
    std::int64_t arrival_ns;
  };

  std::int64_t placed_ = 0;
  // Never iterated, looked up by name.
  std::unordered_map<std::string, Session> sessions_;
  // Never iterated, looked up by name.
  std::unordered_map<std::string, Sent> requests_;
};

}  // namespace octavo::sim
