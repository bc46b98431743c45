// Reads dynamo.request.trace.v1: a line is {"timestamp": ms, "event": {...}} or the bare event.
#include "octavo/sim/serve/engine_log.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "checked.h"
#include "json_fields.h"
#include "line_reader.h"
#include "octavo/sim/input_error.h"

namespace octavo::sim {
namespace {

constexpr std::string_view kSchema = "dynamo.request.trace.v1";
constexpr std::int64_t kTokensMax = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t kUnixMsMax = std::int64_t{1} << 43;  // in the year 2248
constexpr double kDurationMsMax = 1e9;
constexpr std::int64_t kNsPerMs = 1'000'000;
constexpr std::int64_t kBlockMax = 65536;

std::string shown(const nlohmann::json& value) {
  const std::string text = value.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
  return text.size() > 40 ? text.substr(0, 40) + "..." : text;
}

/// The value of a field that a JsonFields has found to be there.
const nlohmann::json& value_of(const nlohmann::json& object,
                               const JsonFields& fields,
                               const char* name,
                               const char* expected) {
  if (!fields.has(name)) {
    fields.fail(name, std::string("is missing, expected ") + expected);
  }
  return object.at(name);
}

std::int64_t duration_ns(const nlohmann::json& object, const JsonFields& fields, const char* name) {
  const auto& value = value_of(object, fields, name, "milliseconds");
  if (!value.is_number() || !(value.get<double>() >= 0) || value.get<double>() > kDurationMsMax) {
    fields.fail(name, "is " + shown(value) + ", expected milliseconds in [0, 1000000000]");
  }
  return std::llround(value.get<double>() * static_cast<double>(kNsPerMs));
}

std::uint64_t unsigned_id(const nlohmann::json& value,
                          const JsonFields& fields,
                          const std::string& name) {
  if (!value.is_number_unsigned()) {
    fields.fail(name,
                "is " + shown(value) + ", expected a whole number in [0, 18446744073709551615]");
  }
  return value.get<std::uint64_t>();
}

void read_ids(const nlohmann::json& object, const JsonFields& fields, EngineRequest& request) {
  const char* name = "input_sequence_hashes";
  const auto& ids = value_of(object, fields, name, "an array of integers");
  if (!ids.is_array()) {
    fields.fail(name, "is " + shown(ids) + ", expected an array of integers");
  }
  for (std::size_t i = 0; i < ids.size(); ++i) {
    request.ids.push_back(unsigned_id(ids[i], fields, name + ("[" + std::to_string(i) + "]")));
  }
}

/// A request as it is logged, times since 1970 in ns.
EngineRequest read_request(const nlohmann::json& object,
                           const JsonFields& fields,
                           std::int64_t& block_size) {
  EngineRequest request;
  request.request_id = fields.optional_string("request_id").value_or("");
  request.input_tokens = fields.integer("input_tokens", 1, kTokensMax);
  request.output_tokens = fields.integer("output_tokens", 0, kTokensMax - request.input_tokens);
  request.cached_tokens = fields.integer("cached_tokens", 0, request.input_tokens);
  request.received_ns = fields.integer("request_received_ms", 0, kUnixMsMax) * kNsPerMs;
  const std::int64_t wait = duration_ns(object, fields, "prefill_wait_time_ms");
  const std::int64_t first_token = duration_ns(object, fields, "ttft_ms");
  const std::int64_t total = duration_ns(object, fields, "total_time_ms");
  if (first_token < wait) {
    fields.fail("ttft_ms", "is less than prefill_wait_time_ms, expected at least that");
  }
  if (total < first_token) {
    fields.fail("total_time_ms", "is less than ttft_ms, expected at least that");
  }
  request.admitted_ns = request.received_ns + wait;
  request.prefilled_ns = request.received_ns + first_token;
  request.ended_ns = request.received_ns + total;

  const JsonFields worker = fields.object("worker");
  request.worker_id =
      unsigned_id(value_of(object.at("worker"), worker, "prefill_worker_id", "a whole number"),
                  worker, "prefill_worker_id");
  request.worker_rank = worker.optional_integer("prefill_dp_rank", 0, kTokensMax).value_or(0);

  const JsonFields replay = fields.object("replay");
  block_size = replay.integer("trace_block_size", 1, kBlockMax);
  read_ids(object.at("replay"), replay, request);
  const std::int64_t expected = ceil_div(request.input_tokens, block_size);
  if (static_cast<std::int64_t>(request.ids.size()) != expected) {
    replay.fail("input_sequence_hashes", "has " + std::to_string(request.ids.size()) +
                                             " ids, expected " + std::to_string(expected) +
                                             " = ceil(input_tokens / trace_block_size)");
  }
  return request;
}

void read_line(std::string_view text, std::int64_t line, EngineLog& log) {
  const std::string where = log.file + ":" + std::to_string(line);
  const nlohmann::json document = parse_json_object(text, where);
  const bool wrapped = document.contains("event");
  const JsonFields outer(document, where);
  const JsonFields event = wrapped ? outer.object("event") : outer;
  const nlohmann::json& object = wrapped ? document.at("event") : document;
  const std::string schema = event.string("schema");
  if (schema != kSchema) {
    event.fail("schema", "is \"" + schema + "\", expected \"" + std::string(kSchema) + "\"");
  }
  if (event.string("event_type") != "request_end") {
    return;
  }
  std::int64_t block_size = 0;
  const JsonFields fields = event.object("request");
  EngineRequest request = read_request(object.at("request"), fields, block_size);
  if (event.has("agent_context")) {
    request.session = event.object("agent_context").optional_string("session_id").value_or("");
  }
  request.line = line;
  if (log.requests.empty()) {
    log.block_size = block_size;
  } else if (block_size != log.block_size) {
    fields.fail("replay.trace_block_size", "is " + std::to_string(block_size) + ", expected " +
                                               std::to_string(log.block_size) +
                                               " as in the requests above");
  }
  log.requests.push_back(std::move(request));
}

}  // namespace

EngineLog read_engine_log(const std::string& path) {
  LineReader lines(path);
  EngineLog log;
  log.file = lines.name();
  for (std::string_view line; lines.next(line);) {
    read_line(line, lines.line(), log);
  }
  if (log.requests.empty()) {
    throw InputError(log.file, 0, "", "has no request_end events, expected an engine's log");
  }
  std::stable_sort(
      log.requests.begin(), log.requests.end(),
      [](const EngineRequest& a, const EngineRequest& b) { return a.received_ns < b.received_ns; });
  const std::int64_t start = log.requests.front().received_ns;
  for (EngineRequest& request : log.requests) {
    request.received_ns -= start;
    request.admitted_ns -= start;
    request.prefilled_ns -= start;
    request.ended_ns -= start;
  }
  return log;
}

}  // namespace octavo::sim
