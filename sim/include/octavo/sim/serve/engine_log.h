// A log of requests as a real engine served them, and what Octavo's block manager would have served
// of each from its cache: predicted against recorded.
//
// Read are the request_end events of a dynamo.request.trace.v1 file. The whole log is held in
// memory. Pure functions of the file and the options; any thread.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace octavo::sim {

/// Times are nanoseconds since the first request was received.
struct EngineRequest {
  std::string request_id;
  std::string session;  ///< Empty without one.
  std::uint64_t worker_id = 0;
  std::int64_t worker_rank = 0;
  std::int64_t received_ns = 0;
  std::int64_t admitted_ns = 0;   ///< Its prefill began: the cache was looked at.
  std::int64_t prefilled_ns = 0;  ///< Its first token came: its prompt is in the cache.
  std::int64_t ended_ns = 0;
  std::int64_t input_tokens = 0;
  std::int64_t output_tokens = 0;
  std::int64_t cached_tokens = 0;  ///< What the engine says it had cached.
  std::vector<std::uint64_t> ids;  ///< Prefix ids of blocks, the partial tail's included.
  std::int64_t line = 0;
};

struct EngineLog {
  std::string file;
  std::int64_t block_size = 0;          ///< The same in every request.
  std::vector<EngineRequest> requests;  ///< By the time received, then as in the file.
};

/// Raises InputError for a file that cannot be read or holds no request, another schema, a field
/// that is missing, of a wrong type or out of range, times out of order, a wrong number of ids, and
/// a block size that changes.
EngineLog read_engine_log(const std::string& path);

/// Why a request's record is not the prediction.
enum class LogDifference : std::uint8_t {
  None,
  /// The session's next prompt does not repeat the whole reply: less was served than if it had, and
  /// what the record says is exactly what a reply repeated up to there gives.
  ReplyRewritten,
  Unexplained,
};
/// "none", "reply_rewritten", "unexplained".
std::string_view to_string(LogDifference difference);

/// One request, in tokens served from the cache.
struct LogPrediction {
  std::int64_t recorded = 0;
  /// With the recorded times, and every reply repeated in the session's next prompt as it was
  /// generated. Nothing of what was recorded as cached goes into it.
  std::int64_t predicted = 0;
  std::int64_t prompts_only = 0;  ///< Were generated tokens not cached.
  std::int64_t at_once = 0;       ///< Prompts only, each in the cache before the next is received.
  std::int64_t explained = 0;     ///< With the rewritten replies cut where the record says.
  LogDifference difference = LogDifference::None;
  std::optional<std::size_t>
      previous{};  ///< The turn of its session that this prompt goes on from.
  /// Of a rewritten reply: the tokens that the prompt repeats of it are at least and at most these.
  std::int64_t repeated_min = 0;
  std::int64_t repeated_max = 0;
};

struct EngineLogPrediction {
  std::vector<LogPrediction> requests;  ///< As in the log.
  std::int64_t input_tokens = 0;
  std::int64_t recorded_tokens = 0;
  std::int64_t predicted_tokens = 0;
  std::int64_t equal_requests = 0;
  std::int64_t rewritten_requests = 0;
  std::int64_t unexplained_requests = 0;
};

/// Replays the log through one block manager a worker, in the order of the recorded times: whole
/// blocks only, a prompt never whole, a prompt servable from the end of its prefill on, a reply
/// from the request's end on but for its last token, which no step has fed. `blocks` in each
/// worker's pool; 0: enough that nothing is evicted. Raises InvalidArgument when so few blocks
/// cannot hold the requests that the record says were there at once.
EngineLogPrediction predict_cached_tokens(const EngineLog& log, std::int64_t blocks = 0);

/// One JSON object, schema_version 1, without a trailing newline.
std::string to_json(const EngineLog& log, const EngineLogPrediction& prediction);

/// One sentence why the record of request `index` is not the prediction; empty when it is.
std::string explanation(const EngineLog& log,
                        const EngineLogPrediction& prediction,
                        std::size_t index);

}  // namespace octavo::sim
