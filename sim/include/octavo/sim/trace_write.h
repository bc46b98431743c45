// Writing Octavo's own trace format (traces/FORMAT.md).
#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "octavo/sim/trace.h"

namespace octavo::sim {

/// The first line of a trace. Notes are further fields, which readers ignore: a name, and a value
/// that is written as it stands and must therefore be JSON.
struct TraceHeader {
  std::int64_t block_size = 0;
  std::vector<std::pair<std::string, std::string>> notes{};
  TraceTraits traits{};
};

/// Writes a trace to a stream that the caller owns and whose state the caller checks. The same
/// requests give the same bytes on every machine. Driven from one thread.
class TraceWriter {
 public:
  /// Writes the header. Raises InvalidArgument for a block size outside [1, 2147483647].
  TraceWriter(std::ostream& out, const TraceHeader& header);

  /// Writes one line. Raises InvalidArgument, writing nothing, for a request that no reader would
  /// take back: a negative number, an empty prompt, a number of ids that does not fit the prompt
  /// and the header's traits, a wait for a request that was not written above.
  void write(const TraceRequest& request);

 private:
  void check(const TraceRequest& request) const;
  void write_rest(const TraceRequest& request);

  std::ostream& out_;
  std::int64_t block_size_;
  TraceTraits traits_;
  std::int64_t written_ = 0;
  std::string line_;  // Kept for its capacity.
};

}  // namespace octavo::sim
