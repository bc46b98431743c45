// The trace model: what a request of a recorded or generated workload is, and how to stream through
// a file of them.
//
// A TraceReader hands out the requests of one source in the order of the source, one at a time,
// into a request that the caller owns and reuses: once its vector has grown to the longest request,
// reading allocates nothing, and memory does not depend on the length of the file. A reader is
// driven from one thread; distinct readers are independent.
//
// The file formats are described in traces/FORMAT.md.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace octavo::sim {

/// Prompt tokens that one id of a Mooncake trace stands for, unless the caller says otherwise.
inline constexpr std::int64_t kMooncakeTraceBlock = 512;

/// The largest number of prompt tokens that one id may stand for.
inline constexpr std::int64_t kTraceBlockMax = (std::int64_t{1} << 31) - 1;

/// One request. Ids are prefix ids: an id names a block of the prompt *and everything before it*,
/// so that equal ids mean equal prompts up to the end of that block. The last id stands for a
/// partial block when the prompt is no multiple of the block size.
struct TraceRequest {
  std::int64_t arrival_ns = 0;     ///< Nanoseconds since the start of the trace, never negative.
  std::int64_t input_tokens = 0;   ///< Length of the prompt, at least 1.
  std::int64_t output_tokens = 0;  ///< Tokens that were generated, at least 0.
  std::optional<std::uint64_t> session{};  ///< Requests of one conversation or agent share it.

  /// Any 64-bit values; empty in a trace without prefix ids. One a block, the partial tail included
  /// ([ceil(input_tokens / block size)]), or whole blocks only ([floor]): see TraceTraits.
  std::vector<std::uint64_t> block_ids{};

  // What only some formats know.

  /// The request waits for the end of the one before it in its session (and of `wait_for`), then
  /// for this long; `arrival_ns` is when it was recorded. Unset: it arrives at `arrival_ns`.
  std::optional<std::int64_t> delay_ns{};
  std::vector<std::int64_t> wait_for{};         ///< Requests, counted from 0, that must have ended.
  std::int64_t priority = 0;                    ///< Larger is more urgent.
  std::optional<std::int64_t> cached_tokens{};  ///< What the recorded engine had served from cache.
};

/// What the requests of one trace have in common.
struct TraceTraits {
  bool prefix_ids = true;  ///< Without them, nothing is known about sharing: no `block_ids`.
  bool arrivals = true;    ///< Without them, every `arrival_ns` is 0.
  bool tail_has_id =
      true;  ///< false: `block_ids` names whole blocks only, a tail is shared by none.
};

enum class TraceFormat {
  Auto,      ///< Told from the first line that is not blank.
  Mooncake,  ///< Mooncake JSONL: milliseconds, ids of 512 tokens unless said otherwise.
  Octavo,    ///< Octavo JSONL: nanoseconds, the block size stands in the file.
};

/// The name used on command lines: "auto", "mooncake", "octavo".
std::string_view to_string(TraceFormat format) noexcept;

/// The inverse of `to_string`. Raises InvalidArgument for another name.
TraceFormat parse_trace_format(std::string_view name);

class TraceReader {
 public:
  virtual ~TraceReader() = default;
  TraceReader(const TraceReader&) = delete;
  TraceReader& operator=(const TraceReader&) = delete;

  /// Fills `request` with the next request and returns true, or returns false at the end.
  ///
  /// Raises InputError for a line that is not what the format demands; what `request` holds then is
  /// unspecified, and every later call raises the same error again (a bad line is never skipped).
  bool next(TraceRequest& request);

  /// Never Auto.
  TraceFormat format() const noexcept { return format_; }

  const TraceTraits& traits() const noexcept { return traits_; }

  /// Prompt tokens that one id stands for.
  std::int64_t block_size() const noexcept { return block_size_; }

  /// The source as error messages name it: the path, or "<stdin>".
  const std::string& name() const noexcept { return name_; }

  /// The line (from 1) of the request handed out last; 0 when the source has no lines.
  virtual std::int64_t line() const noexcept { return 0; }

 protected:
  TraceReader(std::string name,
              TraceFormat format,
              std::int64_t block_size,
              const TraceTraits& traits = {})
      : name_(std::move(name)), format_(format), block_size_(block_size), traits_(traits) {}

 private:
  virtual bool read(TraceRequest& request) = 0;

  std::string name_;
  TraceFormat format_;
  std::int64_t block_size_;
  TraceTraits traits_;
  std::exception_ptr failure_;  // What the first failed call raised.
};

struct TraceOptions {
  TraceFormat format = TraceFormat::Auto;

  /// Prompt tokens that one id stands for; 0 is the format's own (512 for Mooncake, what the header
  /// says for Octavo). A value that contradicts the header of an Octavo trace is refused.
  std::int64_t trace_block = 0;
};

/// Opens a trace; "-" reads standard input. Reads as far as the first line that is not blank.
///
/// Raises InputError when the file is missing, a directory, unreadable, empty or of no known
/// format, InvalidArgument for a trace block outside [0, 2147483647].
std::unique_ptr<TraceReader> open_trace(const std::string& path, const TraceOptions& options = {});

}  // namespace octavo::sim
