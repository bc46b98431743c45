// The trace model: what a request of a recorded or generated workload is, and how to stream through
// a file of them.
//
// A TraceReader hands out the requests of one source one at a time, into a request that the caller
// owns and reuses. Most formats are handed out in the order of the file and take memory for one
// request only; traces/FORMAT.md names those that must be sorted or that remember names, and what
// that takes. A reader is driven from one thread; distinct readers are independent.
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
  std::vector<std::int64_t>
      wait_for{};             ///< Earlier requests, counted from 0, that must have ended.
  std::int64_t priority = 0;  ///< Larger is more urgent.
  std::optional<std::int64_t> cached_tokens{};  ///< What the recorded engine served from its cache.
  std::optional<std::uint64_t>
      parent_session{};                      ///< The session that started this one, a sub-agent.
  std::optional<std::uint64_t> worker{};     ///< The engine that served it, of several.
  std::int64_t media = 0;                    ///< Images and the like in the prompt.
  std::optional<std::int64_t> ttft_ns{};     ///< From the arrival to the first token, as recorded.
  std::optional<std::int64_t> service_ns{};  ///< From the arrival to the last token, as recorded.

  /// Back to a request that says nothing, its vectors' memory kept.
  void clear() noexcept;
};

/// What the requests of one trace have in common.
struct TraceTraits {
  bool prefix_ids = true;  ///< Without them, nothing is known about sharing: no `block_ids`.
  bool arrivals = true;    ///< Without them, every `arrival_ns` is 0.
  bool tail_has_id =
      true;             ///< false: `block_ids` names whole blocks only, a tail is shared by none.
  bool outputs = true;  ///< Without them, nothing is known about outputs: `output_tokens` is 0.
};

enum class TraceFormat {
  Auto,           ///< Told from the content.
  Mooncake,       ///< Mooncake JSONL: milliseconds, ids of 512 tokens unless said otherwise.
  Dynamo,         ///< Dynamo's replay rows: Mooncake with sessions, delays and waits.
  Aiperf,         ///< AIPerf's mooncake_trace rows: Mooncake with sessions, ids optional.
  Bailian,        ///< Qwen-Bailian JSONL: seconds, content ids of 16 tokens, chained here.
  Azure,          ///< Azure LLM inference CSV of 2023, 2024 and 2025: times and lengths only.
  BurstGpt,       ///< BurstGPT CSV: times and lengths only.
  Vidur,          ///< Vidur CSV: lengths, with or without times.
  Splitwise,      ///< Splitwise-sim CSV: times and lengths only.
  Weka,           ///< WEKA / kv-cache-tester session JSON: a file a session, or a folder of them.
  DynamoTrace,    ///< dynamo.request.trace.v1 JSONL: an engine's log, sorted here.
  LlmServingSim,  ///< LLMServingSim JSONL: nanoseconds, token ids, chained here.
  Tair,           ///< Tair KVCache neutral schema JSONL: microseconds, signed prefix keys.
  Octavo,         ///< Octavo JSONL: nanoseconds, the block size stands in the file.
};

/// The names of all formats, "auto" first, for the checks of command lines.
std::vector<std::string> trace_format_names();

/// The name used on command lines: "auto", "mooncake", "dynamo-trace", ... (traces/FORMAT.md).
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

  /// Records passed over so far because the format itself says that they are no requests (tool
  /// events, cache writes). Nothing else is ever passed over.
  virtual std::int64_t skipped() const noexcept { return 0; }

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

  /// Prompt tokens that one id stands for; 0 is the format's own: what the file says, or 512 for
  /// Mooncake, Dynamo and AIPerf, 16 for Bailian, LLMServingSim and Tair. A value that contradicts
  /// the file is refused, and so is any for a format without prefix ids.
  std::int64_t trace_block = 0;

  /// Gives the tails of a trace that names whole blocks only (`tail_has_id` false) ids of their own
  /// that occur nowhere else, for callers that want ceil(input_tokens / block size) ids.
  bool unique_tails = false;
};

/// Opens a trace: a file, "-" for standard input, or a folder of WEKA sessions. What gzip or
/// Zstandard compressed is read as what it holds.
///
/// Raises InputError when the file is missing, unreadable, empty or of no known format,
/// InvalidArgument for a trace block outside [0, 2147483647].
std::unique_ptr<TraceReader> open_trace(const std::string& path, const TraceOptions& options = {});

}  // namespace octavo::sim
