// A trace held in memory, to be read more than once.
//
// Memory: 8 bytes an id and about 150 bytes a request.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "octavo/sim/trace.h"

namespace octavo::sim {

class LoadedTrace final : public TraceReader {
 public:
  /// Reads the rest of `source`, or `limit` requests of it when that is not 0. Raises what
  /// TraceReader::next raises.
  explicit LoadedTrace(TraceReader& source, std::int64_t limit = 0)
      : TraceReader(source.name(), source.format(), source.block_size(), source.traits()) {
    TraceRequest request;
    while ((limit == 0 || static_cast<std::int64_t>(requests_.size()) < limit) &&
           source.next(request)) {
      requests_.push_back(request);
      lines_.push_back(source.line());
    }
  }

  /// A trace that never was a file.
  LoadedTrace(std::string name,
              std::int64_t block_size,
              std::vector<TraceRequest> requests,
              const TraceTraits& traits = {})
      : TraceReader(std::move(name), TraceFormat::Octavo, block_size, traits),
        requests_(std::move(requests)),
        lines_(requests_.size(), 0) {}

  /// The next request is the first one again.
  void rewind() noexcept { next_ = 0; }

  const std::vector<TraceRequest>& requests() const noexcept { return requests_; }

  std::int64_t line() const noexcept override { return next_ > 0 ? lines_[next_ - 1] : 0; }

 private:
  bool read(TraceRequest& request) override {
    if (next_ == requests_.size()) {
      return false;
    }
    request = requests_[next_++];
    return true;
  }

  std::vector<TraceRequest> requests_;
  std::vector<std::int64_t> lines_;
  std::size_t next_ = 0;  // Requests that were handed out.
};

}  // namespace octavo::sim
